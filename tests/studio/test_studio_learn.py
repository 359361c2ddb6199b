"""The tabs Learn and Look inside, and how an operator gets from one to the other."""

from __future__ import annotations

import re

import numpy as np
from steps import damage, download, figures, more, open_picture, repair, upload

import cosparse


def test_learn_an_operator_and_use_it(browse, picture_file, photograph, other_photograph):
    page = browse()
    page.get_by_role("tab", name="Look inside").click()
    page.get_by_text("Choose a picture in Repair").wait_for()
    page.get_by_role("tab", name="Learn").click()
    files = [picture_file("a.png", other_photograph), picture_file("b.png", photograph[:64])]
    upload(page, files, "Drop a few pictures here, or choose them")
    page.locator("#learn-status").get_by_text("Learning from a.png, b.png").wait_for()
    page.get_by_text("4x4", exact=True).click()
    page.wait_for_function("document.querySelector('[aria-label=\"number input for Atoms\"]').value === '32'")
    page.get_by_label("number input for Patches").fill("20000")
    page.get_by_label("number input for Iterations").fill("150")
    page.get_by_label("number input for Iterations").press("Tab")
    page.evaluate(
        """() => {
          const atoms = document.querySelector('#learn-atoms');
          window.seen = new Set();
          new MutationObserver(() => window.seen.add(atoms.querySelector('img')?.src)).observe(
            atoms, { childList: true, subtree: true, attributes: true });
        }"""
    )
    page.locator("#learn").click()
    page.locator("#learn-figures a.download").wait_for()
    assert len(page.evaluate("[...window.seen]")) > 2  # they were shown while they took shape
    label = page.locator("#learn-curve svg").get_attribute("aria-label")
    start, end = map(float, re.match(r"objective over iteration: from (\S+) to (\S+)", label).groups())
    assert end < start
    path = download(page, "#learn-figures a.download")
    saved = path.rename(path.with_suffix(".safetensors"))
    operator = cosparse.load_operator(saved)
    assert operator.shape == (32, 16)

    page.locator("#use").click()
    open_picture(page, picture_file("cameraman.png", photograph[:96, :96]))
    more(page)
    assert page.locator("#operator input").input_value() == "mine (32 atoms of 4x4)"
    damage(page, "noise")
    repair(page)
    own = figures(page)
    assert own["PSNR after"] > own["PSNR before"] + 4
    page.get_by_role("tab", name="Look inside").click()
    page.locator("#inside-energy svg").wait_for()
    means = page.locator("#inside-map figcaption")
    before, after = (float(re.search(r"(\d+) on average", text)[1]) for text in means.all_inner_texts())
    assert after < before  # the repair has silenced atoms
    assert page.locator("#inside-values svg").count() == 1
    energies = page.locator("#inside-energy svg").get_attribute("aria-label")
    high, low = map(float, re.search(r"from (\S+) to (\S+)", energies).groups())
    assert low < high

    # The downloaded file, in another browser, gives the same picture.
    other = browse()
    open_picture(other, picture_file("cameraman.png", photograph[:96, :96]))
    more(other)
    upload(other, saved, "Add an operator file")
    other.locator("#status").get_by_text("is ready and chosen as the operator").wait_for()
    damage(other, "noise")
    repair(other)
    assert figures(other) == own


def test_cancelled_learning_keeps_what_there_is(browse, server):
    page = browse()
    page.get_by_role("tab", name="Learn").click()
    page.get_by_label("number input for Patches").fill("100000")  # long enough that a slow browser is in time
    page.get_by_label("number input for Iterations").fill("600")
    page.get_by_label("number input for Iterations").press("Tab")
    page.locator("#learn").click()
    page.locator("#learn-status", has_text=re.compile(r"Iteration \d+ of 600")).wait_for()
    page.locator("#learn-cancel").click()
    page.locator("#learn-status").get_by_text("the operator so far is kept, as 'mine'").wait_for()
    count = int(re.search(r"after (\d+) iterations", page.locator("#learn-status").inner_text())[1])
    assert 0 < count < 600
    page.locator("#learn:enabled:not(.busy)").wait_for()
    page.locator("#use").click()
    page.locator("#repair").wait_for()


def test_too_flat_to_learn_from(browse, picture_file):
    page = browse()
    page.get_by_role("tab", name="Learn").click()
    upload(page, picture_file("grey.png", np.full((40, 40), 99, np.uint8)), "Drop a few pictures here, or choose them")
    page.locator("#learn-status").get_by_text("Learning from grey.png").wait_for()
    page.locator("#learn").click()
    page.locator("#learn-status [role=alert]", has_text="too few patches").wait_for()
    page.locator("#learn:enabled:not(.busy)").wait_for()
