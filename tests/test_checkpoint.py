"""A run that was interrupted, however rudely, ends in the bits of one that was not."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cosparse import AnalysisOperator, Penalty, Settings, learn_operator
from cosparse import checkpoint as module
from cosparse.checkpoint import Resumable
from cosparse.learning.objective import PatchSparsity

ITERATIONS = 20
ARGUMENTS = {"rows": 20, "kappa": 500.0, "mu": 0.1, "settings": Settings(iterations=ITERATIONS)}


@pytest.fixture(scope="module")
def whole(small_patches):
    """The run nobody interrupted."""
    return learn_operator(small_patches, **ARGUMENTS)


def assert_same(result, whole):
    assert result.operator.matrix.tobytes() == whole.operator.matrix.tobytes()
    assert result.objectives == whole.objectives
    assert result.evaluations == whole.evaluations
    assert result.iterations == whole.iterations
    assert result.stop is whole.stop


def assert_continues(patches, path, first, whole):
    """The same call goes on at iteration `first`, and ends as if it had never stopped."""
    seen = []
    result = learn_operator(patches, checkpoint=path, callback=lambda p: seen.append(p.iteration), **ARGUMENTS)
    assert seen[0] == first
    assert_same(result, whole)


def stop_at(iteration, how):
    def callback(progress):
        if progress.iteration == iteration:
            return how()
        return False

    return callback


def test_with_a_checkpoint_nothing_is_different(small_patches, whole, tmp_path):
    path = tmp_path / "run"
    assert_same(learn_operator(small_patches, checkpoint=path, **ARGUMENTS), whole)
    # Finished: the same call again gives the same answer without doing anything.
    iterations = []
    again = learn_operator(small_patches, checkpoint=path, callback=iterations.append, **ARGUMENTS)
    assert_same(again, whole)
    assert not iterations
    assert os.listdir(tmp_path) == ["run"]


def test_stopped_by_the_callback_again_and_again(small_patches, whole, tmp_path):
    path = tmp_path / "run"
    for iteration in (1, 6, 7, 15):
        learn_operator(small_patches, checkpoint=path, callback=stop_at(iteration, lambda: True), **ARGUMENTS)
    assert_continues(small_patches, path, 16, whole)


def test_the_iteration_limit_may_grow(small_patches, whole, tmp_path):
    path = tmp_path / "run"
    short = {**ARGUMENTS, "settings": Settings(iterations=9)}
    learn_operator(small_patches, checkpoint=path, **short)
    assert_continues(small_patches, path, 10, whole)


def test_interrupted_it_says_where_the_state_is(small_patches, whole, tmp_path):
    path = tmp_path / "run"

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        learn_operator(small_patches, checkpoint=path, callback=stop_at(8, interrupt), **ARGUMENTS)
    assert "iteration 8" in str(caught.value)
    assert str(path) in str(caught.value)
    assert_continues(small_patches, path, 9, whole)


@pytest.fixture
def heeds_interrupts():
    """Ctrl-C raises KeyboardInterrupt, also in a test run that was started in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_interrupts")
def test_a_signal_in_the_middle_of_a_line_search(small_patches, whole, tmp_path):
    class Interrupted(PatchSparsity):
        calls = 0

        def __call__(self, atoms, penalty):
            self.calls += 1
            if self.calls == 12:
                signal.raise_signal(signal.SIGINT)
            return super().__call__(atoms, penalty)

    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt, match=r"iteration \d+; .*the same call continues") as caught:
        learn_operator(Interrupted(small_patches), checkpoint=path, **ARGUMENTS)
    reached = int(re.search(r"iteration (\d+)", str(caught.value))[1])
    assert reached > 3
    assert_continues(small_patches, path, reached + 1, whole)


def test_without_a_checkpoint_an_interrupt_is_just_that(small_patches):
    def interrupt():
        raise KeyboardInterrupt("mine")

    with pytest.raises(KeyboardInterrupt, match="mine"):
        learn_operator(small_patches, callback=stop_at(3, interrupt), **ARGUMENTS)


def test_what_was_written_on_the_way_survives_a_crash(small_patches, whole, tmp_path, monkeypatch):
    """No chance to save at the end: what is written every few seconds has to do."""
    monkeypatch.setattr(module, "SECONDS", -1.0)  # every iteration
    path = tmp_path / "run"

    def crash():
        raise MemoryError

    with pytest.raises(MemoryError):
        learn_operator(small_patches, checkpoint=path, callback=stop_at(11, crash), **ARGUMENTS)
    assert_continues(small_patches, path, 12, whole)


def test_a_write_cut_short_leaves_the_last_good_one(small_patches, whole, tmp_path, monkeypatch):
    path = tmp_path / "run"
    learn_operator(small_patches, checkpoint=path, callback=stop_at(5, lambda: True), **ARGUMENTS)
    monkeypatch.setattr(module, "SECONDS", -1.0)
    write = Path.write_bytes

    def cut_short(self, blob):
        write(self, blob[: len(blob) // 2])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", cut_short)
    with pytest.raises(OSError, match="no space"):
        learn_operator(small_patches, checkpoint=path, **ARGUMENTS)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["run"]
    assert_continues(small_patches, path, 6, whole)


@pytest.fixture
def half(small_patches, tmp_path):
    path = tmp_path / "run"
    learn_operator(small_patches, checkpoint=path, callback=stop_at(5, lambda: True), **ARGUMENTS)
    return path


@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"kappa": 501.0}, "kappa"),
        ({"mu": 0.2}, "mu"),
        ({"rows": 21}, "rows"),
        ({"rng": 1}, "start"),
        ({"start": "dct"}, "start"),
        ({"zero_mean": False}, "zero_mean"),
        ({"penalty": Penalty.log(4e3)}, "penalty"),
        ({"settings": Settings(iterations=ITERATIONS, rule="hs")}, "settings"),
    ],
)
def test_other_settings_are_refused_by_name(small_patches, half, changes, differing):
    before = half.read_bytes()
    with pytest.raises(ValueError, match=rf"checkpoint: .*run belongs to another run.*{differing}"):
        learn_operator(small_patches, checkpoint=half, **{**ARGUMENTS, **changes})
    assert half.read_bytes() == before


def test_other_data_is_refused(small_patches, half):
    other = small_patches.copy()
    other[700] = -other[700]  # the same objective, but not the same data
    with pytest.raises(ValueError, match=r"checkpoint: .*differs in patches\."):
        learn_operator(other, checkpoint=half, **ARGUMENTS)


@pytest.mark.parametrize("blob", [b"", b"not a checkpoint", bytes(500), b"\xff" * 500, None])
def test_garbage_is_refused_and_kept(small_patches, half, blob):
    blob = half.read_bytes()[:-9] if blob is None else blob
    half.write_bytes(blob)
    with pytest.raises(ValueError, match="checkpoint: .*run is not a checkpoint"):
        learn_operator(small_patches, checkpoint=half, **ARGUMENTS)
    assert half.read_bytes() == blob  # it may be someone's file


def test_a_damaged_state_is_refused(small_patches, half):
    """One bit of its numbers: safetensors would read it, and the run would go on from where it never was."""
    blob = bytearray(half.read_bytes())
    blob[-9] ^= 1
    half.write_bytes(blob)
    with pytest.raises(ValueError, match="checkpoint: .*run is not a checkpoint .*damaged"):
        learn_operator(small_patches, checkpoint=half, **ARGUMENTS)


def test_an_operator_is_no_checkpoint(small_patches, tmp_path):
    AnalysisOperator.dct(4).save(tmp_path / "run")
    with pytest.raises(ValueError, match="is not a checkpoint .*cosparse-operator"):
        learn_operator(small_patches, checkpoint=tmp_path / "run", **ARGUMENTS)


def test_a_place_that_cannot_be_written_is_told_before_the_work(small_patches, tmp_path):
    def never(progress):
        raise AssertionError("it began to learn")

    for path in (tmp_path, tmp_path / "no" / "run"):
        with pytest.raises(ValueError, match="checkpoint: "):
            learn_operator(small_patches, checkpoint=path, callback=never, **ARGUMENTS)


def test_the_whole_state_is_in_the_file(half):
    from safetensors import safe_open

    with safe_open(half, framework="numpy") as file:
        assert {"point", "base", "direction", "gradient"} == set(file.keys())
        assert file.get_tensor("point").dtype == np.float64
        assert all(word in file.metadata()["settings"] for word in ("random_state", "patches"))
        numbers = json.loads(file.metadata()["state"])
    assert (numbers["iteration"], len(numbers["values"])) == (5, 6)


@dataclass(frozen=True)
class Part:
    weights: np.ndarray


@dataclass(frozen=True)
class Whole:
    step: int
    best: Part
    means: dict[str, np.ndarray]
    losses: tuple[float, ...]
    validations: tuple[tuple[int, float], ...]


def test_every_bit_of_any_state_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    odd = (0.1, 1 / 3, 1e-310, -0.0, float("inf"), float(np.float32(0.7)))
    state = Whole(
        3, Part(rng.random((4, 3))[:, ::2]), {"a": rng.random(2), "b": np.float32([1])}, odd, ((0, 27.1), (2, 28.3))
    )
    arguments = (tmp_path / "run", Whole, "step", lambda: {"rate": np.float32(0.3)})
    with Resumable(*arguments, lambda: state) as run:
        assert run.state is state
    found = Resumable(*arguments, pytest.fail).state
    assert str(found) == str(state) and isinstance(found.validations[1][0], int)
    assert found.best.weights.tobytes() == np.ascontiguousarray(state.best.weights).tobytes()
    assert [array.dtype for array in found.means.values()] == [np.float64, np.float32]
    with pytest.raises(ValueError, match=r"differs in rate\."):
        Resumable(*arguments[:3], lambda: {"rate": 0.31}, pytest.fail)
