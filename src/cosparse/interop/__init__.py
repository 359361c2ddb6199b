"""cosparse where its users already are: a module for each other library, which needs the extra of its name.

Nothing in the rest of cosparse imports from here; tasks find the adapter of an array they are given by
:mod:`cosparse.foreign`.
"""
