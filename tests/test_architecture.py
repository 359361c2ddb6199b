"""The page on the architecture says what the code is."""

from __future__ import annotations

import re

import architecture
import pytest


@pytest.fixture(scope="module")
def page() -> str:
    return architecture.PAGE.read_text()


def test_picture_rooms_and_walk_are_those_of_the_code(page):
    """After a change: make architecture."""
    assert architecture.PICTURE.read_text() == architecture.picture()
    assert page == architecture.made(page)


def test_every_import_follows_the_arrows():
    """What the picture leaves out follows from what it shows."""
    shown = architecture.reduced(architecture.imports())
    reached = set(shown)
    while more := {(a, d) for a, b in reached for c, d in shown if b == c} - reached:
        reached |= more
    assert architecture.imports() <= reached


def test_files_that_the_page_names_exist(page):
    for name in re.findall(r"`(src/[\w/]+\.\w+|tests/[\w/]+\.\w+|docs/[\w/]+\.\w+)`", page):
        assert (architecture.REPOSITORY / name).exists(), name
