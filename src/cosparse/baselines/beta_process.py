"""Inpainting by a beta-process dictionary (Zhou, Chen and others 2012): its use and the noise are inferred with it.

A patch x_i of P = 8x8 pixels, of which only those with m_ip = 1 are known, is taken to be made of few of K = 256 atoms:
how many patches take an atom, if any do, how strongly, and how much is noise, all follow from the known pixels,

    x_i = D (z_i ∘ s_i) + e_i,      z_ik ~ Bernoulli(π_k),      π_k ~ Beta(a/K, b (K-1)/K),
    d_k ~ N(0, I/P),      s_i ~ N(0, I/γ_s),      e_i ~ N(0, I/γ_e),      γ_s, γ_e ~ Gamma(10⁻⁶, 10⁻⁶).

Gibbs sampling draws each unknown in its turn, all others given. With r the known pixels of x_i less what other atoms
explain of them, and n_ik = Σ_p m_ip d_kp²,

1.  c = γ_s + γ_e n_ik,   v = γ_e <d_k, r> / c,
    z_ik is one with the odds  π_k / (1 - π_k) · √(γ_s / c) · exp(c v² / 2),   and then   s_ik ~ N(v, 1/c);
2.  the p-th pixels of all atoms at once, d_p ~ N(γ_e C⁻¹ Σ_i m_ip x_ip a_i, C⁻¹),  C = P I + γ_e Σ_i m_ip a_i a_iᵀ,
    with a_i = z_i ∘ s_i;
3.  π_k ~ Beta(a/K + Σ_i z_ik, b (K-1)/K + Σ_i (1 - z_ik)),
    γ_s ~ Gamma(10⁻⁶ + ½ Σ z, 10⁻⁶ + ½ Σ z s²),   γ_e ~ Gamma(10⁻⁶ + ½ Σ m, 10⁻⁶ + ½ Σ r²).

The paper draws z_ik with s_ik given, and one atom after the other; here s_ik is integrated out, and the atoms' pixels
are drawn together. Both leave the distribution as it is and reach it in fewer turns.

Each patch is taken less the mean that it has where the gaps are filled by interpolation. The atoms begin as the
overcomplete cosine transform, the finer the fainter, and the noise as high as 25 grey values, so that the first codes
are sparse. The chain runs over some of the image's patches: on a training photograph ten turns are as good as twenty,
and averaging a second dictionary gains 0.02 dB. With the last one all overlapping patches are coded, and the image is
the average over turns and patches of what is expected of them,

    Σ_k P(z_ik = 1 | ·) E(s_ik | z_ik = 1, ·) d_k.

Random numbers belong to a patch, not to a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from cosparse.baselines._signals import Matrix, bands, unit
from cosparse.kernels.compiling import compiled, inlined
from cosparse.kernels.threads import one_blas_thread, spread
from cosparse.patches import Rng
from cosparse.reconstruction.start import interpolate

Array = NDArray[np.float32]

TITLE = "beta process (our code)"
SIDE = 8
"""Of a patch, in pixels."""
FREQUENCIES = 16
"""Of the overcomplete cosine transform in each direction: their square is the number of atoms."""
UNIT = 64.0
"""Grey values that are one in the model."""
TRAINING = 20_000
"""Patches that the chain runs over, at most."""
ITERATIONS = 16
"""Turns of the chain."""
SETTLING, AVERAGED = 3, 4
"""Turns of a patch's coding that are left out of the average, and those that are in it."""
NOISE = 6.5
"""γ_e to begin with: 25 grey values."""
USAGE = 0.01
"""π_k to begin with."""
MASS = 1.0
"""a and b, of the beta process."""
VAGUE = 1e-6
"""Both parameters of the gamma distributions."""
HOPELESS = np.float32(-14.0)
"""Logarithm of the odds below which no random number is drawn."""
ROWS = 4
"""Rows of patches that a thread works on at a time."""


@dataclass(frozen=True)
class Model:
    """What all patches share.

    Attributes
    ----------
    atoms : (K, P) array
    usage : (K,) array
        π: the share of patches that take an atom.
    coefficients, noise : float
        The precisions γ_s and γ_e.
    """

    atoms: Array
    usage: Matrix
    coefficients: float
    noise: float

    @classmethod
    def begun(cls, atoms: Matrix, noise: float) -> Model:
        """Before anything is known but where to begin."""
        return cls(np.asarray(atoms, np.float32), np.full(len(atoms), USAGE), 1.0, noise)

    def sweep(self, known: Array, left: Array, codes: Array, expected: Array, seed: int, first: int = 0) -> None:
        """Step 1 for some patches, in place; what each coefficient is expected to be is added to `expected`.

        `left` is the known part of the patches less what the codes explain of it; `first` the first patch's number.
        """
        norms = known @ (self.atoms * self.atoms).T
        explained = np.float32(self.coefficients) + np.float32(self.noise) * norms
        odds = np.log(self.usage / (1 - self.usage)).astype(np.float32)
        odds = odds + np.float32(0.5) * np.log(np.float32(self.coefficients) / explained)
        _sweep(self.atoms, norms, odds, known, left, codes, expected, np.float32(self.coefficients),
               np.float32(self.noise), np.uint64(seed), np.uint64(first))  # fmt: skip


def inpaint(image: Array, mask: NDArray[np.bool_], *, iterations: int = ITERATIONS, rng: Rng = 0) -> Array:
    """Infer a dictionary from the known pixels of all patches, and the missing ones from it.

    Parameters
    ----------
    image : (height, width) array
        On 0..255, at least 8x8.
    mask : (height, width) array of bool
        True where a pixel is missing; what the image has there does not matter.
    iterations : int
        Turns of the chain that infers the dictionary.
    rng : int or numpy Generator
        Draws everything.

    Returns
    -------
    (height, width) array
        The known pixels are as they were.

    References
    ----------
    M. Zhou, H. Chen, J. Paisley, L. Ren, L. Li, Z. Xing, D. Dunson, G. Sapiro, L. Carin: Nonparametric Bayesian
    Dictionary Learning for Analysis of Noisy and Incomplete Images. IEEE Transactions on Image Processing 21(1), 2012.

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.random.default_rng(0).random((16, 24)) < 0.5
    >>> inpaint(np.full((16, 24), 100, np.float32), mask, iterations=2).shape
    (16, 24)
    """
    picture, gaps = np.asarray(image, np.float32), np.asarray(mask, bool)
    if picture.ndim != 2 or min(picture.shape) < SIDE:
        raise ValueError(f"image: expected a grey image of at least {SIDE}x{SIDE} pixels, got shape {picture.shape}")
    if gaps.shape != picture.shape:
        raise ValueError(f"mask: expected the image's shape {picture.shape}, got {gaps.shape}")
    if gaps.all():
        raise ValueError("mask: no pixel is known; nothing can be inferred")
    generator = np.random.default_rng(rng)
    points, known, means = _patches(picture, gaps)
    drawn = np.sort(generator.choice(means.size, min(means.size, TRAINING), replace=False))
    chosen = np.unravel_index(drawn, means.shape)
    some, there = (one[chosen].reshape(-1, SIDE * SIDE) for one in (points, known))
    with one_blas_thread():
        chain = Chain(some - means[chosen][:, None], there, cosines(), generator)
        for _ in range(iterations):
            chain.turn()
        total = _patches_added(chain.model, points, known, means, generator)
    down, across = (np.convolve(np.ones(length - SIDE + 1), np.ones(SIDE)) for length in picture.shape)
    filled = UNIT * total / np.outer(down, across)
    return np.where(gaps, filled, picture).astype(np.float32)


def _patches(picture: Array, gaps: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
    """All patches, where their pixels are known, and the mean of each where the gaps are filled by interpolation."""
    smooth = interpolate(np.where(gaps, np.float32(0), picture), gaps) / np.float32(UNIT)
    known = (~gaps).astype(np.float32)
    points, there, filled = (sliding_window_view(one, (SIDE, SIDE)) for one in (smooth * known, known, smooth))
    return points, there, np.asarray(filled.mean(axis=(2, 3)), np.float32)


def cosines() -> Matrix:
    """The overcomplete cosine transform, one atom a row, the finer the fainter, as images have it."""
    waves = np.cos(np.outer(np.arange(FREQUENCIES), np.arange(SIDE)) * np.pi / FREQUENCIES)
    waves[1:] -= waves[1:].mean(axis=1, keepdims=True)
    down, across = np.divmod(np.arange(FREQUENCIES**2), FREQUENCIES)
    return np.asarray(unit(np.asarray(np.kron(waves, waves), float)) / (1 + np.hypot(down, across) / 2)[:, None])


class Chain:
    """Gibbs sampling over patches, one a row, of which `known` has ones where a pixel is there and else zeros."""

    def __init__(
        self, points: Array, known: Array, atoms: Matrix, generator: np.random.Generator, noise: float = NOISE
    ) -> None:
        self.known, self.points = known, points * known
        self.model, self.generator = Model.begun(atoms, noise), generator
        self.codes = np.zeros((len(points), len(atoms)), np.float32)
        self.left = self.points.copy()

    def turn(self) -> None:
        """Every unknown once."""
        seed = int(self.generator.integers(2**63))

        def work(band: slice) -> None:
            expected = np.zeros_like(self.codes[band])
            self.model.sweep(self.known[band], self.left[band], self.codes[band], expected, seed, band.start)

        spread(work, bands(self.points))
        atoms = self._drawn_atoms()

        def explain(band: slice) -> None:
            self.left[band] = self.points[band] - self.known[band] * (self.codes[band] @ atoms)

        spread(explain, bands(self.points))
        self.model = self._drawn_rest(atoms)

    def _drawn_atoms(self) -> Array:
        """Step 2."""
        count, pixels = self.model.atoms.shape
        normal = self.generator.standard_normal((pixels, count))
        places, values = _listed(self.codes, int((self.codes != 0).sum(axis=1).max()))

        def work(pixel: int) -> Matrix:
            squares, products = np.zeros((count, count)), np.zeros(count)
            at = np.flatnonzero(self.known[:, pixel])
            _moments(places, values, at, self.points[at, pixel], squares, products)
            precision = self.model.noise * (squares + np.tril(squares, -1).T) + pixels * np.eye(count)
            factor = np.linalg.cholesky(precision)
            halfway = solve_triangular(factor, self.model.noise * products, lower=True, check_finite=False)
            return np.asarray(
                solve_triangular(factor, halfway + normal[pixel], lower=True, trans=1, check_finite=False)
            )

        return np.ascontiguousarray(np.stack(spread(work, range(pixels)), axis=1), np.float32)

    def _drawn_rest(self, atoms: Array) -> Model:
        """Step 3."""
        used, (patches, count) = (self.codes != 0).sum(axis=0), self.codes.shape
        usage = self.generator.beta(MASS / count + used, MASS * (count - 1) / count + patches - used)

        def precision(number: float, squares: float) -> float:
            drawn = self.generator.gamma(VAGUE + number / 2) / (VAGUE + squares / 2)
            return float(np.clip(drawn, VAGUE, 1 / VAGUE))  # where there is nothing to explain, it is anything

        coefficients = precision(used.sum(), _squares(self.codes))
        noise = precision(self.known.sum(dtype=float), _squares(self.left))
        return Model(atoms, np.clip(usage, 1e-9, 1 - 1e-9), coefficients, noise)


def _squares(values: Array) -> float:
    return float(np.einsum("ij,ij->", values, values, dtype=float))


@inlined
def _next(state):  # type: ignore[no-untyped-def]
    """Of 64 random bits (Marsaglia's xorshift)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@inlined
def _mixed(number):  # type: ignore[no-untyped-def]
    """64 bits that share nothing with those of the next number (Steele's splitmix)."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (number ^ (number >> np.uint64(31))) | np.uint64(1)


@compiled
def _sweep(
    atoms: Any, norms: Any, odds: Any, known: Any, left: Any, codes: Any, expected: Any, coefficients: float,
    noise: float, seed: Any, first: Any,
) -> None:  # fmt: skip
    """Step 1 for a band of patches; `odds` is the logarithm of all but the exponential."""
    one, scale = np.float32(1), np.float32(2.0**-24)
    for i in range(len(left)):
        state = _mixed(seed + (first + np.uint64(i)) * np.uint64(0x9E3779B97F4A7C15))
        rest, there, code = left[i], known[i], codes[i]
        for k in range(len(atoms)):
            atom, before = atoms[k], code[k]
            answer = before * norms[i, k]
            for p in range(len(rest)):
                answer += atom[p] * rest[p]
            precision = coefficients + noise * norms[i, k]
            mean = noise * answer / precision
            odd = odds[i, k] + np.float32(0.5) * mean * mean * precision
            now = np.float32(0)
            if odd > HOPELESS:
                share = one / (one + np.exp(-odd))
                expected[i, k] += share * mean
                state = _next(state)
                if np.float32(state >> np.uint64(40)) * scale < share:
                    state = _next(state)
                    radius = np.float32((state >> np.uint64(40)) + np.uint64(1)) * scale
                    angle = np.float32((state >> np.uint64(16)) & np.uint64(0xFFFFFF)) * scale * np.float32(2 * np.pi)
                    normal = np.sqrt(np.float32(-2) * np.log(radius)) * np.cos(angle)
                    now = mean + normal / np.sqrt(precision)
            change = now - before
            if change != 0:
                code[k] = now
                for p in range(len(rest)):
                    rest[p] -= change * atom[p] * there[p]


@compiled
def _listed(codes: Any, most: int) -> Any:
    """For each patch the atoms it takes, and -1 after the last; and their coefficients."""
    places = np.full((len(codes), most), -1, np.int16)
    values = np.zeros((len(codes), most), np.float32)
    for i in range(len(codes)):
        count = 0
        for k in range(codes.shape[1]):
            if codes[i, k] != 0:
                places[i, count] = k
                values[i, count] = codes[i, k]
                count += 1
    return places, values


@compiled
def _moments(places: Any, values: Any, at: Any, pixels: Any, squares: Any, products: Any) -> None:
    """The lower half of Σ_i a_i a_iᵀ, and Σ_i x_i a_i, over the patches `at` for one pixel of theirs."""
    for j in range(len(at)):
        atoms, code = places[at[j]], values[at[j]]
        for x in range(len(atoms)):
            if atoms[x] < 0:
                break
            products[atoms[x]] += pixels[j] * code[x]
            row = squares[atoms[x]]
            for y in range(x + 1):
                row[atoms[y]] += code[x] * code[y]


def _patches_added(model: Model, points: Array, known: Array, means: Array, generator: np.random.Generator) -> Matrix:
    """The sum of all patches as the model expects them, each in its place."""
    height, width = points.shape[:2]
    seeds = generator.integers(2**63, size=SETTLING + AVERAGED)

    def work(top: int) -> Matrix:
        there, left = (one[top : top + ROWS].reshape(-1, SIDE * SIDE) for one in (known, points))
        mean = means[top : top + ROWS].reshape(-1, 1)
        left = there * (left - mean)
        codes, expected = (np.zeros((len(left), len(model.atoms)), np.float32) for _ in range(2))
        for turn, seed in enumerate(seeds):
            if turn == SETTLING:
                expected[:] = 0
            model.sweep(there, left, codes, expected, int(seed), top * width)
        patches = (mean + expected @ model.atoms / AVERAGED).reshape(-1, width, SIDE, SIDE)
        total = np.zeros((len(patches) + SIDE - 1, width + SIDE - 1))
        for row, column in np.ndindex(SIDE, SIDE):
            total[row : row + len(patches), column : column + width] += patches[:, :, row, column]
        return total

    tops = range(0, height, ROWS)
    total = np.zeros((height + SIDE - 1, width + SIDE - 1))
    for top, part in zip(tops, spread(work, tops), strict=True):
        total[top : top + len(part)] += part
    return total
