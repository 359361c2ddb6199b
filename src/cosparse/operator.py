"""The analysis operator: a small matrix whose rows, the atoms, give few large answers on natural images."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse import identity, operator_file
from cosparse.kernels import reference
from cosparse.operator_file import FORMAT
from cosparse.penalty import Penalty
from cosparse.trained_steps import REFERENCE_SIGMA, TrainedSteps

STAGED = "staged"  # the shipped operator that tasks take if none is named


@dataclass(frozen=True, eq=False)
class AnalysisOperator:
    """k atoms for patches of a given shape.

    Parameters
    ----------
    matrix : (k, height·width) array
        One atom a row; patches are flattened row by row.
    patch_shape : (int, int)
    penalty : Penalty
        What it was learned with.
    weights : (k,) array, optional
        Factor of each atom in the prior; all one unless trained for a task.
    provenance : mapping of str to str
        How, from what and by which version it was made.
    scale : (k,) array, optional
        Factor of each atom's answers to images on 0..255 before they are penalised, which is the square root of a nu
        of its own; all one unless trained.
    exponents : (2, k) array, optional
        Present in operators refined for a task: at noise sigma the weights are `weights`·(sigma/25)^exponents[0] and
        the scales `scale`·(sigma/25)^exponents[1], see :meth:`at`.
    steps : mapping of str to TrainedSteps
        Of a staged operator: by the task, the steps that repair instead of a minimisation.

    References
    ----------
    S. Hawe, M. Kleinsteuber, K. Diepold: Analysis Operator Learning and Its Application to Image Reconstruction. IEEE
    Transactions on Image Processing 22(6), 2013.

    Examples
    --------
    >>> operator = AnalysisOperator.dct(8)
    >>> operator
    AnalysisOperator(63 atoms of 8x8, condition 1.00, coherence 0.00)
    >>> operator.as_linear_operator((5, 7)).shape
    (2205, 35)
    """

    matrix: NDArray[np.float32]
    patch_shape: tuple[int, int]
    penalty: Penalty = field(default_factory=Penalty.log)
    weights: NDArray[np.float32] = None  # type: ignore[assignment]
    provenance: Mapping[str, str] = field(default_factory=dict)
    scale: NDArray[np.float32] = None  # type: ignore[assignment]
    exponents: NDArray[np.float32] | None = None
    steps: Mapping[str, TrainedSteps] = field(default_factory=dict)

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, np.float32, order="C")
        height, width = (int(side) for side in self.patch_shape)
        if matrix.ndim != 2 or matrix.shape[1] != height * width or len(matrix) == 0:
            raise ValueError(
                f"matrix: expected (k, {height * width}) for patches of {height}x{width}, got shape {matrix.shape}"
            )
        if not np.isfinite(matrix).all():
            raise ValueError("matrix: holds NaN or infinite values")
        if not matrix.any(axis=1).all():
            empty = int(np.flatnonzero(~matrix.any(axis=1))[0])
            raise ValueError(f"matrix: row {empty} is all zeros, which is no atom; leave it out")
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)
        for name in ("weights", "scale"):
            given = getattr(self, name)
            values = np.array(np.ones(len(matrix)) if given is None else given, np.float32)
            if values.shape != (len(matrix),) or not (np.isfinite(values) & (values >= 0)).all():
                raise ValueError(f"{name}: expected {len(matrix)} finite numbers, none negative")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if self.exponents is not None:
            exponents = np.array(self.exponents, np.float32)
            if exponents.shape != (2, len(matrix)) or not np.isfinite(exponents).all():
                raise ValueError(f"exponents: expected (2, {len(matrix)}) finite numbers")
            exponents.flags.writeable = False
            object.__setattr__(self, "exponents", exponents)
        object.__setattr__(self, "patch_shape", (height, width))
        object.__setattr__(self, "provenance", dict(self.provenance))
        object.__setattr__(self, "steps", dict(self.steps))
        for task, steps in self.steps.items():
            pixels = steps.atoms.shape[2] // steps.planes
            if pixels != (height * width if steps.planes == 1 else steps.side**2):
                raise ValueError(f"steps: those to {task} are for patches of {pixels} pixels")

    def __repr__(self) -> str:
        height, width = self.patch_shape
        return (
            f"AnalysisOperator({len(self.matrix)} atoms of {height}x{width}, "
            f"condition {self.condition:.2f}, coherence {self.coherence:.2f}"
            + "".join(f"; {len(steps)} steps to {task}" for task, steps in self.steps.items())
            + ")"
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AnalysisOperator)
            and self.patch_shape == other.patch_shape
            and self.penalty == other.penalty
            and np.array_equal(self.matrix, other.matrix)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.exponents, other.exponents)  # type: ignore[arg-type]
            and self.steps == other.steps
        )

    __hash__ = None  # type: ignore[assignment]

    def digest(self) -> str:
        """A name for all that a repair depends on: 32 hexadecimal digits, the same on every machine.

        Of the matrix, patch shape, penalty, weights, scale, exponents, stride and steps; not of how it was made.

        Examples
        --------
        >>> operator = AnalysisOperator.dct(8)
        >>> operator.digest() == AnalysisOperator.dct(8).digest()
        True
        >>> louder = AnalysisOperator(operator.matrix, (8, 8), scale=2 * operator.scale)
        >>> operator.digest() == louder.digest()
        False
        """
        arrays = [self.matrix, self.weights, self.scale, *(() if self.exponents is None else (self.exponents,))]
        words = json.dumps([self.patch_shape, self.penalty.to_metadata(), self.stride], sort_keys=True)
        words += "".join(f" {task} {steps.digest()}" for task, steps in sorted(self.steps.items()))
        # As little-endian, and with one zero: -0.0 is equal to it.
        return identity.digest([array.astype("<f4") + np.float32(0) for array in arrays], FORMAT, words)

    # -- what it is like ---------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """(atoms, pixels of a patch)."""
        return self.matrix.shape

    @property
    def atoms(self) -> NDArray[np.float32]:
        """The rows that the prior answers with: those of the matrix times their scale."""
        return self.matrix * self.scale[:, None]

    @property
    def refined(self) -> bool:
        """Whether it has weights and scales of its own for every noise; tasks give others those of a table."""
        return self.exponents is not None

    @property
    def stride(self) -> int | None:
        """The distance of patches it was trained at, if it was refined."""
        return int(self.provenance["stride"]) if self.refined and "stride" in self.provenance else None

    def at(self, sigma: float) -> AnalysisOperator:
        """The operator with the weights and scales it has at noise sigma (on 0..255).

        Itself, if it was not refined.
        """
        if self.exponents is None:
            return self
        level = np.float32(sigma / REFERENCE_SIGMA)
        weights, scale = self.weights * level ** self.exponents[0], self.scale * level ** self.exponents[1]
        return AnalysisOperator(self.matrix, self.patch_shape, self.penalty, weights, self.provenance, scale)

    @property
    def zero_mean(self) -> bool:
        """Whether no atom sees the mean of a patch."""
        atoms = self.matrix.astype(float)
        return bool(np.abs(atoms.sum(axis=1)).max() <= 1e-4 * np.linalg.norm(atoms, axis=1).max())

    @property
    def singular_values(self) -> NDArray[np.float64]:
        """Largest first; those of the zero-mean patches only, if the atoms see no others."""
        values = np.linalg.svd(self.matrix.astype(float), compute_uv=False)
        return values[:-1] if self.zero_mean and len(values) == self.shape[1] else values

    @property
    def condition(self) -> float:
        """Largest over smallest singular value; 1 for a tight frame (Lemma 3)."""
        values = self.singular_values
        return float(values[0] / values[-1]) if values[-1] > 0 else float("inf")

    @property
    def coherence(self) -> float:
        """Largest absolute cosine between two atoms."""
        atoms = self.matrix.astype(float)
        norms = np.linalg.norm(atoms, axis=1, keepdims=True)
        atoms = atoms / np.where(norms > 0, norms, 1)
        cosines = np.abs(atoms @ atoms.T)
        np.fill_diagonal(cosines, 0)
        return float(min(cosines.max(), 1.0))

    def cosparsity(self, patches: ArrayLike, threshold: float = 0.01) -> NDArray[np.intp]:
        """How many atoms each patch leaves (nearly) silent.

        Counts the answers below `threshold` times the norm of the patch's non-constant part.
        """
        patches = np.asarray(patches, np.float32)
        if patches.ndim != 2 or patches.shape[1] != self.shape[1]:
            raise ValueError(f"patches: expected (count, {self.shape[1]}), got shape {patches.shape}")
        norms = np.linalg.norm(patches - patches.mean(axis=1, keepdims=True), axis=1, keepdims=True)
        return np.asarray((np.abs(patches @ self.matrix.T) <= threshold * norms).sum(axis=1))

    def atoms_image(self, *, scale: int = 1, columns: int | None = None) -> NDArray[np.uint8]:
        """The atoms as squares in a grid, as in the paper's figure: grey is zero.

        Atoms are ordered from smooth to fine, so that their structure shows; each is stretched to its own
        largest value.
        """
        height, width = self.patch_shape
        atoms = self.matrix.reshape(-1, height, width)
        finest = np.abs(np.diff(atoms, axis=1)).sum((1, 2)) + np.abs(np.diff(atoms, axis=2)).sum((1, 2))
        atoms = atoms[np.argsort(finest / np.maximum(np.abs(atoms).sum((1, 2)), 1e-12), kind="stable")]
        columns = columns or max(1, round(np.sqrt(2 * len(atoms))))
        rows = -(-len(atoms) // columns)
        tall, wide, gap = height * scale, width * scale, max(1, scale // 4)
        sheet = np.full((rows * (tall + gap) + gap, columns * (wide + gap) + gap), 255, np.uint8)
        for number, atom in enumerate(atoms):
            grey = 127.5 + 127.5 * atom / max(float(np.abs(atom).max()), 1e-12)
            top = gap + (number // columns) * (tall + gap)
            left = gap + (number % columns) * (wide + gap)
            sheet[top : top + tall, left : left + wide] = np.kron(
                np.round(grey).astype(np.uint8), np.ones((scale, scale), np.uint8)
            )
        return sheet

    # -- on a whole image --------------------------------------------------------------------------------

    def as_linear_operator(self, image_shape: tuple[int, int], *, stride: int = 1) -> Any:
        """The global operator of Eq. (47) as a SciPy LinearOperator on flattened images."""
        from scipy.sparse.linalg import LinearOperator

        rows, columns = (reference.positions(side, stride) for side in image_shape)
        atoms, strides = self.atoms, (stride, stride)

        def forward(image: Any) -> Any:
            image = np.asarray(image).reshape(image_shape)
            return reference.analyse(atoms, image, self.patch_shape, strides).ravel()

        def adjoint(responses: Any) -> Any:
            responses = np.asarray(responses).reshape(rows, columns, -1)
            image = reference.synthesise(atoms, responses, image_shape, self.patch_shape, strides)
            return image.ravel()

        size = rows * columns * len(atoms), image_shape[0] * image_shape[1]
        return LinearOperator(size, matvec=forward, rmatvec=adjoint, dtype=np.dtype(float))

    # -- files -------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file with the provenance in its metadata."""
        operator_file.write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> AnalysisOperator:
        """Read what :meth:`save` wrote; anything else is a ValueError that names the file."""
        return operator_file.read(cls, Path(path))

    # -- operators nobody learned ------------------------------------------------------------------------

    @classmethod
    def dct(cls, size: int = 8, frequencies: int | None = None) -> AnalysisOperator:
        """The 2-D cosine transform without its constant atom; overcomplete for frequencies > size."""
        matrix = cosine_atoms(size, frequencies or size).astype(np.float32)
        return cls(matrix, (size, size), provenance={"made": f"dct({size}, {frequencies or size})"})

    @classmethod
    def finite_differences(cls) -> AnalysisOperator:
        """Horizontal and vertical differences: with a suitable penalty, anisotropic total variation."""
        matrix = np.array([[-1, 1, 0, 0], [-1, 0, 1, 0]], np.float32) / np.float32(np.sqrt(2))
        return cls(matrix, (2, 2), provenance={"made": "finite differences"})


def cosine_atoms(size: int, frequencies: int) -> NDArray[np.float64]:
    """Unit-norm products of two cosines sampled on a size x size patch, without the constant one.

    For frequencies = size, the orthonormal basis of the zero-mean patches that learning works in.
    """
    position = np.arange(size) + 0.5
    rows = np.cos(np.pi * np.outer(np.arange(frequencies), position) / frequencies)
    rows[1:] -= rows[1:].mean(axis=1, keepdims=True)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.kron(rows, rows)[1:], float)


def load_operator(name_or_path: str | os.PathLike[str] = "default") -> AnalysisOperator:
    """A shipped operator by name, or any operator file by path.

    Parameters
    ----------
    name_or_path : str or path
        "default" (refined for repairs), "staged" (the same, with trained steps for denoising), "goal" or "goal-large"
        (learned the paper's way); or a file that :meth:`AnalysisOperator.save` wrote.

    Returns
    -------
    AnalysisOperator

    Examples
    --------
    >>> load_operator("default").patch_shape
    (8, 8)
    """
    shipped = _shipped()
    if isinstance(name_or_path, str) and name_or_path in shipped:
        with resources.as_file(shipped[name_or_path]) as path:
            found = AnalysisOperator.load(path)
        return _without_steps(found) if name_or_path == "default" else found
    if not Path(name_or_path).exists():
        raise FileNotFoundError(
            f"{os.fspath(name_or_path)}: no such operator file, and no operator of that name is shipped "
            f"(shipped: {', '.join(sorted(shipped)) or 'none'})"
        )
    return AnalysisOperator.load(name_or_path)


def chosen_operator(operator: AnalysisOperator | str | None) -> AnalysisOperator:
    """The operator itself, or a shipped or saved one by its name; None is the staged one, read once."""
    if isinstance(operator, AnalysisOperator):
        return operator
    if operator is None:
        return _staged()
    if not isinstance(operator, str | os.PathLike):
        raise ValueError(
            f"operator: expected an AnalysisOperator, a shipped one's name or a file, got {type(operator).__name__}; "
            "of a matrix, make one with cosparse.AnalysisOperator(matrix, patch_shape)"
        )
    return load_operator(operator)


@cache
def _staged() -> AnalysisOperator:
    return load_operator(STAGED)


def shipped_operators() -> tuple[str, ...]:
    """The names that :func:`load_operator` knows.

    Examples
    --------
    >>> "default" in shipped_operators()
    True
    """
    return tuple(sorted(_shipped()))


def _shipped() -> dict[str, Any]:
    """Their files by their names; "default" is in that of the one with steps, which began as it."""
    folder = resources.files("cosparse") / "operators"
    files = {Path(entry.name).stem: entry for entry in folder.iterdir() if entry.name.endswith(".safetensors")}
    return {"default": files[STAGED], **files} if STAGED in files else files


def _without_steps(operator: AnalysisOperator) -> AnalysisOperator:
    """The refined operator that its steps were added to."""
    made = {key: value for key, value in operator.provenance.items() if not key.startswith("steps")}
    told = {key: value.replace(f" {STAGED} ", " default ") for key, value in made.items()}
    return replace(operator, provenance=told | {"name": "default"}, steps={})
