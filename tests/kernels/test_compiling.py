"""Compiled kernels: kept where they may be, never stale, never another's, never a reason to fail."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import pytest

import cosparse
from cosparse.kernels import compiling

PACKAGE = Path(cosparse.__file__).parent

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="this system has no owners and modes of files")


def python(*arguments, **environment):
    """What a new process prints."""
    run = subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


# -- sources ----------

SMALL = {
    "penalty.py": "",
    "kernels/__init__.py": "",
    "kernels/first.py": """
from numba import njit
@njit(inline="always")
def factor(x):
    return 2 * x
""",
    "kernels/second.py": """
from small.kernels.compiling import compiled
from small.kernels.first import factor
@compiled
def answer(x):
    return 1 + factor(x)
""",
}


@pytest.mark.slow
def test_an_edit_reaches_what_was_inlined_into_other_files(tmp_path):
    """As in our kernels, which inline the functions of `elementary`."""
    package, caches = tmp_path / "small", tmp_path / "caches"
    (package / "kernels").mkdir(parents=True)
    shutil.copy(compiling.__file__, package / "kernels")
    for name, text in SMALL.items():
        (package / name).write_text(text)

    def result():
        code = "from small.kernels.second import answer as a; print(a(4), sum(a.stats.cache_hits.values()))"
        return python("-B", "-c", code, PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(caches))

    assert result() == "9 0"
    assert result() == "9 1"
    (package / "kernels" / "first.py").write_text(SMALL["kernels/first.py"].replace("2 * x", "3 * x"))
    assert result() == "13 0"
    assert len(list((caches / "cosparse").iterdir())) == 2
    assert not list(package.rglob("*.nb?"))


@pytest.mark.parametrize("name", ["kernels/fused.py", "kernels/reference.py", "penalty.py"])
def test_the_digest_sees_every_source(name, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "cosparse")
    before = compiling.source_digest(tmp_path / "cosparse" / "kernels")
    assert before == compiling.source_digest(PACKAGE / "kernels")
    with (tmp_path / "cosparse" / name).open("a") as file:
        file.write("\n")
    assert compiling.source_digest(tmp_path / "cosparse" / "kernels") != before


@pytest.mark.parametrize("command", ["--version", "--help", "denoise --help"])
def test_asking_for_version_or_help_loads_no_compiler(command):
    code = f"import sys; from cosparse.cli import main; main({command.split()}); print('numba' in sys.modules)"
    assert python("-c", code).splitlines()[-1] == "False"


# -- places ----------


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A home and a temporary folder of its own; returns where the kernels would be kept."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    temporary.chmod(0o1777)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")

    def find():
        return compiling.cache_folder.__wrapped__()

    find.home, find.temporary = home, temporary
    return find


def no_folder(path):
    """Where not even root can make a folder."""
    if path.is_dir():
        path.rmdir()
    path.write_text("")


def test_the_users_caches_are_the_first_choice(places, tmp_path, monkeypatch):
    assert places().is_relative_to(places.home)
    if sys.platform == "linux":
        assert places().parent == places.home / ".cache" / "cosparse"
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
        assert places().parent == tmp_path / "elsewhere" / "cosparse"
    assert not list(places.temporary.iterdir())


def test_numbas_own_setting_comes_before_it(places, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "chosen"))
    assert places().parent == tmp_path / "chosen" / "cosparse"
    assert not caplog.records
    no_folder(tmp_path / "file")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file"))
    assert places().is_relative_to(places.home)


def test_without_a_home_a_temporary_folder_else_none(places, caplog):
    no_folder(places.home)
    with caplog.at_level(logging.INFO, "cosparse"):
        found = places()
    assert found.is_relative_to(places.temporary)
    assert [record.levelname for record in caplog.records] == ["INFO"]
    caplog.clear()
    shutil.rmtree(places.temporary)
    no_folder(places.temporary)
    assert places() is None
    assert [record.getMessage() for record in caplog.records] == [
        "kernels are compiled anew in each process: no folder for them can be written; set NUMBA_CACHE_DIR"
    ]


@posix
def test_a_folder_that_others_may_write_to_is_not_used(places):
    ours = places.home / ".cache" / "cosparse" if sys.platform == "linux" else places().parent
    ours.mkdir(parents=True, exist_ok=True)
    ours.chmod(0o777)
    found = places()
    assert found.is_relative_to(places.temporary)
    assert found.parent.stat().st_mode & 0o777 == 0o700
    found.parent.chmod(0o770)
    assert places() is None


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_another_user_is_not_used(places, tmp_path):
    os.chown(places.home, 65534, 65534)
    temporary = places().parent
    assert temporary.parent == places.temporary
    assert not list(places.home.iterdir())  # what root leaves there, its owner could not use
    shutil.rmtree(temporary)
    temporary.mkdir(mode=0o700)
    os.chown(temporary, 65534, 65534)
    assert places() is None
    temporary.rmdir()
    (tmp_path / "mine").mkdir(mode=0o700)
    temporary.symlink_to(tmp_path / "mine")
    os.lchown(temporary, 65534, 65534)
    assert places() is None


@posix
def test_temporary_files_that_anyone_may_remove_are_no_place(places, monkeypatch):
    no_folder(places.home)
    places.temporary.chmod(0o777)
    assert places() is None
    places.temporary.chmod(0o700)
    monkeypatch.chdir(places.temporary)  # what Python takes if there is no other
    assert places() is None


def test_old_folders_go_and_only_those(places, tmp_path):
    root = places().parent
    shutil.rmtree(places())
    old = [root / f"kernels-{number:016x}" for number in range(compiling.KEPT + 2)]
    for age, folder in enumerate(old):
        folder.mkdir()
        (folder / "fused._band-9.py311.1.nbc").write_text("")
        (folder / "fused._band-9.py311.nbi.tmp.0a1b").write_text("")
        if folder == old[-1]:
            (folder / "notes.txt").write_text("not ours")
        os.utime(folder, (10**9 - age, 10**9 - age))
    others = [root / "kernels-of-mine", root / "kernels-0123456789abcdef0"]
    for folder in others:
        folder.mkdir()
    kept = places()
    assert set(root.iterdir()) == {kept, *old[: compiling.KEPT - 1], old[-1], *others}
    assert [file.name for file in old[-1].iterdir()] == ["notes.txt"]


# -- what is kept ----------


def double(x):
    return 2 * x


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """`double` compiled as in a new process: its answer to 4, and whether that came from the folder."""
    folder = tmp_path / "kernels-0123456789abcdef"
    monkeypatch.setattr(compiling, "cache_folder", lambda: folder)

    def call():
        compiled = compiling.compiled(double)
        return compiled(4), sum(compiled.stats.cache_hits.values())

    call.folder = folder
    return call


def test_what_was_compiled_is_read_again(kernel):
    assert kernel() == (8, 0)
    assert kernel() == (8, 1)


def test_a_damaged_file_is_compiled_again(kernel):
    kernel()
    for file in kernel.folder.iterdir():
        file.write_bytes(file.read_bytes()[:9])
    assert kernel() == (8, 0)


def test_a_folder_that_vanished_or_is_full_is_no_error(kernel):
    kernel.folder.write_text("no folder")
    assert kernel() == (8, 0)


def test_another_numba_is_no_error(kernel, monkeypatch, caplog):
    """Its cache is not public, and may be gone in a later version."""
    compiling._cache_class.cache_clear()
    monkeypatch.delattr("numba.core.caching.FunctionCache")
    assert kernel() == (8, 0)
    assert "double is compiled anew in each process" in caplog.text


def test_nothing_global_is_changed():
    code = """
import os, numba, threadpoolctl  # the last changes the environment
before = dict(os.environ), numba.config.CACHE_DIR, list(numba.core.caching.CacheImpl._locator_classes)
from cosparse.kernels import curvature, groups
assert before == (dict(os.environ), numba.config.CACHE_DIR, list(numba.core.caching.CacheImpl._locator_classes))
"""
    python("-c", code)


@pytest.mark.slow
def test_what_was_just_compiled_gives_the_bytes_of_what_was_kept(tmp_path):
    """The first process compiles, the second loads: every kernel that repairs use, to the last bit."""
    program = (
        "import hashlib, numpy as np, cosparse;"
        "image = np.random.default_rng(0).random((40, 44)).cumsum(axis=0) / 40;"
        "gaps = np.random.default_rng(1).random(image.shape) < 0.3;"
        "results = [cosparse.denoise(image, 0.1), cosparse.inpaint(image, gaps), cosparse.upscale(image, 2)];"
        "print(*(hashlib.blake2b(result.tobytes(), digest_size=8).hexdigest() for result in results))"
    )
    first, second = (python("-c", program, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first == second and len(first.split()) == 3
