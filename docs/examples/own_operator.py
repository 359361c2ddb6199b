"""
An operator of your own, and when it wins
=========================================

The shipped operator knows photographs. On pictures unlike them, one that was learned from a few of their own kind is
better: the less like photographs, the more. On photographs it is not. Best of all is to go on training what is shipped.
:doc:`../own-operator` has the commands and what they gain at full length; this script shows the rule in a minute.
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from skimage import data

import cosparse
from cosparse.learning.objective import PatchSparsity

# %%
# Kinds of pictures
# -----------------
# From the left half of each operators are learned, the right half is to be repaired. All but one come with
# scikit-image; the filaments, as a fluorescence microscope sees them, are drawn. Bricks and grass were among the eight
# pictures that `goal` was learned from.


def filaments(rng, side=384):
    """Lines that wander, blurred as by a lens."""
    light = np.zeros((side, side))
    for _ in range(90):
        angle = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.02, 1200))
        path = rng.uniform(0, side, (2, 1)) + 0.25 * np.cumsum([np.sin(angle), np.cos(angle)], axis=1)
        rows, columns = path.astype(int) % side
        np.add.at(light, (rows, columns), rng.uniform(0.3, 1))
    light = gaussian_filter(light, 1.2, mode="wrap")
    return 255 * np.minimum(light / np.quantile(light, 0.995), 1)


rng = np.random.default_rng(0)
kinds = {
    "photograph": data.camera().astype(float),
    "cat": data.chelsea()[:, :, 1].astype(float),
    "bricks": data.brick().astype(float),
    "grass": data.grass().astype(float),
    "print": data.page().astype(float),
    "filaments": filaments(rng),
}

# %%
# How unlike photographs?
# -----------------------
# Take patches that nothing was learned from, and measure how sparse they are: J of :doc:`../how-it-works`, the mean
# over patches of unit norm. Once with the operator `goal`, which was learned from photographs in the paper's way,
# once with one learned from this kind in the same way. The difference is how badly photographs describe the kind.
photographs = cosparse.load_operator("goal")
sigma = 20.0
unlike, learned, shown = {}, {}, {}
for name, picture in kinds.items():
    half = picture.shape[1] // 2
    patches = cosparse.sample_patches([picture[:, :half]], count=12_000, data_range=255)
    settings = cosparse.Settings(iterations=100)
    own = learned[name] = cosparse.learn_operator(patches, settings=settings).operator
    judge = PatchSparsity(cosparse.sample_patches([picture[:, half:]], count=5_000, rng=1, data_range=255))
    costs = [judge(np.asarray(each.matrix, float), each.penalty)[0] for each in (photographs, own)]
    unlike[name] = 1 - costs[1] / costs[0]
    clean = picture[20:148, half + 10 : half + 138]
    shown[name] = clean, clean + sigma * rng.standard_normal(clean.shape)

# %%
# What is gained
# --------------
# Two comparisons of like with like, each on pictures that neither side has seen. The energy with an operator learned
# here against the energy with `goal`; and what :func:`cosparse.denoise` takes if no operator is named, the trained
# steps of `staged`, after some more training on this kind against before it. Training is short here, and the bottom of
# each half is held out to watch it.
gain, further = {}, {}
for name, picture in kinds.items():
    clean, noisy = shown[name]
    half, down = picture.shape[1] // 2, 3 * picture.shape[0] // 4
    trained = cosparse.refine_operator(
        "staged", [picture[:down, :half]], validation=[picture[down:, :half]], data_range=255,
        stages=5, sigma=sigma, steps=40, batch=4, crop=64, validations=2,
    ).operator  # fmt: skip
    ways = {"goal": photographs, "own": learned[name], "shipped": None, "trained on": trained}
    decibels = {
        way: cosparse.psnr(
            clean, cosparse.denoise(noisy, sigma, operator=operator, grouping=False, data_range=255), data_range=255
        )
        for way, operator in ways.items()
    }
    gain[name] = decibels["own"] - decibels["goal"]
    further[name] = decibels["trained on"] - decibels["shipped"]
    print(
        f"{name}: {unlike[name]:.0%} sparser by its own, {decibels['goal']:.2f} dB -> {decibels['own']:.2f} dB; "
        f"shipped {decibels['shipped']:.2f} dB, trained on {decibels['trained on']:.2f} dB"
    )

# %%
# Bricks are a photograph, and among those that `goal` was learned from; but one texture over and over is a kind of its
# own, and steps trained on it gain as well.
#
# Then what the whole of it gives, at full length, on filaments and on photographs:
# benchmarks/results/own_operator.csv, which ``python benchmarks/own_operator.py`` wrote.
script = Path(globals().get("__file__", "own_operator.py")).resolve()  # a gallery runs it in its folder, without a name
table = script.parents[2] / "benchmarks" / "results" / "own_operator.csv"
with table.open(encoding="utf-8", newline="") as file:
    rows = [row for row in csv.DictReader(file) if row["noise"] == "Gaussian 0.06"]
reached = {(row["pictures"], row["operator"]): float(row["psnr"]) for row in rows}
ways = ["goal", "learned from 8 clean", "default, refined", "learned from clean, refined", "staged, refined",
        "staged, refined longer"]  # fmt: skip
above = {
    pictures: [reached.get((pictures, way), np.nan) - reached[pictures, "staged"] for way in ways]
    for pictures in ("filaments", "photographs")
}

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.axhline(0, color="gray", lw=0.8)
across = [100 * each for each in unlike.values()]
left.scatter(across, further.values(), color="C3", marker="s", zorder=2, label="shipped, trained on, over shipped")
left.scatter(across, gain.values(), color="C0", zorder=2, label="learned, over learned from photographs")
for name in kinds:
    left.annotate(name, (100 * unlike[name], gain[name]), xytext=(6, -4), textcoords="offset points")
left.margins(x=0.22, y=0.15)
left.legend(loc="upper left", fontsize=8)
left.set_xlabel("patches sparser by an operator of their own, %")
left.set_ylabel("dB gained")
left.set_title(f"learned here, noise {sigma:.0f}")
places = np.arange(len(ways))
for shift, (pictures, values) in zip((-0.2, 0.2), above.items(), strict=True):
    right.barh(places + shift, values, 0.38, label=pictures)
right.axvline(0, color="gray", lw=0.8)
right.set_yticks(places, ways)
right.invert_yaxis()
right.set_xlabel("dB over what is shipped")
right.set_title("the benchmark, noise 0.06 of 1")
right.legend()
plt.show()

# %%
# What it has learned
# -------------------
# Atoms from print are strokes and their ends; from filaments, ridges, the finest still noise after so few iterations.
figure, axes = plt.subplots(1, 3, figsize=(11, 2.3), layout="constrained")
three = {"photographs": photographs, "print": learned["print"], "filaments": learned["filaments"]}
for axis, (name, operator) in zip(axes, three.items(), strict=True):
    axis.imshow(operator.atoms_image(), cmap="gray")
    axis.set_title(name)
    axis.axis("off")
plt.show()
