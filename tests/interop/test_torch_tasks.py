"""Tasks on tensors: what arrays give, on the tensor's device, in its type and shape."""

from __future__ import annotations

import numpy as np
import pytest

import cosparse
from cosparse.optimize import Whitened
from cosparse.reconstruction import measurement
from cosparse.reconstruction.correction import correct
from cosparse.reconstruction.stages import Grouping

torch = pytest.importorskip("torch", reason="torch is not installed; make test-torch brings it")

from cosparse.interop.torch.tensor_correction import corrected_filling  # noqa: E402
from cosparse.interop.torch.tensor_groups import Page, filter_groups  # noqa: E402
from cosparse.interop.torch.tensor_measures import blur, reduction  # noqa: E402
from cosparse.interop.torch.tensor_spaces import WhitenedSpace  # noqa: E402

CLOSE = 1e-3  # of the range: how far a pixel of a tensor may be from that of an array


@pytest.fixture(scope="module")
def clean():
    from skimage.data import camera

    return camera()[100:160, 100:157].astype(np.float32) / 255


@pytest.fixture(scope="module")
def colours():
    from skimage.data import astronaut

    return astronaut()[60:108, 180:221].astype(np.float32) / 255


def with_noise(image, sigma, seed=0):
    return image + sigma * np.random.default_rng(seed).standard_normal(image.shape).astype(np.float32)


def agree(ours, theirs, clean):
    """No pixel far off, and within 0.02 dB."""
    ours = ours.numpy()
    assert np.abs(ours - theirs).max() < CLOSE
    assert abs(cosparse.psnr(clean, ours) - cosparse.psnr(clean, theirs)) < 0.02


@pytest.mark.parametrize(
    "options",
    [
        {}, {"quality": "best"}, {"grouping": False}, {"operator": "default", "quality": "fast"},
        {"operator": "goal", "grouping": False}, {"weight": 1.3, "quality": "fast"}, {"luma": 0.5}, {"luma": 1.5},
    ],
    ids=str,
)  # fmt: skip
def test_denoise(clean, options):
    noisy = with_noise(clean, 0.1)
    agree(cosparse.denoise(torch.tensor(noisy), 0.1, **options), cosparse.denoise(noisy, 0.1, **options), clean)


@pytest.mark.parametrize("sigma", [0.05, 0.12])
def test_denoise_colours(colours, sigma):
    noisy = with_noise(colours, sigma)
    ours = cosparse.denoise(torch.tensor(noisy).permute(2, 0, 1), sigma, chroma=0.8).permute(1, 2, 0)
    agree(ours, cosparse.denoise(noisy, sigma, channel_axis=-1, chroma=0.8), colours)


@pytest.mark.parametrize("sigma, grouping", [(0.0, True), (0.02, True), (0.06, True), (0.0, False)])
def test_inpaint(clean, sigma, grouping):
    mask = np.random.default_rng(1).random(clean.shape) < 0.5
    seen = np.where(mask, np.nan, with_noise(clean, sigma)).astype(np.float32)
    options = {"sigma": sigma, "grouping": grouping, "quality": "fast"}
    ours = cosparse.inpaint(torch.tensor(seen), torch.tensor(mask), **options)
    agree(ours, cosparse.inpaint(seen, mask, **options), clean)
    if sigma == 0:
        assert torch.equal(ours[~mask], torch.tensor(seen)[~mask])


def test_inpaint_colours_by_one_mask(colours):
    mask = np.random.default_rng(1).random(colours.shape[:2]) < 0.4
    ours = cosparse.inpaint(torch.tensor(colours).permute(2, 0, 1), mask, quality="fast").permute(1, 2, 0)
    agree(ours, cosparse.inpaint(colours, mask, quality="fast", channel_axis=-1), colours)


@pytest.mark.parametrize("kernel, sigma", [("bicubic", 0.0), ("gaussian", 0.03), (np.ones((3, 3)), 0.0)])
def test_upscale(clean, kernel, sigma):
    small = with_noise(clean[:30, :27], sigma)
    options = {"kernel": kernel, "sigma": sigma, "quality": "fast"}
    ours = cosparse.upscale(torch.tensor(small), 2, **options)
    assert np.abs(ours.numpy() - cosparse.upscale(small, 2, **options)).max() < CLOSE


@pytest.mark.parametrize(
    "factor, options",
    [(1.5, {}), (8, {"kernel": "box"}), (2, {"sigma": 0.04, "operator": "default"}), (3, {"sigma": 0.04, "luma": 1.3})],
    ids=str,
)
def test_upscale_by_other_factors_and_with_noise(clean, factor, options):
    small = with_noise(clean[:15, :13], options.get("sigma", 0.0))
    ours = cosparse.upscale(torch.tensor(small), factor, quality="fast", **options)
    wanted = cosparse.upscale(small, factor, quality="fast", **options)
    assert ours.shape == wanted.shape and np.abs(ours.numpy() - wanted).max() < CLOSE


def test_upscale_colours_of_which_some_are_noisy(colours):
    small = np.stack([with_noise(colours[:16, :17], 0.05), colours[:16, :17]])
    levels = [0.05, 0.0]
    ours = cosparse.upscale(torch.tensor(small).permute(0, 3, 1, 2), 2, sigma=levels, quality="fast")
    for found, one, level in zip(ours.permute(0, 2, 3, 1).numpy(), small, levels, strict=True):
        wanted = cosparse.upscale(one, 2, sigma=level, quality="fast", channel_axis=-1)
        assert np.abs(found - wanted).max() < CLOSE


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (9, 14)])
def test_whitened_coordinates_are_those_of_arrays(shape):
    rng = np.random.default_rng(0)
    vector, point, down, across = (rng.standard_normal(size).astype(np.float32) for size in (shape, shape, 5, 4))
    free = rng.random(shape) < 0.7
    theirs = Whitened(down, across, free)
    ours = WhitenedSpace(torch.tensor(free), tuple(down.tolist()), tuple(across.tolist()))
    here, there = torch.tensor(point), torch.tensor(vector)
    assert np.allclose(ours.project(here, there), theirs.project(point, vector), atol=1e-5)
    assert np.allclose(ours.step(here, there, 0.3), theirs.step(point, vector, 0.3), atol=1e-5)


@pytest.mark.parametrize("quality", ["balanced", "best"])
def test_fillings_are_corrected_as_those_of_arrays_are(clean, quality):
    """A mask that is dense here and thin there, with a hole whose middle is too far from all that is known."""
    image, rng = 255 * clean, np.random.default_rng(0)
    gaps = rng.random(image.shape) < np.linspace(0, 1.1, image.shape[1])
    gaps[20:40, 5:25] = True
    filled = np.where(gaps, 255 * with_noise(clean, 0.04), image)
    operator = cosparse.load_operator("staged")
    steps = operator.steps["inpaint"]
    problem = cosparse.Problem(operator, cosparse.Plan((), 2), filled, free=gaps)
    wanted = correct(problem, filled, steps, 1, quality)
    planes = torch.tensor(np.stack([filled, filled + 9]))
    with torch.no_grad():
        found = corrected_filling(operator, steps, planes, torch.tensor(gaps), quality).numpy()
    assert np.abs(found[0] - wanted).max() < 0.01 and np.abs(found[1] - 9 - wanted).max() < 0.01
    assert (found[0] == filled)[~gaps | (np.abs(filled - wanted) == 0)].all()
    assert np.abs(wanted - filled).max() > 5


@pytest.mark.parametrize("border", ["replicate", "periodic"])
def test_deblur(clean, border):
    kernel = measurement.gaussian_kernel(1.2)
    blurred = with_noise(measurement.blur(kernel, clean.shape, border=border).forward(clean), 0.01)
    options = {"sigma": 0.01, "border": border, "quality": "fast"}
    ours = cosparse.deblur(torch.tensor(blurred), torch.tensor(kernel), **options)
    agree(ours, cosparse.deblur(blurred, kernel, **options), clean)


def test_reconstruct_as_arrays_are(clean):
    mask = measurement.variable_density_mask(clean.shape, 0.4)
    A = measurement.fourier_sampling(mask)
    y = A.matvec(clean.ravel())
    wanted = cosparse.reconstruct(y, A, clean.shape, sigma=0.01, quality="fast")
    kept = torch.tensor(mask)

    def sampled(image):
        return torch.fft.fft2(image, norm="ortho")[kept]

    ours = cosparse.reconstruct(torch.tensor(y), sampled, clean.shape, sigma=0.01, quality="fast")
    assert ours.image.shape == clean.shape and ours.stop == wanted.stop and ours.bounds == wanted.bounds
    assert abs(cosparse.psnr(clean, ours.image.numpy()) - cosparse.psnr(clean, wanted.image)) < 0.05
    assert ours.energy == pytest.approx(wanted.energy, rel=1e-3)
    assert ours.data_term + ours.prior_term <= ours.energy * (1 + 1e-4)


def test_reconstruct_colours_as_arrays_are(colours):
    """Of a mosaic: every pixel knows one of three values."""
    seen = np.random.default_rng(0).integers(0, 3, colours.shape[:2])[..., None] == np.arange(3)
    A = measurement.sampling(seen.ravel()[None])
    y = A.matvec(colours.ravel())
    wanted = cosparse.reconstruct(y, A, colours.shape, sigma=0.02, quality="fast")
    kept = torch.tensor(seen).permute(2, 0, 1)
    order = torch.arange(seen.size).reshape(seen.shape).permute(2, 0, 1)[kept].argsort()
    given = torch.tensor(y)
    shape = tuple(kept.shape)
    ours = cosparse.reconstruct(given, lambda s: s[kept][order], shape, sigma=0.02, quality="fast")
    found = ours.image.permute(1, 2, 0).numpy()
    assert abs(cosparse.psnr(colours, found) - cosparse.psnr(colours, wanted.image)) < 0.05
    assert ours.energy == pytest.approx(wanted.energy, rel=2e-3)


def test_reconstruct_complex_images_as_arrays_are(clean):
    """Whose prior follows the phase: told by `dtype`, through a function, a pair or a matrix of complex images."""
    down, across = np.indices(clean.shape) / 60
    truth = (clean * np.exp(2j * down * across + 1j * down)).astype(np.complex64)
    mask = measurement.variable_density_mask(clean.shape, 0.4)
    A = measurement.fourier_sampling(mask)
    noise = np.random.default_rng(0).standard_normal((2, A.shape[0]))
    y = (A.matvec(truth.ravel()) + 0.02 * (noise[0] + 1j * noise[1])).astype(np.complex64)
    options = {"sigma": 0.02, "quality": "fast", "dtype": complex}
    wanted = cosparse.reconstruct(y, A, truth.shape, **options)
    kept = torch.tensor(mask)

    def sampled(image):
        return torch.fft.fft2(image, norm="ortho")[kept]

    ours = cosparse.reconstruct(torch.tensor(y), sampled, truth.shape, **options)
    assert ours.image.dtype == torch.complex64 and ours.image.shape == truth.shape and ours.bounds is None
    assert ours.energy == pytest.approx(wanted.energy, rel=2e-3)
    off = [np.abs(found - truth).std() for found in (ours.image.numpy(), wanted.image)]
    assert off[0] == pytest.approx(off[1], rel=0.01)
    with pytest.raises(ValueError, match="bounds: complex"):
        cosparse.reconstruct(torch.tensor(y), sampled, truth.shape, bounds=(0, 1), **options)
    small = torch.tensor(truth[:8, :8])
    matrix = torch.fft.fft(torch.eye(64, dtype=torch.complex64), norm="ortho")
    exact = cosparse.reconstruct(matrix @ small.reshape(-1), matrix, (8, 8), dtype=torch.complex64)
    assert float((exact.image - small).abs().max()) < 0.02


def test_reconstruct_from_a_matrix_or_a_pair():
    image = torch.linspace(0, 1, 144).reshape(12, 12)
    matrix = torch.randn(90, 144, generator=torch.Generator().manual_seed(0)) / 12
    y = matrix @ image.reshape(-1)
    by_matrix = cosparse.reconstruct(y, matrix, (12, 12))
    pair = (lambda s: matrix @ s.reshape(-1)), (lambda r: (matrix.T @ r).reshape(12, 12))
    by_pair = cosparse.reconstruct(y, pair, (12, 12))
    assert torch.allclose(by_matrix.image, by_pair.image, atol=1e-4) and by_matrix.residual < 0.02
    with pytest.raises(ValueError, match="adjoint is wrong"):
        cosparse.reconstruct(y, (pair[0], lambda r: 2 * pair[1](r)), (12, 12))
    with pytest.raises(ValueError, match="A: cannot be differentiated"):
        cosparse.reconstruct(y, lambda s: pair[0](s.detach()), (12, 12))
    with pytest.raises(ValueError, match="A: works on arrays"):
        cosparse.reconstruct(y, measurement.identity((12, 12)), (12, 12))
    with pytest.raises(ValueError, match="A: has shape"):
        cosparse.reconstruct(y, matrix, (12, 11))


@pytest.mark.parametrize("kind", [torch.uint8, torch.float16, torch.float64])
def test_type_shape_and_device_stay(clean, kind):
    noisy = torch.tensor(with_noise(clean[:24, :24], 0.05).clip(0, 1))
    batch = noisy.expand(2, 3, 1, 24, 24)
    if kind == torch.uint8:
        result = cosparse.denoise((batch * 255).round().to(kind), 0.05 * 255)
        other = cosparse.denoise((noisy * 255).round().to(kind).numpy(), 0.05 * 255)
        assert np.abs(result[1, 2, 0].numpy().astype(int) - other).max() <= 1
    else:
        result = cosparse.denoise(batch.to(kind), 0.05)
    assert result.dtype == kind and result.shape == batch.shape and result.device == batch.device
    assert not result.requires_grad


def test_each_of_a_batch_has_its_own_noise(clean):
    noisy = torch.tensor(with_noise(clean[:24, :24], 0.05))
    batch = torch.stack([noisy, noisy, noisy])[:, None]
    result = cosparse.denoise(batch, torch.tensor([0.05, 0.0, 0.1]), grouping=False)
    assert torch.equal(result[1], batch[1])  # without noise to the last bit
    assert torch.allclose(result[0, 0], cosparse.denoise(noisy, 0.05, grouping=False), atol=1e-6)
    assert (result[0] - result[2]).abs().max() > 0.01


def test_channels_where_the_caller_says(colours):
    noisy = torch.tensor(with_noise(colours[:24, :24], 0.05))
    first = cosparse.denoise(noisy.permute(2, 0, 1), 0.05, grouping=False)
    last = cosparse.denoise(noisy, 0.05, grouping=False, channel_axis=-1)
    planes = cosparse.denoise(noisy.permute(2, 0, 1), 0.05, grouping=False, channel_axis=None)
    assert torch.equal(first.permute(1, 2, 0), last)
    assert torch.allclose(planes[1], cosparse.denoise(noisy[..., 1], 0.05, grouping=False), atol=1e-6)
    assert (planes - first).abs().max() > 1e-3


def test_a_constant_is_added_to_the_result(clean):
    noisy = torch.tensor(with_noise(clean[:24, :24], 0.05)).double()
    shifted = cosparse.denoise(noisy + 1000, 0.05) - 1000
    assert torch.allclose(shifted, cosparse.denoise(noisy, 0.05, bounds=None), atol=2e-5)


@pytest.mark.parametrize(
    "rule, missing, sigma",
    [
        (Grouping(8, 7, 5, 12), 0.0, 20.0), (Grouping(6, 4, 6, 10), 0.0, 20.0), (Grouping(6, 4, 6, 10), 0.4, 0.0),
        (Grouping(6, 4, 6, 10), 0.4, 10.0), (Grouping(8, 5, 4, 9, 2, 0.3), 0.0, 20.0),
        (Grouping(6, 5, 9, 200), 0.0, 20.0),
    ],
)  # fmt: skip
def test_groups_are_those_of_the_reference(clean, rule, missing, sigma):
    from cosparse.reconstruction.planes import Channel
    from cosparse.reconstruction.second_pass import filter_groups as of_arrays

    rng = np.random.default_rng(0)
    noisy, pilot = (255 * with_noise(clean[:21, :18], level, 3) for level in (max(sigma, 1) / 255, 3 / 255))
    known = rng.random(noisy.shape) >= missing
    wanted = of_arrays([Channel(noisy)], [pilot], sigma, rule, lambda *_: False, known if missing else None)[0]
    seen = torch.tensor(known.astype(np.float32)) if missing else None
    found = filter_groups(Page(torch.tensor(noisy)[None], sigma, known=seen), torch.tensor(pilot)[None], rule)
    assert np.abs(found[0].numpy() - wanted).max() < 0.02


@pytest.mark.parametrize("name", ["blur", "periodic", "bicubic", "gaussian", "array"])
def test_measurements_are_those_of_arrays(name):
    shape, rng = (12, 15), np.random.default_rng(0)
    image, kernel = rng.random(shape).astype(np.float32), rng.random((4, 3)).astype(np.float32)
    like = torch.tensor(image)[None]
    if name in ("blur", "periodic"):
        border = "replicate" if name == "blur" else name
        theirs, ours = measurement.blur(kernel, shape, border=border), blur(kernel, shape, like, border)
    else:
        made_by = kernel if name == "array" else name
        theirs, ours = measurement.reduction(3, shape, made_by), reduction(3, shape, made_by, like)
    data = rng.random(theirs.data_shape).astype(np.float32)
    assert np.allclose(ours.forward(like)[0], theirs.forward(image), atol=1e-5)
    assert np.allclose(ours.adjoint(torch.tensor(data)[None])[0], theirs.adjoint_image(data), atol=1e-5)


def test_a_callback_may_stop(clean):
    told = []

    def stop(progress):
        told.append((progress.iteration, progress.page, progress.pages, progress.energy))
        return len(told) == 3

    noisy = torch.tensor(with_noise(clean, 0.1))
    cosparse.denoise(torch.stack([noisy, noisy])[:, None], 0.1, operator="default", callback=stop, grouping=False)
    assert [one[0] for one in told] == [1, 2, 3] and told[2][3] < told[0][3]


def test_what_cannot_be_is_said(clean):
    image = torch.tensor(clean)
    with pytest.raises(ValueError, match="sigma, noise: say how noisy"):
        cosparse.denoise(image, 0.1, noise=cosparse.PoissonGaussian(0.1))
    with pytest.raises(ValueError, match="sigma: a map of noise levels has the image's shape"):
        cosparse.denoise(image, torch.ones(3, 4))
    with pytest.raises(ValueError, match="image: holds NaN"):
        cosparse.denoise(image / 0, 0.1)
    with pytest.raises(ValueError, match="data_range: is 1"):
        cosparse.denoise(image * 255, 10.0)
    with pytest.raises(ValueError, match="one for each of 1"):
        cosparse.denoise(image, [0.1, 0.2])
    with pytest.raises(ValueError, match="mask: has shape"):
        cosparse.inpaint(image, torch.zeros(3, 3, dtype=torch.bool))
    with pytest.raises(TypeError, match="unexpected keyword argument 'sgima'"):
        cosparse.denoise(image, 0.1, sgima=2)
    with pytest.raises(ValueError, match="expected a real tensor"):
        cosparse.inpaint(clean, torch.zeros(clean.shape, dtype=torch.bool))
    with pytest.raises(ValueError, match="y: expected a tensor of float32"):
        cosparse.reconstruct(image.half(), image, (1, 1))
    with pytest.raises(TypeError, match="deblock: takes arrays"):
        cosparse.deblock(image, [[1] * 64])


def test_a_wide_hole_is_filled_as_in_an_array(clean):
    image = np.tile(clean, (2, 2))
    mask = np.zeros(image.shape, bool)
    mask[40:72, 30:62] = True
    copied, smooth = (cosparse.inpaint(image, mask, fill=fill, quality="fast", seed=1) for fill in ("auto", "smooth"))
    found = cosparse.inpaint(torch.tensor(image), torch.tensor(mask), quality="fast", seed=1)
    assert np.abs(found.numpy() - copied).max() < 1e-6 and np.abs(copied - smooth)[mask].max() > 0.05
    with pytest.raises(ValueError, match="fill: expected one of"):
        cosparse.inpaint(torch.tensor(image), torch.tensor(mask), fill="paint")
