"""The trained steps of a staged operator: what is left of a descent when its few steps are themselves learned."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cosparse.identity import digest

Array = NDArray[Any]
Single = NDArray[np.float32]

LARGE = {"atoms": 63, "pools": 7, "shares": 31}  # arrays that files hold in bytes, see `in_bytes`: up to which number
REFERENCE_SIGMA = 25.0  # the noise at which all numbers stand as they are


class Factors(NamedTuple):
    """What the numbers of a step are multiplied by at each of some noise levels, a row each; and its pulls there."""

    responses: Single
    gains: Single
    pools: Single
    floors: Single
    shares: Single
    pulls: Single


class Step(NamedTuple):
    """One step at a given noise, as the kernels take it: see :func:`cosparse.kernels.reference.pooled_step`.

    `local` is what other levels of noise make of it, where it is not the same everywhere.
    """

    atoms: Single
    own: Single
    pools: Single
    shares: Single
    floors: Single
    pull: float
    local: Factors | None = None


@dataclass(frozen=True, eq=False)
class TrainedSteps:
    """T steps from the data to the repaired image, each with atoms, potentials and a pull of its own.

    Step t takes from the image s, with patches p of it and the atoms ω of the step, all of unit norm,

        s ← s - stride²/k · Σ_p Σ_i ω_i g_i (ω_iᵀp) - pull·(s - y),
        g_i = own_i/(1 + z_i²) + Σ_m shares_im/(1 + max(Σ_j pools_mj z_j², floor_m)),      z_i = scale_i ω_iᵀp.

    So every response of an atom is taken away by its gain g: all of it if g is 1, as in noise, nothing if the responses
    are large, as at an edge. Were the gains constant, the sum over overlapping patches would be a mean. A gain hangs on
    the atom's own response and, through the pools, on those of all others; it may be negative, which sharpens.

    At noise sigma, with x = ln(sigma/25), scales, gains (of own and shares), pools, shares, pulls and floors are
    multiplied by e^(a x + b x²), with a and b of each in `..._exponents`. The floors are what one in a hundred flat
    patches in noise stays below: of a patch without any noise (white that was clipped, a black frame), which training
    never saw, the gains would be wild.

    This is trained reaction-diffusion (Chen and Pock), with potentials over pools of atoms. It is a descent of no
    energy: what comes out is not the minimiser of anything.

    Steps to inpaint and to upscale are a correction of what the energy and the second pass give: of missing pixels
    alone, with that as their y, or with pull·Aᵀ(A s - y) for the small image y. In place of the noise stands how little
    is known, see :mod:`cosparse.reconstruction.correction`.

    Steps of several planes at once have patches of all of them: an atom then says how they go together.

    Attributes
    ----------
    atoms : (T, k, n) array
        Rows of unit norm that see no mean, so that a constant added to the image is added to the result.
    scale, own : (T, k) arrays
    pools : (T, m, k) array
        Not negative.
    shares : (T, k, m) array
    pull : (T,) array
    scale_exponents, gain_exponents : (T, 2, k) arrays
    pool_exponents, share_exponents : (T, 2, m) arrays
    pull_exponents : (T, 2) array
    floors : (T, m) array
    floor_exponents : (T, 2, m) array
    stride : int
        Distance of the patches.
    sigma : (float, float)
        The least and the largest noise they were trained for.
    planes : int
        How many planes a patch is of; those of a pixel stand beside each other.

    References
    ----------
    Y. Chen, T. Pock: Trainable Nonlinear Reaction Diffusion: A Flexible Framework for Fast and Effective Image
    Restoration. IEEE Transactions on Pattern Analysis and Machine Intelligence 39(6), 2017.
    """

    atoms: Array
    scale: Array
    own: Array
    pools: Array
    shares: Array
    pull: Array
    scale_exponents: Array
    gain_exponents: Array
    pool_exponents: Array
    share_exponents: Array
    pull_exponents: Array
    floors: Array
    floor_exponents: Array
    stride: int = 2
    sigma: tuple[float, float] = (5.0, 50.0)
    planes: int = 1

    def __post_init__(self) -> None:
        for name, shape in self._shapes().items():
            values = np.array(getattr(self, name), np.float32, order="C")
            if values.shape != shape or not np.isfinite(values).all():
                raise ValueError(f"{name}: expected finite numbers of shape {shape}, got shape {values.shape}")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if (self.pools < 0).any():
            raise ValueError("pools: holds negative numbers; energies are pooled, which have none")
        low, high = (float(end) for end in self.sigma)
        if not 0 < low <= high < np.inf or self.stride < 1:
            raise ValueError(f"sigma, stride: must be positive and in order, got {self.sigma!r}, {self.stride!r}")
        if self.planes < 1 or self.atoms.shape[2] % self.planes:
            raise ValueError(f"planes: atoms of {self.atoms.shape[2]} numbers cannot be of {self.planes!r} planes")
        object.__setattr__(self, "sigma", (low, high))

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every array, by that of the atoms and the number of pools."""
        shapes = np.shape(self.atoms), np.shape(self.pools)
        if any(len(shape) != 3 or 0 in shape for shape in shapes):
            raise ValueError(f"atoms, pools: expected three axes, none empty, got shapes {shapes[0]} and {shapes[1]}")
        (stages, k, n), m = shapes[0], shapes[1][1]
        return {
            "atoms": (stages, k, n), "scale": (stages, k), "own": (stages, k), "pools": (stages, m, k),
            "shares": (stages, k, m), "pull": (stages,), "scale_exponents": (stages, 2, k),
            "gain_exponents": (stages, 2, k), "pool_exponents": (stages, 2, m), "share_exponents": (stages, 2, m),
            "pull_exponents": (stages, 2), "floors": (stages, m), "floor_exponents": (stages, 2, m),
        }  # fmt: skip

    def __len__(self) -> int:
        return len(self.pull)

    @property
    def side(self) -> int:
        """Pixels of a side of the patches, which are square."""
        return math.isqrt(self.atoms.shape[2] // self.planes)

    def __repr__(self) -> str:
        stages, k, _ = self.atoms.shape
        return f"TrainedSteps({stages} steps of {k} atoms and {self.pools.shape[1]} pools)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrainedSteps) and self.digest() == other.digest()

    __hash__ = None  # type: ignore[assignment]

    def arrays(self) -> dict[str, Array]:
        """All of them by name."""
        return {name: getattr(self, name) for name in self._shapes()}

    def rounded(self) -> TrainedSteps:
        """As a file has them, the three large arrays in bytes and the rest in half precision: a quarter of the size.

        Nothing that shows is lost (docs/staged.md).
        """
        rounded: dict[str, Any] = {
            name: of_bytes(name, *in_bytes(name, array)) if name in LARGE else array.astype(np.float16)
            for name, array in self.arrays().items()
        }
        return replace(self, **rounded)

    def digest(self) -> str:
        """A name for all that a repair depends on."""
        words = f"{self.stride} {self.sigma[0]!r} {self.sigma[1]!r}"
        words += f" {self.planes}" if self.planes > 1 else ""
        return digest([array.astype("<f4") for array in self.arrays().values()], words)

    def turned(self, quarters: int) -> TrainedSteps:
        """With all atoms turned: what they make of a picture is about what these make of it turned, turned back."""
        square = self.atoms.reshape(*self.atoms.shape[:2], self.side, self.side, self.planes)
        atoms = np.rot90(square, quarters, axes=(2, 3)).reshape(self.atoms.shape)
        return replace(self, atoms=atoms)

    def at(self, sigma: float, levels: ArrayLike = ()) -> list[Step]:
        """The steps at noise sigma, and what they are at other levels.

        With less or more noise than was trained for, they are those of the nearest that was, for the image times a
        factor that brings it there: as if the picture had more or less contrast. What rounding left of the atoms' means
        is taken off.
        """
        given = np.asarray(levels, float)
        found = []
        for t in range(len(self)):
            scale, gain, pool, floor, share, pull = (factor[0] for factor in self._factors(t, np.array([sigma])))
            gain = np.float32(self.stride**2 / len(scale)) * gain
            step = Step(
                scale[:, None] * without_means(self.atoms[t], self.planes),
                gain * self.own[t],
                pool[:, None] * self.pools[t],
                gain[:, None] * self.shares[t] * share,
                self.floors[t] * floor,
                float(pull),
            )
            found.append(step._replace(local=self._local(t, sigma, given)) if given.size else step)
        return found

    def _local(self, t: int, sigma: float, levels: Array) -> Factors:
        """The numbers of a step at some levels, in proportion to those at noise sigma; but pulls as they are."""
        here, there = self._factors(t, np.array([sigma])), self._factors(t, levels)
        scale, gain, pool, floor, share = (
            np.asarray(b / a, np.float32) for a, b in zip(here[:5], there[:5], strict=True)
        )
        return Factors(scale, gain, pool, floor, share, there[5])

    def _factors(self, t: int, sigma: Array) -> tuple[Array, ...]:
        """At each noise level: scales, gains over squared scales, factors on pools, floors and shares, and the pull."""
        nearest = sigma.clip(*self.sigma)
        x = np.log(nearest / REFERENCE_SIGMA).astype(np.float32)
        powers = np.stack([x, x * x], axis=1)

        def factor(exponents: Array) -> Array:
            return np.asarray(np.exp(np.tensordot(powers, exponents, (1, 0))))

        scale = self.scale[t] * factor(self.scale_exponents[t]) * (nearest / sigma).astype(np.float32)[:, None]
        return (
            scale, factor(self.gain_exponents[t]) / scale**2, factor(self.pool_exponents[t]),
            factor(self.floor_exponents[t]), factor(self.share_exponents[t]),
            self.pull[t] * factor(self.pull_exponents[t]),
        )  # fmt: skip


def without_means(atoms: Array, planes: int = 1) -> Array:
    """Atoms (k, n) that see no mean of any plane of their patches."""
    found = np.empty_like(atoms)
    for plane in range(planes):
        own = atoms[:, plane::planes]
        found[:, plane::planes] = own - own.mean(axis=1, keepdims=True)
    return found


def in_bytes(name: str, array: Array) -> tuple[NDArray[np.int8], Single]:
    """Each row of an array, or of the roots of pools, as whole multiples of a unit of its own, up to a few bits.

    Units have eleven, so that multiples of them are exact, and the same are found again in what was rounded.
    """
    values = np.asarray(array, float)
    values = np.sqrt(values) if name == "pools" else values
    most = np.abs(values).max(axis=-1, keepdims=True)
    fraction, exponent = np.frexp(most / LARGE[name])
    unit = np.where(most > 0, np.ldexp(np.ceil(fraction * 2048 - 1e-3) / 2048, exponent), 1.0)
    return np.rint(values / unit).clip(-LARGE[name], LARGE[name]).astype(np.int8), unit[..., 0].astype(np.float32)


def of_bytes(name: str, multiples: NDArray[np.int8], unit: Single) -> Single:
    """What :func:`in_bytes` stands for."""
    values = multiples * unit[..., None].astype(float)
    return np.asarray(values**2 if name == "pools" else values, np.float32)
