"""Our prior and denoiser in deepinv's own algorithms, and its physics in `cosparse.reconstruct`."""

from __future__ import annotations

import numpy as np
import pytest

import cosparse
from cosparse.reconstruction.prior import Prior

torch = pytest.importorskip("torch", reason="torch is not installed; make test-torch brings it")

SIDE = 40


@pytest.fixture(scope="module")
def ours(deepinv):
    from cosparse.interop import deepinv as adapter

    return adapter


@pytest.fixture(scope="module")
def image():
    from skimage.data import camera

    return torch.tensor(camera()[100 : 100 + SIDE, 100 : 100 + SIDE] / 255, dtype=torch.float32)[None, None]


def psnr(image, result):
    return cosparse.psnr(image.numpy(), result.detach().numpy(), data_range=1.0)


def physics_of(deepinv, name):
    """One of deepinv's own, with a little noise that is the same every time, and the image's channels."""
    of, rng = deepinv.physics, torch.Generator().manual_seed(0)
    noise = {"noise_model": of.GaussianNoise(sigma=0.01, rng=torch.Generator().manual_seed(1))}
    if name == "inpainting":
        return of.Inpainting((1, SIDE, SIDE), mask=0.5, rng=rng, **noise)
    if name == "downsampling":
        return of.Downsampling((1, SIDE, SIDE), filter="bicubic", factor=2, **noise)
    if name == "blur":
        return of.Blur(of.functional.blur.gaussian_blur(sigma=(1.2, 1.2)), padding="circular", **noise)
    if name == "mri":
        mask = torch.rand(1, SIDE, SIDE, generator=rng) < 0.5
        mask[:, SIDE // 2 - 4 : SIDE // 2 + 4, SIDE // 2 - 4 : SIDE // 2 + 4] = (
            True  # low frequencies are in the middle
        )
        return of.MRI(mask=mask.float(), img_size=(SIDE, SIDE), **noise)
    return of.Tomography(angles=30, img_width=SIDE, circle=False, normalize=True, **noise)


PHYSICS = ("inpainting", "downsampling", "blur", "mri", "tomography")


def measured(deepinv, name, image):
    """The physics, an image for it, what is measured of that, and how near its own pseudo-inverse comes."""
    physics = physics_of(deepinv, name)
    image = torch.cat([image, image.flip(-1)], 1) if name == "mri" else image  # a complex one
    y = physics(image)
    return physics, image, y, psnr(image, physics.A_dagger(y))


@pytest.mark.parametrize("name", PHYSICS)
def test_reconstruct_takes_a_physics(deepinv, ours, image, name):
    physics, image, y, by_inverse = measured(deepinv, name, image)
    result = cosparse.reconstruct(y, physics, quality="fast")
    assert result.image.shape == image.shape and result.image.dtype == image.dtype
    assert psnr(image, result.image) > by_inverse + 3
    assert result.residual < 0.1


def test_resonance_images_are_complex_ones(deepinv, ours, image):
    """deepinv has them as two channels; the prior follows their phase, as of complex arrays."""
    rising = torch.linspace(0, 2.5, SIDE)
    truth = torch.stack([image[0, 0] * rising.cos(), image[0, 0] * rising.sin()])[None]
    physics = physics_of(deepinv, "mri")
    y = physics(truth)
    found = cosparse.reconstruct(y, physics).image
    apart = cosparse.reconstruct(y, (physics.A, physics.A_adjoint), tuple(truth.shape), sigma=0.01).image
    assert found.shape == truth.shape and psnr(truth, found) > psnr(truth, apart) + 0.2
    kept = physics.mask[0, 0].bool()

    def sampled(z):
        return torch.fft.fftshift(torch.fft.fft2(torch.fft.ifftshift(z), norm="ortho"))[kept]

    one = cosparse.reconstruct(torch.complex(y[0, 0], y[0, 1])[kept], sampled, (SIDE, SIDE), sigma=0.01, dtype=complex)
    assert abs(psnr(truth, torch.stack([one.image.real, one.image.imag])[None]) - psnr(truth, found)) < 0.05


def test_the_noise_is_that_of_the_physics(deepinv, ours, image):
    physics, image, y, _ = measured(deepinv, "blur", image)
    asked = cosparse.reconstruct(y, physics, quality="fast")
    told = cosparse.reconstruct(y, physics, sigma=0.01, quality="fast")
    more = cosparse.reconstruct(y, physics, sigma=0.05, quality="fast")
    assert asked.weight == pytest.approx(told.weight, rel=1e-6) and told.weight < more.weight  # theirs is float32
    with pytest.raises(ValueError, match="shape: the physics has images of shape"):
        cosparse.reconstruct(y, physics, (1, 1, 8, 8))
    with pytest.raises(TypeError, match="takes nothing of deepinv"):
        cosparse.denoise(image, physics)


@pytest.mark.parametrize("algorithm", ["PGD", "HQS", "ADMM", "GD"])
@pytest.mark.parametrize("name", PHYSICS)
def test_the_prior_in_its_algorithms(deepinv, ours, image, algorithm, name):
    """Each lowers the same cost from a noisy start; few iterations: it is the fit that is tested, not the algorithm."""
    physics, image, y, _ = measured(deepinv, name, image)
    fidelity, prior, weight = deepinv.optim.L2(), ours.AnalysisPrior(iterations=10), 0.01
    start = image + 0.1 * torch.randn(image.shape, generator=torch.Generator().manual_seed(2))

    def cost(x):
        with torch.no_grad():
            return float(fidelity(x, y, physics) + weight * prior(x, None))

    solver = getattr(deepinv.optim, algorithm)(
        data_fidelity=fidelity, prior=prior, lambda_reg=weight, stepsize=1.0, max_iter=8
    )
    result = solver(y, physics, init=(start, start))
    assert cost(result) < 0.8 * cost(start)


def test_values_gradients_and_proximal_maps(ours, image):
    numpy = image[0, 0].numpy() * np.float32(255)
    value, gradient = Prior.of(cosparse.load_operator(), 15.0)(numpy)
    prior = ours.AnalysisPrior(iterations=300)
    with torch.no_grad():
        assert float(prior(image, 15 / 255)) == pytest.approx(value / 255**2, rel=1e-5)
        assert np.abs(prior.grad(image, 15 / 255)[0, 0].numpy() * 255 - gradient).max() < 1e-5 * np.abs(gradient).max()
        z = prior.prox(image, 15 / 255, gamma=0.7)
        left = z - image + 0.7 * prior.grad(z, 15 / 255)  # zero at the minimum
        first = 0.7 * prior.grad(image, 15 / 255)
    assert prior.explicit_prior and left.norm() < 0.02 * first.norm()
    both = prior.prox(image.expand(2, 1, SIDE, SIDE), 15 / 255, gamma=torch.tensor([0.7, 0.1]))
    assert torch.allclose(both[:1], z, atol=1e-4) and (both[0] - both[1]).abs().max() > 0.01


def test_the_gradient_can_be_unfolded(ours, image):
    prior = ours.AnalysisPrior()
    point = image[..., :16, :16].clone().requires_grad_(True)
    prior.grad(point).square().sum().backward()
    assert float(point.grad.abs().max()) > 0 and float(prior.prior.matrix.grad.abs().max()) > 0


@pytest.mark.parametrize("options", [{}, {"grouping": True}, {"operator": "default"}], ids=str)
def test_the_denoiser(ours, image, options):
    noisy = image + 0.1 * torch.randn(image.shape, generator=torch.Generator().manual_seed(0))
    denoiser = ours.AnalysisDenoiser(**options)
    plain = {"grouping": False, "bounds": None, **options}
    wanted = cosparse.denoise(noisy[0, 0].numpy(), 0.1, **plain)
    with torch.no_grad():
        result = denoiser(noisy, torch.tensor([0.1]))
    assert np.abs(result[0, 0].numpy() - wanted).max() < 1e-3


def test_plug_and_play(deepinv, ours, image):
    physics, image, y, by_inverse = measured(deepinv, "blur", image)
    solver = deepinv.optim.HQS(
        data_fidelity=deepinv.optim.L2(), prior=deepinv.optim.PnP(ours.AnalysisDenoiser(quality="fast")),
        stepsize=10.0, sigma_denoiser=0.03, max_iter=6,
    )  # fmt: skip
    assert psnr(image, solver(y, physics)) > by_inverse + 3


def test_a_denoiser_is_trained_through_an_unfolded_algorithm(deepinv, ours, image):
    physics, image, y, _ = measured(deepinv, "inpainting", image)
    solver = deepinv.optim.PGD(
        data_fidelity=deepinv.optim.L2(), prior=deepinv.optim.PnP(ours.AnalysisDenoiser(quality="fast")),
        stepsize=1.0, sigma_denoiser=0.05, max_iter=2, unfold=True,
    )  # fmt: skip
    (solver(y, physics) - image).square().mean().backward()
    atoms = [value for name, value in solver.named_parameters() if name.endswith("luma.atoms")]
    assert len(atoms) == 1 and float(atoms[0].grad.abs().max()) > 0
