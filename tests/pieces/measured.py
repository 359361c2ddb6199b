"""Measurements and what is made of them: filters, kernels, masks, first images, reconstructions."""

from __future__ import annotations

from typing import Any

import numpy as np

import cosparse
from cosparse.noise import Map, PoissonGaussian
from cosparse.reconstruction import joint, measurement, psf, reductions, start
from cosparse.reconstruction.measured import Layout, checked_measurement, dot_gap, size_of
from cosparse.reconstruction.planes import OPPONENT
from pieces import MINIMISED, NEAR, piece
from pieces.pictures import COLOUR, GREY, noise

SMALL = np.ascontiguousarray(GREY[20:33, 20:30])
OPERATOR = cosparse.load_operator()
WHOLE = measurement.gaussian_sensing((6, 5), 20)


def _both(name: str, A: Any) -> Any:
    image = noise(A.image_shape, 10.0, len(name)) + 100
    return A.matvec(image.ravel()), A.rmatvec(A.matvec(image.ravel()) + noise((A.shape[0],), 3.0))


@piece()
def measurements() -> Any:
    """Every example, forth and back, in two shapes."""
    return [_both(name, make(shape)) for name, make in measurement.EXAMPLES.items() for shape in ((13, 10), (16, 8))]


@piece()
def more_measurements() -> Any:
    """By other options than the examples have."""
    wide = np.outer(np.arange(1, 8), np.arange(1, 12)) / 1848
    return [
        _both(str(number), A)
        for number, A in enumerate(
            [
                measurement.downsampling(2, (13, 10)),
                measurement.downsampling(4, (13, 11), offset=0),
                measurement.downsampling(3, (9, 9), kernel=np.ones((2, 2)) / 4, offset=2),
                measurement.blur(wide, (20, 21)),
                measurement.blur(wide, (5, 6), border="periodic"),
                measurement.reduction(8, (30, 17), "lanczos"),
                measurement.reduction(2.0, (13, 10), "gaussian"),
                measurement.reduction(1.5, (13, 10), "lanczos"),
                measurement.reduction(1.5, (14, 11), "box"),
                measurement.hadamard_sensing((5, 5), 9, rng=3),
                measurement.hadamard_sensing((1, 1), 1),
                measurement.block_cosines((9, 17)),
                measurement.gaussian_sensing((4, 4), 8, rng=1),
                measurement.fourier_sampling(measurement.radial_mask((12, 9), 0.3)),
            ]
        )
    ]


@piece()
def masks() -> Any:
    """Of Fourier coefficients."""
    shapes = [(8, 8), (15, 12), (32, 32), (1, 9)]
    parts = (0.0, 0.02, 0.25, 0.4, 0.9, 1.0)
    return [
        [measurement.radial_mask(shape, part) for shape in shapes for part in parts],
        [measurement.variable_density_mask(shape, part, rng=2) for shape in shapes for part in parts],
    ]


@piece()
def kernels() -> Any:
    """All that have a name, in several sizes."""
    names = (
        "gaussian:0.1",
        "gaussian:0.5",
        "gaussian:1.7",
        "gaussian:31.8",
        "box:1",
        "box:5",
        "disk:0.3",
        "disk:0.5",
        "disk:0.6",
        "disk:2.5",
        "disk:4.2",
        "motion:1:0",
        "motion:6:30",
        "motion:7.5:-120",
        "motion:4:90",
    )
    found = [psf.named_kernel(name) for name in names]
    sized = [psf.gaussian_kernel(1.2, size=size) for size in (4, 5)]
    return found, [one.shape for one in found], sized, psf.checked_kernel(np.arange(6).reshape(2, 3), (2, 3))


@piece()
def filters() -> Any:
    """By which pictures are made smaller and larger."""
    sizes = [
        (kernel, size, factor)
        for kernel in reductions.FILTERS
        for size, factor in ((9, 2), (10, 3), (13, 1.5), (17, 8))
    ]
    places = np.linspace(0, 3.5, 36)
    return [
        [reductions.averages(*one) for one in sizes],
        [weight(places) for weight, _ in reductions.FILTERS.values()],
        [start.bicubic(size, factor) for size, factor in ((5, 2), (7, 1.5), (4, 3), (1, 8))],
        start.enlarge(SMALL, 1.5),
        start.enlarge(SMALL, 2),
        [start._linear(size) for size in (1, 2, 5, 8)],
    ]


@piece()
def first_fillings() -> Any:
    """Of gaps of any kind, and of the levels of a map."""
    rng = np.random.default_rng(0)
    gaps = [rng.random((13, 10)) < part for part in (0.0, 0.3, 0.95)]
    gaps.append(np.arange(130).reshape(13, 10) != 17)
    levels = Map(1 + SMALL / 9)
    several = Map(np.stack([1 + SMALL / 9, 2 + SMALL], axis=-1))
    return [
        [start.interpolate(SMALL, gap) for gap in gaps],
        [start.fill_levels(one, gaps[2]).sigma for one in (levels, several)],
        start._halve(SMALL),
        start._pull_push(SMALL * ~gaps[1], np.float32(~gaps[1]) * 0.5),
    ]


@piece()
def smoothed() -> Any:
    """By the noise, and by a map of it."""
    levels = Map(np.linspace(1, 60, 130, dtype=np.float32).reshape(13, 10))
    return [start.smoothed(SMALL, sigma) for sigma in (0.0, 3.0, 12.0, 25.0, 80.0)], [
        start.smoothed(SMALL, sigma, levels) for sigma in (1.0, 12.0, 40.0)
    ]


@piece(NEAR)
def first_images() -> Any:
    """Of one plane, of three, of complex numbers, of a measurement that is nothing."""
    image = noise((30,), 9.0) + 90
    sensing = measurement.fourier_sampling(measurement.radial_mask((6, 5), 0.5))
    colours = np.random.default_rng(4).standard_normal((40, 90)).astype(np.float32)
    mixed = measurement.Measurement(
        (6, 5, 3), (40,), lambda s: colours @ s.ravel(), lambda y: (y @ colours).reshape(6, 5, 3)
    )
    nothing = measurement.Measurement(
        (6, 5), (20,), lambda s: np.zeros(20, np.float32), lambda y: np.zeros((6, 5), np.float32)
    )
    tripled = np.concatenate([image, image + 30, image / 2])
    return [
        start.first_image(WHOLE, WHOLE.matvec(image), (6, 5)),
        start.first_image(sensing, sensing.matvec(image), (6, 5)),
        start.first_image(mixed, mixed.matvec(tripled), (6, 5, 3)),
        start.first_image(nothing, np.ones(20, np.float32), (6, 5)),
        start.nearest(WHOLE, image, WHOLE.matvec(image) * np.float32(1.5) + 1),
    ]


def _gap(A: Any, dtype: Any = float) -> Any:
    gap, left, right = dot_gap(A, np.random.default_rng(1), dtype)
    return round(gap, 5), left, right  # what is left of it if there is none is rounding


@piece(NEAR)
def sizes() -> Any:
    """Of measurements, and how far an adjoint is off."""
    wrong = measurement.Measurement((6, 5), (6, 5), lambda s: s, lambda y: y * np.float32(1.01))
    real = measurement.Measurement(
        (6, 5), (6, 5), lambda s: s * np.complex64(1 + 2j), lambda y: (y * np.complex64(1 - 2j)).real
    )
    nearly = [
        measurement.Measurement((6, 5), (6, 5), *[lambda s, f=f: s * np.float32(f)] * 2)
        for f in (1.019, 1.021, 0.9, 0.0)
    ]  # type: ignore[misc]
    sensing = measurement.fourier_sampling(measurement.radial_mask((6, 5), 0.5))
    every = [WHOLE, wrong, real, sensing, *nearly]
    told = [checked_measurement(np.ones(20), WHOLE, Layout.of((6, 5), None), 1e-3)[1]]
    return ([size_of(A) for A in every], [_gap(A) for A in every], [_gap(A, complex) for A in (sensing, WHOLE)], told)


@piece()
def layouts() -> Any:
    """Shapes and planes of what is reconstructed."""
    every = [Layout.of(shape, dtype) for shape in ((4, 5), (4, 5, 3), (4, 5, 2)) for dtype in (None, complex)]
    image = np.arange(60).reshape(4, 5, 3) * (1 + 2j)
    return [
        [(one.shape, one.imaginary, one.size, one.working_shape) for one in every],
        [one.mixing and (one.mixing.matrix, one.mixing.gains) for one in every],
        every[3].opened(image, "start"),
        every[3].closed(every[3].opened(image, "start")),
    ]


@piece()
def joint_planes() -> Any:
    """Plans of planes that are measured together; priors that follow the phase."""
    colours, parts = joint.Mixing.of_channels(3), joint.Mixing.of_parts(1)
    plans = [
        joint.plans_of(mixing, level, "balanced", weight, OPERATOR, size)
        for mixing in (None, colours, parts)
        for level, weight, size in ((0.0, None, 3.0), (9.0, None, 0.5), (9.0, 2.0, 3.0))
    ]
    image = noise((12, 14, 2), 20, 5) + np.array([90, 40], np.float32)
    plan = joint.plans_of(parts, 9.0, "fast", None, OPERATOR)
    problem = joint.JointProblem(OPERATOR, plan[0], image, image.ravel(), mixing=parts, plans=plan)
    energy = problem.energies()[0]
    assert isinstance(energy.prior, joint.JointPrior)
    turned = joint.turned(energy.prior, image)
    three = np.ascontiguousarray(COLOUR[:12, :14])
    coloured = joint.plans_of(colours, 9.0, "fast", None, OPERATOR)
    mixed = joint.JointProblem(OPERATOR, coloured[0], three, three.ravel(), mixing=colours, plans=coloured).energies()
    of_parts = joint.OfParts(measurement.fourier_sampling(measurement.radial_mask((12, 14), 0.5)))
    return [
        plans,
        energy.prior(image),
        turned(image),
        turned.factors,
        turned.mixing.apart(image),
        [one.prior(three) for one in mixed],
        [(one.weight, one.prior.factors) for one in mixed],
        colours.apart(three),
        colours.adjoint(colours.apart(three)),
        of_parts.shape,
        of_parts.matvec(image.ravel()),
        of_parts.rmatvec(of_parts.matvec(image.ravel())),
        OPPONENT,
    ]


@piece(MINIMISED)
def reconstructed() -> Any:
    """From few measurements of several kinds; all that is told of them."""
    truth = np.ascontiguousarray(GREY[10:34, 12:36] / 255)
    A = measurement.fourier_sampling(measurement.radial_mask(truth.shape, 0.5))
    y = A.matvec(truth.ravel()) + 0.02 * noise((A.shape[0],))
    few = cosparse.Settings(iterations=6, step_tolerance=0.0)
    phase = np.exp(1j * np.linspace(0, 2, 24))[None]
    B = measurement.blur(np.outer([1, 2, 1], [1, 3, 1]) / 20, (24, 24))
    counts = np.float32(PoissonGaussian(0.01, 0.01).sample(B.matvec(truth.ravel()), 0))
    colour = COLOUR[:10, :12] / 255
    C = np.random.default_rng(0).standard_normal((200, 360)) / 14
    shifted = y - A.matvec(np.full(576, 0.3, np.float32))
    found = [
        cosparse.reconstruct(y, A, truth.shape, sigma=0.02, settings=few),
        cosparse.reconstruct(y, A, truth.shape, settings=few, quality="fast", operator="goal"),
        cosparse.reconstruct(
            y * 100, A, truth.shape, sigma=2.0, data_range=100, settings=few, bounds=(10, 60), weight=0.5
        ),
        cosparse.reconstruct(shifted, A, truth.shape, sigma=0.02, settings=few),
        cosparse.reconstruct(
            y, A, truth.shape, sigma=np.linspace(0.01, 0.05, len(y)), settings=few, bounds=(None, 0.5)
        ),
        cosparse.reconstruct(A.matvec((truth * phase).ravel()), A, truth.shape, dtype=complex, settings=few),
        cosparse.reconstruct(counts, B, (24, 24), noise=PoissonGaussian(0.01, 0.01), settings=few),
        cosparse.reconstruct(C @ colour.ravel(), C, (10, 12, 3), sigma=0.05, settings=few),
        cosparse.reconstruct(y, A, truth.shape, sigma=0.02, start=truth / 2, settings=few, bounds=None),
    ]
    return [
        (
            one.image,
            one.energy,
            one.energies,
            one.stop,
            one.iterations,
            one.weight,
            one.data_term,
            one.prior_term,
            one.residual,
        )
        for one in found
    ], [one.bounds for one in found]


@piece()
def bounds_found() -> Any:
    """Of images that lie a little beyond black or white."""
    truth = np.ascontiguousarray(GREY[10:34, 12:36] / 255)
    truth = (truth - truth.min()) / np.ptp(truth)
    A = measurement.fourier_sampling(measurement.radial_mask(truth.shape, 0.9))
    few = cosparse.Settings(iterations=1)
    images = [
        truth * size + low for size, low in ((0.8, -0.015), (0.8, -0.045), (0.8, 0.215), (0.8, 0.245), (0.8, -0.1))
    ]
    return [
        cosparse.reconstruct(A.matvec(one.ravel()), A, one.shape, settings=few, quality="fast").bounds for one in images
    ]


@piece(MINIMISED)
def reconstructed_to_the_end() -> Any:
    """As long as the quality says."""
    truth = np.ascontiguousarray(GREY[10:26, 12:28] / 255)
    A = measurement.fourier_sampling(measurement.radial_mask(truth.shape, 0.5))
    y = A.matvec(truth.ravel()) + 0.03 * noise((A.shape[0],))
    found = [cosparse.reconstruct(y, A, truth.shape, sigma=0.03, quality=quality) for quality in ("fast", "best")]
    return [(one.image, one.iterations, one.stop, one.weight, one.bounds) for one in found]
