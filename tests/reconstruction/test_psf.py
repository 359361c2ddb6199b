"""Point spread functions by name."""

from __future__ import annotations

import numpy as np
import pytest

from cosparse.reconstruction.psf import FORMS, named_kernel


@pytest.mark.parametrize("name", ["gaussian:2", "box:5", "disk:3.5", "motion:9:30"])
def test_a_named_kernel_is_light_that_goes_nowhere(name):
    """It sums to one, has its middle in the middle, and no negative part; every form has one."""
    kernel = named_kernel(name)
    assert kernel.sum() == pytest.approx(1) and kernel.min() >= 0
    np.testing.assert_allclose(kernel, kernel[::-1, ::-1], atol=1e-9)
    assert name.partition(":")[0] in str(FORMS)


def test_motion_goes_the_way_it_is_told():
    """0 degrees is to the right, 90 upwards."""
    flat, upright = (named_kernel(f"motion:9:{angle}") for angle in (0, 90))
    assert (flat > 0.05).any(axis=0).sum() == 9 and (flat > 0.05).any(axis=1).sum() == 1
    np.testing.assert_allclose(upright, flat.T, atol=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "gaussian:x", "gaussian:-1", "blob:3", "motion:9", "box:0"])
def test_what_is_no_kernel_is_refused(name):
    with pytest.raises(ValueError):
        named_kernel(name)
