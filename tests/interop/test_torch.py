"""The prior and the trained steps in torch: equal to the NumPy kernels, differentiable, on any device and type."""

from __future__ import annotations

import doctest
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import cosparse
from cosparse.kernels import reference
from cosparse.reconstruction.prior import Prior

torch = pytest.importorskip("torch", reason="torch is not installed; make test-torch brings it")

from cosparse.interop.torch import AnalysisPrior, StagedDenoiser, StagedSteps, tensor_prior, tensor_steps  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(scope="module")
def plane():
    from skimage.data import camera

    return camera()[100:141, 100:137].astype(np.float32)


@pytest.fixture(scope="module")
def noisy(plane):
    return plane + 20 * np.random.default_rng(0).standard_normal(plane.shape).astype(np.float32)


def small_operator(atoms=5, side=3):
    """Few atoms, with numbers of their own in every place, so that no derivative is zero by chance."""
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((atoms, side * side))
    exponents = rng.uniform(-0.5, 0.5, (2, atoms))
    return cosparse.AnalysisOperator(
        matrix, (side, side), cosparse.Penalty.log(0.5), rng.uniform(0.5, 1, atoms), {"stride": "2"},
        rng.uniform(0.02, 0.05, atoms), exponents,
    )  # fmt: skip


def small_steps():
    """Two of the shipped steps, cut down to five atoms of 3x3 and three pools."""
    rng = np.random.default_rng(2)
    k, m, n = 5, 3, 9
    shapes = {
        name: array.shape[1:] for name, array in cosparse.load_operator("staged").steps["denoise"].arrays().items()
    }
    size = {128: k, 64: m}
    arrays = {
        name: rng.uniform(-0.2, 0.2, (2, *(size.get(side, side) for side in shape))) for name, shape in shapes.items()
    }
    arrays["atoms"] = rng.standard_normal((2, k, n))
    arrays |= {"pools": rng.uniform(0.1, 1, (2, m, k)), "scale": rng.uniform(0.02, 0.05, (2, k))}
    arrays |= {"floors": rng.uniform(0.1, 1, (2, m)), "own": rng.uniform(0.2, 0.8, (2, k))}
    return cosparse.trained_steps.TrainedSteps(**arrays, stride=2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("operator, sigma", [("default", 25.0), ("default", 7.0), ("goal", 15.0)])
def test_the_prior_is_that_of_numpy(plane, operator, sigma, device):
    value, gradient = Prior.of(cosparse.load_operator(operator), sigma)(plane)
    image = torch.tensor(plane / 255, device=device)[None, None]
    prior = AnalysisPrior(operator, sigma=sigma / 255).to(device)
    with torch.no_grad():
        assert prior(image).item() * 255**2 == pytest.approx(value, rel=1e-5)
    ours = prior.gradient(image)[0, 0].cpu().numpy() * 255
    assert np.abs(ours - gradient).max() < 1e-5 * np.abs(gradient).max()
    image.requires_grad_(True)
    by_autograd = torch.autograd.grad(prior(image).sum(), image)[0][0, 0].cpu().numpy() * 255
    assert np.abs(by_autograd - gradient).max() < 1e-5 * np.abs(gradient).max()


@pytest.mark.parametrize(
    "penalty", [cosparse.Penalty.log(0.3), cosparse.Penalty.pnorm(0.4, 1.0)], ids=lambda one: one.form
)
@pytest.mark.parametrize("shape", [(1, 1), (2, 9), (11, 8), (16, 13)])
def test_any_penalty_stride_and_shape(penalty, shape):
    operator = small_operator(side=4)
    image = np.random.default_rng(0).uniform(0, 255, shape)
    for stride in (1, 3):
        value, gradient = Prior(replace(operator, exponents=None), penalty, stride)(image.astype(np.float32))
        prior = AnalysisPrior(operator, penalty=penalty, stride=stride, data_range=255.0).double()
        found, slope = prior.value_and_gradient(torch.tensor(image)[None, None])
        assert found.item() == pytest.approx(value, rel=1e-5)
        assert np.abs(slope[0, 0].detach().numpy() - gradient).max() < 1e-4 * max(1, np.abs(gradient).max())


def test_of_colours_the_prior_is_that_of_opponents(plane):
    """½‖x - y‖² + g is then the sum of what denoising each opponent minimises, over the squared norm of its row."""
    from cosparse.reconstruction.planes import GAINS, OPPONENT

    rgb = np.stack([plane, plane[::-1], plane[:, ::-1]])
    wanted = sum(
        Prior.of(cosparse.load_operator(), 20.0 * gain)(np.tensordot(row, rgb, 1))[0] / gain**2
        for row, gain in zip(OPPONENT, GAINS, strict=True)
    )
    prior = AnalysisPrior(sigma=20.0, data_range=255.0)
    assert prior(torch.tensor(rgb)[None]).item() == pytest.approx(wanted, rel=1e-5)


def test_derivatives_by_image_and_operator():
    prior = AnalysisPrior(small_operator(), sigma=0.1).double()
    image = torch.rand(2, 1, 5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)

    def value(image, matrix, weights, scale):
        parameters = {"matrix": matrix, "weights": weights, "scale": scale}
        return torch.func.functional_call(prior, parameters, (image, torch.tensor([0.1, 0.05])))

    given = image, prior.matrix, prior.weights, prior.scale
    assert torch.autograd.gradcheck(value, given)
    assert torch.autograd.gradgradcheck(value, given)
    assert torch.autograd.gradcheck(lambda one: prior.value_and_gradient(one)[1], (image,))


@pytest.mark.parametrize("quality", ["fast", "balanced"])
@pytest.mark.parametrize("sigma", [3.0, 20.0, 70.0])
def test_steps_are_those_of_numpy(noisy, quality, sigma):
    wanted = cosparse.denoise(noisy, sigma, data_range=255.0, quality=quality, grouping=False, bounds=None)
    with torch.no_grad():
        found = StagedDenoiser(quality=quality)(torch.tensor(noisy / 255)[None, None], sigma / 255)
    assert np.abs(found[0, 0].numpy() - wanted / 255).max() < 1e-5


def test_each_of_a_batch_has_its_own_noise(noisy):
    """Colours in much noise are repaired at half their size, and in little at their own."""
    rgb = torch.tensor(np.stack([noisy, noisy[::-1].copy(), noisy[:, ::-1].copy()]) / 255)
    batch, sigma = torch.stack([rgb, rgb]), torch.tensor([0.03, 0.15])
    with torch.no_grad():
        together = StagedDenoiser()(batch, sigma)
        alone = [StagedDenoiser()(rgb[None], float(level))[0] for level in sigma]
    assert torch.allclose(together, torch.stack(alone), atol=1e-6)
    assert (together[0] - together[1]).abs().max() > 0.05


def test_one_step_is_the_reference():
    steps = small_steps()
    image = np.random.default_rng(0).uniform(0, 255, (9, 8))
    step = steps.at(18.0)[1]
    wanted = reference.pooled_step(*(np.asarray(one, float) for one in step[:5]), image, (3, 3), (2, 2))
    pull, found = StagedSteps(steps, (3, 3)).double().step(1, torch.tensor(image)[None], torch.tensor([18.0]).double())
    assert np.allclose(found[0].detach(), wanted, rtol=1e-5, atol=1e-5)
    assert pull.item() == pytest.approx(step.pull, 1e-5)


def test_derivatives_through_the_steps():
    model = StagedSteps(small_steps(), (3, 3)).double()
    rng = torch.Generator().manual_seed(0)
    planes = (255 * torch.rand(2, 5, 6, dtype=torch.float64, generator=rng)).requires_grad_(True)
    names, values = zip(*model.named_parameters(), strict=True)

    def result(planes, *values):
        return torch.func.functional_call(
            model, dict(zip(names, values, strict=True)), (planes, torch.tensor([15.0, 30.0]))
        )

    assert torch.autograd.gradcheck(result, (planes, *values), eps=1e-5, atol=1e-4)


def test_what_was_trained_is_saved_and_used_by_every_task(noisy, tmp_path):
    staged = cosparse.load_operator("staged")
    model = StagedDenoiser(staged)
    rate = torch.optim.SGD(model.parameters(), lr=1e-2)
    image = torch.tensor(noisy / 255)[None, None]
    model(image, 0.08).square().mean().backward()
    rate.step()
    trained = replace(staged, steps={"denoise": model.luma.trained()})
    trained.save(tmp_path / "trained.safetensors")
    loaded = cosparse.load_operator(tmp_path / "trained.safetensors")
    with torch.no_grad():
        ours = model.luma(image[:, 0] * 255, torch.tensor([0.08 * 255]))[0].numpy()
    wanted = cosparse.denoise(noisy, 0.08 * 255, data_range=255, operator=loaded, grouping=False, bounds=None)
    before = cosparse.denoise(noisy, 0.08 * 255, data_range=255, grouping=False, bounds=None)
    assert np.abs(ours - wanted).max() < 0.05 < np.abs(before - wanted).max()  # a file holds half precision


def test_a_prior_goes_back_to_an_operator():
    operator = cosparse.load_operator("default")
    back = AnalysisPrior(operator).operator()
    assert back == operator and back.stride == operator.stride


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_other_types_come_back_as_they_are(plane, kind):
    image = torch.tensor(plane / 255).to(kind)[None, None]
    with torch.no_grad():
        result = StagedDenoiser()(image, 0.05)
    assert result.dtype == kind and AnalysisPrior().gradient(image).dtype == kind


def test_the_proximal_map(noisy):
    wanted = Prior.of(cosparse.load_operator(), 25.0).prox(noisy, 0.5)
    found = AnalysisPrior(data_range=255.0).prox(torch.tensor(noisy)[None, None], 0.5)
    assert np.abs(found[0, 0].numpy() - wanted).max() < 0.3


def test_what_cannot_be_is_said():
    with pytest.raises(ValueError, match="steps to denoise"):
        StagedDenoiser("default")
    with pytest.raises(ValueError, match=r"batch, channels, h, w"):
        AnalysisPrior()(torch.zeros(8, 8))
    with pytest.raises(ValueError, match="one for each of 2"):
        AnalysisPrior()(torch.zeros(2, 1, 8, 8), torch.tensor([0.1, 0.2, 0.3]))
    with pytest.raises(ValueError, match="stride"):
        AnalysisPrior(stride=9)
    with pytest.raises(ValueError, match="data_range"):
        AnalysisPrior(data_range=0)


@pytest.mark.parametrize("module", [tensor_prior, tensor_steps], ids=lambda one: one.__name__.rpartition(".")[2])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_cosparse_does_not_load_torch():
    code = "import sys, numpy as np, cosparse; cosparse.denoise(np.zeros((9, 9)), 0.1); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
