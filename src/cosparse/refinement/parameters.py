"""What training changes in an operator, as plain numbers without constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator, cosine_atoms
from cosparse.penalty import Penalty
from cosparse.reconstruction.stages import as_refined
from cosparse.trained_steps import REFERENCE_SIGMA

Array = NDArray[np.float64]

# Steps of Adam. Atoms have norms of about 0.3; at five times these rates training diverges.
RATES = {"coordinates": 0.001, "log_weights": 0.008, "weight_exponents": 0.008, "scale_exponents": 0.004}


@dataclass(frozen=True)
class Parameters:
    """An operator at noise sigma, with t = ln(sigma/25):

    atoms e^(scale_exponents·t)·coordinates·basis, weights e^(log_weights + weight_exponents·t), penalty log(1 + v²).
    The basis is the cosine transform without its constant, so that no atom sees a patch's mean.
    """

    coordinates: Array
    log_weights: Array
    weight_exponents: Array
    scale_exponents: Array

    @classmethod
    def of(cls, operator: AnalysisOperator) -> Parameters:
        """Where training starts: the operator as it is, or if it was never refined, as denoising would use it."""
        operator = as_refined(operator)
        sharpness = np.sqrt(operator.penalty.nu)
        assert operator.exponents is not None
        return cls(
            sharpness * operator.atoms.astype(float) @ zero_mean_basis(operator.patch_shape).T,
            np.log(np.maximum(operator.weights.astype(float), 1e-8)),
            *operator.exponents.astype(float),
        )

    def operator(self, patch_shape: tuple[int, int], provenance: dict[str, str] | None = None) -> AnalysisOperator:
        """The operator these numbers stand for, its atoms of unit norm."""
        atoms = self.coordinates @ zero_mean_basis(patch_shape)
        norms = np.linalg.norm(atoms, axis=1)
        return AnalysisOperator(
            (atoms / norms[:, None]).astype(np.float32),
            patch_shape,
            Penalty.log(1.0),
            np.exp(self.log_weights).astype(np.float32),
            provenance or {},
            norms.astype(np.float32),
            np.stack([self.weight_exponents, self.scale_exponents]).astype(np.float32),
        )

    def gradient(
        self, patch_shape: tuple[int, int], sigma: float, by_atom: Array, by_weight: Array
    ) -> dict[str, Array]:
        """The chain rule: derivatives by the atoms and weights at sigma, carried over to these numbers."""
        t = np.log(sigma / REFERENCE_SIGMA)
        inner = by_atom @ zero_mean_basis(patch_shape).T * np.exp(self.scale_exponents * t)[:, None]
        by_log_weight = by_weight * np.exp(self.log_weights + self.weight_exponents * t)
        return {
            "coordinates": inner,
            "log_weights": by_log_weight,
            "weight_exponents": t * by_log_weight,
            "scale_exponents": t * np.einsum("ij,ij->i", inner, self.coordinates),
        }


def zero_mean_basis(patch_shape: tuple[int, int], planes: int = 1) -> Array:
    """Orthonormal rows, one less than there are pixels; of several planes, those of each in turn."""
    height, width = patch_shape
    if height == width:
        basis = cosine_atoms(height, height)
    else:
        from scipy.fft import dct

        rows, columns = (dct(np.eye(side), axis=0, norm="ortho") for side in patch_shape)
        basis = np.asarray(np.kron(rows, columns)[1:], float)
    return basis if planes == 1 else np.concatenate([np.kron(basis, own) for own in np.eye(planes)])
