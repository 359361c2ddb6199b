"""The operator as a thing: what it knows of itself, on images, and in files."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosparse import AnalysisOperator, Penalty, load_operator, sample_patches
from cosparse.kernels import reference
from cosparse.operator import FORMAT, cosine_atoms


def random_operator(k=20, patch=(3, 4), seed=0, **more):
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((k, patch[0] * patch[1]))
    return AnalysisOperator(atoms / np.linalg.norm(atoms, axis=1, keepdims=True), patch, **more)


@pytest.fixture
def saved(tmp_path):
    operator = random_operator(
        penalty=Penalty.pnorm(0.3, 1e-5),
        weights=np.linspace(0, 2, 20),
        provenance={"made": "by hand", "from": "Ångström · 2 photographs"},
    )
    path = tmp_path / "mine.safetensors"
    operator.save(path)
    return operator, path


# -- what it is like ----------


def test_measures_of_a_known_operator():
    angle = np.deg2rad(120)  # opposite directions count as much as equal ones
    operator = AnalysisOperator(
        [[2, 0, 0, 0], [np.cos(angle), np.sin(angle), 0, 0], [0, 0, 1, 0], [0, 0, 0, -3]], (2, 2)
    )
    assert operator.coherence == pytest.approx(0.5)
    assert operator.shape == (4, 4)
    assert not operator.zero_mean
    values = np.linalg.svd(operator.matrix.astype(float), compute_uv=False)
    np.testing.assert_allclose(operator.singular_values, values)
    assert operator.condition == pytest.approx(values[0] / values[-1])


def test_the_dct_is_a_tight_frame_of_the_zero_mean_patches():
    operator = AnalysisOperator.dct(8)
    assert operator.shape == (63, 64) and operator.zero_mean
    assert operator.condition == pytest.approx(1, abs=1e-5)
    assert operator.coherence < 1e-6
    over = AnalysisOperator.dct(8, 11)
    assert over.shape == (120, 64) and over.zero_mean
    assert len(over.singular_values) == 63  # the direction it is blind to is not counted
    assert over.condition < 10


def test_lost_rank_and_equal_atoms_show():
    matrix = np.eye(4)
    matrix[3] = matrix[2]
    operator = AnalysisOperator(matrix, (2, 2))
    assert operator.condition > 1e7
    assert operator.coherence == 1


def test_finite_differences():
    operator = AnalysisOperator.finite_differences()
    image = np.arange(20.0).reshape(4, 5) ** 2
    responses = operator.as_linear_operator(image.shape) @ image.ravel()
    responses = responses.reshape(4, 5, 2) * np.sqrt(2)
    np.testing.assert_allclose(responses[1:, 1:, 0], np.diff(image, axis=1)[:-1], rtol=1e-5)
    np.testing.assert_allclose(responses[1:, 1:, 1], np.diff(image, axis=0)[:, :-1], rtol=1e-5)


def test_cosparsity_counts_the_silent_atoms():
    operator = AnalysisOperator.dct(4)
    basis = cosine_atoms(4, 4)
    patches = np.stack([basis[0], 50 * basis[3] + 7, basis[1] + basis[2]])
    np.testing.assert_array_equal(operator.cosparsity(patches), [14, 14, 13])
    quiet = basis[0] + 0.005 * basis[1]
    assert operator.cosparsity(quiet[None])[0] == 14
    assert operator.cosparsity(quiet[None], threshold=1e-3)[0] == 13
    with pytest.raises(ValueError, match=r"patches: expected \(count, 16\)"):
        operator.cosparsity(np.ones((3, 15)))


def test_equality_is_of_contents():
    assert random_operator() == random_operator()
    assert random_operator() != random_operator(seed=1)
    assert random_operator() != random_operator(penalty=Penalty.pnorm())
    assert random_operator() != random_operator(weights=np.full(20, 0.5))
    assert random_operator(patch=(3, 4)) != random_operator(patch=(4, 3))
    assert random_operator() != "an operator"


def test_nobody_can_write_into_it():
    matrix = np.eye(4, dtype=np.float32)
    operator = AnalysisOperator(matrix, (2, 2))
    with pytest.raises(ValueError, match="read-only"):
        operator.matrix[0, 0] = 5
    matrix[0, 0] = 5  # the caller's own array stays the caller's
    assert operator.matrix[0, 0] == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"matrix": np.ones((3, 5)), "patch_shape": (2, 2)}, r"matrix: expected \(k, 4\)"),
        ({"matrix": np.ones(4), "patch_shape": (2, 2)}, "matrix"),
        ({"matrix": np.ones((0, 4)), "patch_shape": (2, 2)}, "matrix"),
        ({"matrix": np.full((3, 4), np.nan), "patch_shape": (2, 2)}, "matrix: .*NaN"),
        ({"matrix": np.eye(4), "patch_shape": (2, 2), "weights": np.ones(3)}, "weights: expected 4"),
        ({"matrix": np.eye(4), "patch_shape": (2, 2), "weights": [1, 1, 1, -1]}, "weights"),
        ({"matrix": np.eye(4), "patch_shape": (2, 2), "weights": [1, 1, 1, np.nan]}, "weights"),
    ],
)
def test_bad_contents_are_named(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        AnalysisOperator(**arguments)


# -- the picture of its atoms ----------


def test_the_picture_shows_every_atom_once_smooth_ones_first():
    operator = AnalysisOperator.dct(4)
    sheet = operator.atoms_image(columns=5)
    assert sheet.dtype == np.uint8
    assert sheet.shape == (3 * 5 + 1, 5 * 5 + 1)
    assert (sheet[::5] == 255).all() and (sheet[:, ::5] == 255).all()  # the lines between
    cells = [sheet[1 + r : 5 + r, 1 + c : 5 + c] for r in range(0, 15, 5) for c in range(0, 25, 5)]
    shown = np.array([cell.ravel() for cell in cells]) - 127.5
    atoms = operator.matrix / np.abs(operator.matrix).max(axis=1, keepdims=True) * 127.5
    distances = np.abs(shown[:, None] - atoms[None]).max(axis=2)
    assert sorted(distances.argmin(axis=1)) == list(range(15))
    assert distances.min(axis=1).max() <= 1
    roughness = [np.abs(np.diff(cell.astype(int), axis=0)).mean() for cell in (cells[0], cells[-1])]
    assert roughness[0] < roughness[1]


@given(k=st.integers(1, 30), scale=st.integers(1, 5), columns=st.none() | st.integers(1, 40))
def test_the_picture_has_room_for_all(k, scale, columns):
    operator = random_operator(k, (2, 3))
    sheet = operator.atoms_image(scale=scale, columns=columns)
    gap = max(1, scale // 4)
    across = (sheet.shape[1] - gap) // (3 * scale + gap)
    down = (sheet.shape[0] - gap) // (2 * scale + gap)
    assert across * down >= k > across * (down - 1)


DIGESTED = {
    "matrix": np.eye(8, 9), "patch_shape": (1, 9), "penalty": Penalty.log(2.0), "weights": np.arange(8.0),
    "provenance": {"stride": "2"}, "scale": np.full(8, 0.4), "exponents": np.ones((2, 8)),
}  # fmt: skip


def test_the_digest_is_of_all_that_repairs_depend_on(tmp_path):
    """Two refined operators that differ in their scale alone are two."""
    common = {
        "matrix": AnalysisOperator.dct(3).matrix, "patch_shape": (3, 3), "provenance": {"stride": "1", "made": "here"},
        "exponents": np.zeros((2, 8)),
    }  # fmt: skip
    operator = AnalysisOperator(**common)
    others = [AnalysisOperator(**{**common, name: value}) for name, value in DIGESTED.items()]
    others.append(AnalysisOperator(**{**common, "exponents": None}))
    assert len({one.digest() for one in (operator, *others)}) == len(others) + 1
    operator.save(tmp_path / "a.safetensors")
    assert load_operator(tmp_path / "a.safetensors").digest() == operator.digest()
    assert AnalysisOperator(**{**common, "provenance": {"stride": "1", "made": "there"}}).digest() == operator.digest()
    signed = AnalysisOperator(**{**common, "exponents": np.full((2, 8), -0.0)})
    assert signed == operator and signed.digest() == operator.digest()


# -- on a whole image ----------


@given(
    shape=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    patch=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.integers(1, 3),
    seed=st.integers(0, 2**31),
)
def test_the_global_operator_passes_the_dot_test(shape, patch, stride, seed):
    rng = np.random.default_rng(seed)
    operator = AnalysisOperator(rng.standard_normal((5, patch[0] * patch[1])), patch)
    linear = operator.as_linear_operator(shape, stride=stride)
    x, y = rng.standard_normal(linear.shape[1]), rng.standard_normal(linear.shape[0])
    forward = linear @ x
    assert abs(forward @ y - x @ (linear.H @ y)) <= 1e-10 * np.linalg.norm(forward) * np.linalg.norm(y)
    expected = reference.analyse(operator.matrix, x.reshape(shape), patch, (stride, stride))
    np.testing.assert_allclose(forward, expected.ravel(), atol=1e-12)


# -- files ----------


def test_what_was_saved_comes_back(saved):
    operator, path = saved
    for back in (AnalysisOperator.load(path), load_operator(path), load_operator(str(path))):
        assert back == operator
        assert back.matrix.tobytes() == operator.matrix.tobytes()
        assert back.weights.tobytes() == operator.weights.tobytes()
        assert back.provenance == operator.provenance
    assert os.listdir(path.parent) == [path.name]  # no temporary file is left


def test_the_file_is_plain_safetensors_with_string_metadata(saved):
    from safetensors import safe_open

    with safe_open(saved[1], framework="numpy") as file:
        metadata = file.metadata()
    assert metadata["format"] == FORMAT
    assert json.loads(metadata["patch_shape"]) == [3, 4]
    assert metadata["penalty.form"] == "pnorm"


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 100, -1])
def test_a_truncated_file_is_an_error_that_names_it(saved, cut):
    path = saved[1]
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match="mine.safetensors: not a cosparse operator file"):
        AnalysisOperator.load(path)


@given(place=st.floats(0, 0.999), byte=st.integers(0, 255))
def test_a_corrupted_file_is_read_or_refused_but_nothing_else(tmp_path_factory, place, byte):
    path = tmp_path_factory.mktemp("corrupted") / "mine.safetensors"
    random_operator(3, (2, 2)).save(path)
    blob = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(blob[:8], "little")
    blob[int(place * header)] = byte
    path.write_bytes(blob)
    try:
        assert isinstance(AnalysisOperator.load(path), AnalysisOperator)
    except ValueError as problem:
        assert "mine.safetensors" in str(problem)


class Trap:
    """Unpickling it would leave a trace."""

    def __reduce__(self):
        return Path.touch, (Path(os.environ["COSPARSE_TRAP"]),)


def test_a_pickle_is_refused_unopened(tmp_path, monkeypatch):
    monkeypatch.setenv("COSPARSE_TRAP", str(tmp_path / "sprung"))
    path = tmp_path / "mine.safetensors"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match="mine.safetensors"):
        AnalysisOperator.load(path)
    np.save(tmp_path / "mine.npy", np.array([Trap()]), allow_pickle=True)
    with pytest.raises(ValueError, match="mine.npy"):
        AnalysisOperator.load(tmp_path / "mine.npy")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"format": "cosparse-operator-9"}, "cosparse-operator-9"),
        ({"format": None}, "None"),
        ({"patch_shape": "[3, 5]"}, "matrix"),
        ({"patch_shape": "[12]"}, "not enough values"),
        ({"patch_shape": None}, "patch_shape"),
        ({"provenance": "[1, 2"}, "not a cosparse"),
        ({"penalty.form": "huber"}, "huber"),
        ({"penalty.nu": "nan"}, "nu"),
    ],
)
def test_metadata_that_makes_no_sense_is_refused(saved, changes, complaint):
    from safetensors import safe_open
    from safetensors.numpy import save_file

    path = saved[1]
    with safe_open(path, framework="numpy") as file:
        metadata = {**file.metadata(), **changes}
        tensors = {name: file.get_tensor(name) for name in ("matrix", "weights")}
    save_file(tensors, path, {k: v for k, v in metadata.items() if v is not None})
    with pytest.raises(ValueError, match="mine.safetensors") as caught:
        AnalysisOperator.load(path)
    assert complaint in str(caught.value)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        AnalysisOperator.load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="no operator of that name is shipped"):
        load_operator("nobody-has-this")
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        AnalysisOperator.load(tmp_path)
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        random_operator().save(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        random_operator().save(tmp_path / "no" / "mine.safetensors")


def test_a_write_that_fails_leaves_the_old_file(saved, monkeypatch):
    operator, path = saved

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        random_operator(seed=5).save(path)
    monkeypatch.undo()
    assert AnalysisOperator.load(path) == operator
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("name", ["goal", "default"])
def test_the_shipped_operators(name, photograph):
    operator = load_operator(name)
    assert operator.patch_shape == (8, 8) and operator.refined == (name == "default")
    assert operator.provenance["command"].startswith(f"python -m cosparse.operators.make {name}")
    assert operator.coherence < 0.99 and operator.condition < 100
    patches = sample_patches(photograph, count=500)
    random = random_operator(*operator.shape[:1], (8, 8))
    assert operator.cosparsity(patches).mean() > 2 * random.cosparsity(patches).mean()


def test_a_refined_operator_follows_the_noise(tmp_path):
    plain = AnalysisOperator.dct(3)
    exponents = np.stack([np.linspace(1, 2, 8), np.full(8, -0.5)])
    refined = AnalysisOperator(
        plain.matrix, (3, 3), Penalty.log(1.0), np.arange(8.0), {"stride": "2"}, np.full(8, 0.4), exponents
    )
    assert refined.refined and refined.stride == 2 and not plain.refined and plain.stride is None
    assert plain.at(10.0) is plain
    at = refined.at(100.0)
    np.testing.assert_allclose(at.weights, np.arange(8) * 4 ** exponents[0], rtol=1e-6)
    np.testing.assert_allclose(at.atoms, plain.matrix * 0.2, rtol=1e-6)
    refined.save(tmp_path / "a.safetensors")
    again = load_operator(tmp_path / "a.safetensors")
    assert again == refined and again != at
    for field in ({"scale": [1.0]}, {"scale": np.full(8, -1.0)}, {"exponents": np.zeros((3, 8))}):
        with pytest.raises(ValueError, match=next(iter(field))):
            AnalysisOperator(plain.matrix, (3, 3), **field)
