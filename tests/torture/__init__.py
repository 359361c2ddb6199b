"""Promises that cosparse makes, each tried hard: `make torture` runs them all at length, `make test` in short.

A promise is a module of this package, named in `registry.py`, with a :class:`frame.Promise` and functions of a
:class:`frame.Run` under `@promise.part()`. docs/promises.md says what they have found.
"""
