"""The version: what the build found in the repository's history and, in a checkout, the commit that is there now.

An editable install is built once and edited after; the commit is therefore looked up again, in git's own files, so that
two commits never bear one version. What is not committed is not told apart.
"""

from __future__ import annotations

import os
from os.path import dirname, join

_UNBUILT = "0.1.dev0"  # as in pyproject.toml


def _version(built: str, package: str) -> str:
    """The version of the package in a folder."""
    source = dirname(package)
    commit = _commit(dirname(source)) if os.path.basename(source) == "src" else ""
    if not commit or f"+g{commit[:9]}" in built:
        return built
    return f"{built.partition('+')[0]}+g{commit[:9]}"


def _commit(checkout: str) -> str:
    """The commit that is checked out in a folder; empty if that is no checkout."""
    try:
        git = join(checkout, ".git")
        if os.path.isfile(git):  # a worktree
            git = join(checkout, _read(git).removeprefix("gitdir:").strip())
        head = _read(git, "HEAD")
        if head.startswith("ref:"):
            head = _branch(git, head.removeprefix("ref:").strip())
    except (OSError, UnicodeDecodeError):
        return ""
    return head if len(head) >= 40 and set(head) <= set("0123456789abcdef") else ""


def _branch(git: str, name: str) -> str:
    """The commit of a branch, which stands in a file of its own or, after `git gc`, in one with all the others."""
    if os.path.exists(join(git, "commondir")):
        git = join(git, _read(git, "commondir"))
    if os.path.exists(join(git, name)):
        return _read(git, name)
    lines = _read(git, "packed-refs").splitlines()
    return next((line.split()[0] for line in lines if line.endswith(f" {name}")), "")


def _read(*parts: str) -> str:
    with open(join(*parts), encoding="utf-8") as file:
        return file.read().strip()


try:
    from cosparse._built import version as _built
except ImportError:  # never built: the sources are on the path
    _built = _UNBUILT

__version__ = _version(_built, dirname(os.path.realpath(__file__)))
