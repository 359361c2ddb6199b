"""The kinds of noise on the page, in a real browser: stated, estimated, mapped, and removed in part."""

from __future__ import annotations

import numpy as np
import pytest
from steps import choose, choose_noise, damage, downloaded, figures, open_picture, repair, upload

import cosparse
from cosparse.io.picture import Picture
from cosparse.noise import Correlated, Gaussian, Map, PoissonGaussian
from cosparse.studio import noise_seen
from cosparse.studio.page_pictures import Source, reduced


def clipped(values: np.ndarray) -> np.ndarray:
    return values.clip(0, 255).round().astype(np.uint8)


def test_photons_that_are_stated(browse, picture_file, photograph):
    page = browse()
    open_picture(page, picture_file("cells.png", photograph[:128, :128]))
    choose_noise(page, "Photons")
    page.get_by_label("range slider for Noise σ").wait_for(state="hidden")
    page.get_by_label("Gain").fill("")
    page.locator("#repair").click()
    page.locator("#status [role=alert]", has_text="give the gain").wait_for()
    page.get_by_label("Gain").fill("12")
    page.get_by_label("Read noise").fill("3")
    damage(page, "photon noise of gain 12 added")
    repair(page)
    stated = figures(page)
    choose_noise(page, "One level")
    page.get_by_label("range slider for Noise σ").wait_for()
    repair(page)
    assert stated["PSNR after"] > stated["PSNR before"] + 6
    assert stated["PSNR after"] > figures(page)["PSNR after"] + 0.2


def test_the_estimate_is_drawn(browse, picture_file, photograph):
    page = browse()
    page.locator("#noise-seen", has_text="Choose a picture").wait_for()
    noisy = PoissonGaussian(4.0, 2.0).sample(photograph, 0)
    open_picture(page, picture_file("night.png", clipped(noisy)))
    assert "Noise: " in page.locator("#status").inner_text()
    centres = page.locator("#noise-seen svg circle").evaluate_all(
        "dots => dots.map((dot) => [dot.cx.baseVal.value, dot.cy.baseVal.value])"
    )
    across, down = np.array(centres).T
    assert len(centres) >= 4
    assert np.corrcoef(across, down)[0, 1] < -0.9  # the brighter, the noisier; up is less
    page.locator("#noise-seen svg polyline").wait_for(state="attached")
    choose_noise(page, "Photons")  # which begins with what fits
    assert float(page.get_by_label("Gain").input_value()) == pytest.approx(4, rel=0.25)
    choose_noise(page, "Automatic")
    page.locator("#noise-seen").wait_for()
    choose(page, "Inpaint")  # which begins without any
    page.locator("#noise-seen").wait_for(state="hidden")
    assert page.get_by_label("None").is_checked()


def test_grain_and_colour_noise_apart(browse, picture_file):
    from skimage.data import coffee

    page = browse()
    truth = coffee()[40:112, 200:288]
    noisy = clipped(truth + np.random.default_rng(0).normal(0, 25, (72, 88, 3)))
    open_picture(page, picture_file("party.png", noisy))
    page.get_by_label("number input for Grain to remove").fill("0")
    page.get_by_label("number input for Grain to remove").press("Tab")
    repair(page)
    without = downloaded(page).pixels.astype(float)
    grain = without.mean(axis=-1) - noisy.mean(axis=-1)
    assert np.sqrt(np.mean(grain**2)) < 1.5  # what brightness had is still there, but for values cut off
    assert np.std(without[..., 0] - without[..., 2]) < 0.8 * np.std(noisy[..., 0].astype(float) - noisy[..., 2])
    page.get_by_label("number input for Grain to remove").fill("1")
    page.get_by_label("number input for Grain to remove").press("Tab")
    repair(page)
    whole = downloaded(page).pixels
    assert cosparse.psnr(truth, whole) > cosparse.psnr(truth, clipped(without)) + 2
    open_picture(page, picture_file("grey.png", noisy[..., 1]))
    page.get_by_label("number input for Colour noise").wait_for(state="hidden")


def test_a_map_of_the_noise(browse, picture_file, photograph):
    page = browse()
    levels = np.linspace(4, 60, 96)[None] * np.ones((80, 1))
    open_picture(page, picture_file("rim.png", photograph[:80, :96]))
    choose_noise(page, "A map")
    page.locator("#repair").click()
    page.locator("#status [role=alert]", has_text="no noise map yet").wait_for()
    for name, wrong, said in (("a.png", levels[:50], "they must agree"), ("b.png", 0 * levels, "black pixels")):
        upload(page, picture_file(name, clipped(wrong)), "Add a noise map")
        page.locator("#status [role=alert]", has_text=said).wait_for()
    upload(page, picture_file("levels.png", clipped(levels)), "Add a noise map")
    page.locator("#noise-map img").wait_for()
    damage(page, "noise by the map added")
    repair(page)
    assert figures(page)["Gain"] > 5
    open_picture(page, picture_file("other.png", photograph[:64, :64]))  # to which the map does not belong
    page.locator("#noise-map img").wait_for(state="detached")


def test_a_large_picture_is_looked_at_in_part(photograph):
    large = np.tile(photograph, (16, 20)).astype(float)
    noisy = clipped(large + np.random.default_rng(0).normal(0, 12, large.shape))
    seen = noise_seen.look(Source("large.png", Picture(noisy)))
    assert noise_seen.part(noisy).size < 2 * noise_seen.PART < large.size
    assert seen.level == pytest.approx(12, rel=0.1)


@pytest.mark.parametrize(
    "noise",
    [
        Gaussian(8.0),
        Map(np.linspace(5, 20, 240)[None] * np.ones((240, 1))),
        PoissonGaussian(2.0, 3.0, 10.0),
        Correlated(8.0, kernel=np.ones((2, 2))),
    ],
    ids=lambda noise: type(noise).__name__,
)
def test_noise_of_a_reduced_picture(noise):
    flat = np.full((240, 240), 90.0)
    small = reduced(noise.sample(flat, 0), 3)[0]
    expected = noise_seen.reduced_noise(noise, 3)
    assert np.std(small - 90) == pytest.approx(np.sqrt(expected.variance(small).mean()), rel=0.05)


def test_words_say_what_was_found():
    def said(noise) -> str:
        levels = np.sqrt(noise.variance(np.linspace(0, 255, 400).reshape(20, 20)))
        return noise_seen.in_words(noise_seen.Estimate(noise, (), levels))

    assert said(Gaussian(3.0)) == "much the same everywhere: σ = 3.0 of 255."
    assert said(PoissonGaussian(2.0, 1.0)).endswith("σ is 3.3 in the dark and 22.4 in the light.")
    assert "from 2.1 to 8.9. This is a guess" in said(Map(np.linspace(2, 9, 400).reshape(20, 20), confidence=0.2))
    assert said(Correlated(4.0, kernel=np.ones((1, 3)), confidence=0.9)).endswith("σ = 4.0. This is quite sure.")
