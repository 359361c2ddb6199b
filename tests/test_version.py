"""The version tells commits apart, in a checkout too that was installed before they were made."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from cosparse._version import _version

BUILT = "0.1.dev3+g0123456789"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def git(tmp_path):
    """Run git in a new repository; returns what it prints."""
    place = tmp_path / "checkout"
    (place / "src" / "cosparse").mkdir(parents=True)

    def run(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", *who, *arguments], cwd=place, check=True, capture_output=True, text=True
        ).stdout.strip()

    run.place = place
    run("init", "-q")
    run("commit", "-q", "--allow-empty", "-m", "first")
    return run


def version(place, built=BUILT):
    return _version(built, str(place / "src" / "cosparse"))


def test_every_commit_has_a_version_of_its_own(git):
    seen = []
    for number in range(2):
        git("commit", "-q", "--allow-empty", "-m", f"number {number}")
        seen.append(version(git.place))
        assert seen[-1] == f"0.1.dev3+g{git('rev-parse', 'HEAD')[:9]}"
    assert seen[0] != seen[1]


def test_however_git_keeps_it(git, tmp_path):
    expected = f"0.1.dev3+g{git('rev-parse', 'HEAD')[:9]}"
    git("pack-refs", "--all")
    assert version(git.place) == expected
    git("worktree", "add", "-q", "-b", "a/branch", str(tmp_path / "beside"))
    assert version(tmp_path / "beside") == expected
    git("checkout", "-q", "--detach")
    assert version(git.place) == expected


def test_what_was_built_of_this_commit_bears_the_same_version(git):
    built = f"0.2.dev7+g{git('rev-parse', 'HEAD')[:9]}.d20260101"
    assert version(git.place, built) == built
    assert version(git.place, "1.0.0") == f"1.0.0+g{git('rev-parse', 'HEAD')[:9]}"


def test_what_is_installed_is_what_was_built(git, tmp_path):
    assert version(tmp_path / "nowhere") == BUILT
    assert _version(BUILT, str(git.place / "site-packages" / "cosparse")) == BUILT
    (git.place / ".git" / "HEAD").write_text("ref: refs/heads/.invalid")  # as in a repository with reftables
    assert version(git.place) == BUILT
