"""Keywords of a function that are the fields of a frozen settings object: said once, checked and shown from there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
Settings = TypeVar("Settings")


def keywords_of(kind: type) -> Callable[[Function], Function]:
    """Decorate a function that takes `**settings`: help() and notebooks show the fields of `kind` in their place."""

    def shown(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        more = [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
            for field in fields(kind)
        ]
        ordered = sorted([*own, *more], key=lambda one: one.kind)  # those by position stay first
        function.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
        return function

    return shown


def settled(
    function: Callable[..., Any] | None, kind: Callable[..., Settings], given: Mapping[str, object]
) -> Settings:
    """The settings object of the keywords that a function (or one of several) was given; an unknown one raises."""
    known = inspect.signature(kind).parameters
    for name in given:
        if name not in known:
            takes = ", ".join(inspect.signature(function or kind).parameters)
            who = f"{function.__name__}() got an " if function else ""
            raise TypeError(f"{who}unexpected keyword argument {name!r}; it takes {takes}")
    return kind(**given)
