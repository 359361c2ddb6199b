"""The noise of tensors: estimated, of photons, different from pixel to pixel. All as arrays have it."""

from __future__ import annotations

import numpy as np
import pytest

import cosparse
from cosparse.kernels.reference import EVEN, group_filter
from cosparse.reconstruction import measurement
from cosparse.reconstruction.stabilisation import Stabilisation
from cosparse.reconstruction.stages import Grouping

torch = pytest.importorskip("torch", reason="torch is not installed; make test-torch brings it")

from cosparse.interop.torch.tensor_groups import Page, filter_groups  # noqa: E402
from cosparse.interop.torch.tensor_noise import TensorStabilisation  # noqa: E402

CLOSE = 1e-3  # of the range: how far a pixel of a tensor may be from that of an array
PHOTONS = cosparse.PoissonGaussian(gain=0.03, read=0.02, offset=0.05)


@pytest.fixture(scope="module")
def clean():
    from skimage.data import camera

    return camera()[100:148, 100:145].astype(np.float32) / 255


@pytest.fixture(scope="module")
def colours():
    from skimage.data import astronaut

    return astronaut()[60:100, 180:221].astype(np.float32) / 255


def seen(image, noise, seed=0):
    """An image with such noise, in single precision."""
    return noise.sample(image, rng=seed).astype(np.float32)


def ramp(image, low=0.03, high=0.2):
    """Levels that rise from the left to the right."""
    return np.broadcast_to(np.geomspace(low, high, image.shape[1]).astype(np.float32), image.shape[:2]).copy()


def agree(ours, theirs):
    assert ours.dtype == torch.tensor(theirs[:0]).dtype
    assert np.abs(ours.numpy().astype(float) - theirs).max() < CLOSE * (255 if theirs.dtype == np.uint8 else 1)


def last(tensor):
    return tensor.movedim(-3, -1)


@pytest.mark.parametrize("kind", [np.float32, np.uint8])
@pytest.mark.parametrize("noise", [cosparse.Gaussian(0.1), PHOTONS], ids=["white", "photons"])
def test_noise_that_is_not_said_is_estimated(clean, colours, noise, kind):
    for image in (clean, colours):
        noisy = seen(image, noise)
        noisy = (noisy.clip(0, 1) * 255).round().astype(kind) if kind == np.uint8 else noisy
        axis = None if image.ndim == 2 else -1
        wanted = cosparse.denoise(noisy, channel_axis=axis)
        assert np.abs(wanted.astype(float) - noisy).max() > 0.05 * (255 if kind == np.uint8 else 1)
        agree(cosparse.denoise(torch.tensor(noisy), channel_axis=axis), wanted)


def test_each_of_a_batch_is_estimated_by_itself(clean):
    batch = np.stack([seen(clean, cosparse.Gaussian(0.05)), seen(clean, PHOTONS)])
    ours = cosparse.denoise(torch.tensor(batch)[:, None], quality="fast")[:, 0]
    for found, one in zip(ours, batch, strict=True):
        agree(found, cosparse.denoise(one, quality="fast"))


@pytest.mark.parametrize("quality", ["fast", "balanced", "best"])
def test_a_map_by_steps(clean, quality):
    levels = ramp(clean)
    noisy = seen(clean, cosparse.Map(levels))
    agree(
        cosparse.denoise(torch.tensor(noisy), torch.tensor(levels), quality=quality),
        cosparse.denoise(noisy, levels, quality=quality),
    )


def test_a_map_of_colours(colours):
    levels = np.stack([ramp(colours), ramp(colours)[:, ::-1], 0.5 * ramp(colours)], axis=-1)
    noisy = seen(colours, cosparse.Map(levels))
    wanted = cosparse.denoise(noisy, levels, channel_axis=-1, chroma=0.7)
    agree(cosparse.denoise(torch.tensor(noisy), levels, channel_axis=-1, chroma=0.7), wanted)
    wanted = cosparse.denoise(noisy, levels[..., 0], channel_axis=-1, luma=1.4)
    ours = cosparse.denoise(torch.tensor(noisy).movedim(-1, 0), noise=cosparse.Map(levels[..., 0]), luma=1.4)
    agree(last(ours), wanted)


def test_photons(clean, colours):
    agree(
        cosparse.denoise(torch.tensor(seen(clean, PHOTONS)), noise=PHOTONS),
        cosparse.denoise(seen(clean, PHOTONS), noise=PHOTONS),
    )
    each = cosparse.PoissonGaussian(gain=(0.02, 0.03, 0.05), read=0.02)
    noisy = 2 + seen(colours, each)  # an offset that the door takes away
    told = cosparse.PoissonGaussian(each.gain, each.read, offset=2.0)
    wanted = cosparse.denoise(noisy, noise=told, channel_axis=-1, luma=0.6)
    agree(last(cosparse.denoise(torch.tensor(noisy).movedim(-1, 0), noise=told, luma=0.6)), wanted)


def test_roots_and_back_are_those_of_arrays():
    values = np.random.default_rng(0).uniform(-20, 400, (2, 9, 11, 3))
    for noise in (cosparse.PoissonGaussian(2.0, 3.0, 5.0), cosparse.PoissonGaussian((1.0, 2.0, 9.0), (0.0, 1.0, 20.0))):
        way = Stabilisation(noise)
        batch, ours = torch.tensor(values).movedim(-1, 1), TensorStabilisation(way)
        np.testing.assert_allclose(last(ours.forward(batch)), way.forward(values), rtol=1e-6, atol=1e-4)
        np.testing.assert_allclose(last(ours.back(batch)), way.back(values), rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("most", [4.0, 40.0])
@pytest.mark.parametrize("missing", [False, True])
def test_groups_of_pixels_that_differ_in_noise(clean, most, missing):
    """By a factor in variance that is even, as the rule says, or not."""
    rule, rng = Grouping(5, 4, 6, 8, 1), np.random.default_rng(0)
    pilot = 255.0 * clean[:20, :18][None].astype(float) + rng.standard_normal((1, 20, 18))  # none equally near
    noisy = pilot + 10 * rng.standard_normal(pilot.shape)
    relative = rng.uniform(1, most, pilot.shape[1:]) ** 2
    assert (most**2 > EVEN) == (most == 40.0)
    known = rng.random(pilot.shape[1:]) > 0.3 * missing
    wanted = group_filter(pilot, noisy, known.astype(np.uint8), np.array([100.0]), True, 5, 4, 6, 8, relative=relative)
    page = Page(
        torch.tensor(noisy), 10.0, known=torch.tensor(known).double() if missing else None,
        relative=torch.tensor(relative),
    )  # fmt: skip
    found = filter_groups(page, torch.tensor(pilot), rule)
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-6)


@pytest.mark.parametrize("noise", [PHOTONS, "map", cosparse.Correlated(0.1, kernel=np.ones((1, 3)))], ids=str)
def test_other_tasks(clean, noise):
    """What tensors do not know is done by arrays: on the way there and back nothing is lost."""
    noise = cosparse.Map(ramp(clean)) if isinstance(noise, str) else noise
    noisy, tensor = seen(clean, noise), torch.tensor(seen(clean, noise))
    options = {"noise": noise, "quality": "fast"}
    agree(cosparse.upscale(tensor, 2, **options), cosparse.upscale(noisy, 2, **options))
    agree(cosparse.deblur(tensor, "gaussian:1", **options), cosparse.deblur(noisy, "gaussian:1", **options))
    agree(cosparse.denoise(tensor, operator="goal", **options), cosparse.denoise(noisy, operator="goal", **options))
    if not isinstance(noise, cosparse.Correlated):
        mask = np.random.default_rng(1).random(clean.shape) < 0.3
        agree(cosparse.inpaint(tensor, torch.tensor(mask), **options), cosparse.inpaint(noisy, mask, **options))


def test_deblurring_estimates_too(clean):
    noisy = seen(clean, cosparse.Gaussian(0.03))
    agree(cosparse.deblur(torch.tensor(noisy), "gaussian:1"), cosparse.deblur(noisy, "gaussian:1"))


def test_reconstructed_colours_are_those_of_arrays(colours):
    """Half of the values of a mosaic, which tells colours apart only together."""
    some = np.random.default_rng(0).random(colours.shape) < 0.5
    A = measurement.sampling(some)
    y = A.matvec(colours.ravel()) + 0.02 * np.random.default_rng(1).standard_normal(some.sum())
    wanted = cosparse.reconstruct(y, A, colours.shape, sigma=0.02, quality="fast")
    kept = torch.tensor(some).movedim(-1, 0)
    data = torch.zeros(colours.shape, dtype=torch.float64)
    data[torch.tensor(some)] = torch.tensor(y)
    ours = cosparse.reconstruct(
        data.movedim(-1, 0)[kept], lambda s: s[kept], (3, *colours.shape[:2]), sigma=0.02, quality="fast"
    )
    assert ours.weight == pytest.approx(wanted.weight) and ours.energy == pytest.approx(wanted.energy, rel=1e-3)
    assert abs(cosparse.psnr(colours, last(ours.image).numpy()) - cosparse.psnr(colours, wanted.image)) < 0.05


@pytest.mark.parametrize("kind", ["photons", "each its own"])
def test_measurements_of_different_noise(clean, kind):
    clean = clean[:24, :21]
    A = measurement.blur(measurement.gaussian_kernel(0.7), clean.shape)
    y = np.asarray(A.matvec(clean.ravel()), np.float32)
    rng = np.random.default_rng(0)
    if kind == "photons":
        y = rng.poisson(y.clip(0) / 0.01).astype(np.float32) * 0.01
        told = {"noise": cosparse.PoissonGaussian(0.01)}
    else:
        level = np.geomspace(0.01, 0.2, y.size).astype(np.float32)
        y, told = y + level * rng.standard_normal(y.size).astype(np.float32), {"sigma": level}
    wanted = cosparse.reconstruct(y, A, clean.shape, quality="fast", **told)
    pair = (
        lambda s: torch.tensor(np.asarray(A.matvec(s.numpy().ravel()))),
        lambda r: torch.tensor(np.asarray(A.rmatvec(r.numpy()))).reshape(clean.shape),
    )
    told = {name: torch.tensor(value) if name == "sigma" else value for name, value in told.items()}
    ours = cosparse.reconstruct(torch.tensor(y), pair, clean.shape, quality="fast", **told)
    assert ours.energy == pytest.approx(wanted.energy, rel=1e-2)
    assert abs(cosparse.psnr(clean, ours.image.numpy()) - cosparse.psnr(clean, wanted.image)) < 0.05
