"""Every promise there is; a new one is a module of this package and its name here."""

from __future__ import annotations

from importlib import import_module

from torture.frame import Part, Promise

MODULES = (
    "concurrency",
    "killing",
    "bad_bytes",
    "bad_numbers",
    "reproducing",
    "memory_asked",
    "page_load",
    "cluster_faults",
    "dependencies",
    "planted_faults",
)


def promises() -> list[Promise]:
    """In the order of their numbers."""
    found = [import_module(f"torture.{name}").promise for name in MODULES]
    return sorted(found, key=lambda promise: promise.number)


def short_parts() -> list[Part]:
    """Those with a short form, for `make test`."""
    return [part for promise in promises() for part in promise.parts if not part.long_only]
