"""
The lemmas of the paper, as experiments
=======================================

Four lemmas say why learning is posed as it is (:doc:`../how-it-works`). Each can be seen in a few lines.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import camera

import cosparse
from cosparse.learning.objective import coherence_barrier, rank_penalty
from cosparse.optimize import Oblique, Settings, conjugate_gradient

rng = np.random.default_rng(0)
oblique = Oblique()
n, k = 9, 18

# %%
# Lemma 1
# -------
# For unit rows, det(XᵀX/k) lies between 0 and (1/n)ⁿ, so that h = -log det(XᵀX/k) / (n log n) is at least one. Random
# matrices approach this as they get more rows, and none goes below it.
heights = {
    rows: [rank_penalty(oblique.random_point(rows, n, rng))[0] for _ in range(200)] for rows in (9, 12, 18, 36, 72, 288)
}
least = min(min(values) for values in heights.values())
print(f"Lemma 1: the smallest h of {200 * len(heights)} random matrices is {least:.4f}")
assert least >= 1

# %%
# Lemma 2
# -------
# The cosine between two rows is one or less, and one only if they are the same but for the sign: r = -Σ log(1 -
# cosine²) grows without bound as a second row is turned onto the first.
angles = np.geomspace(1e-4, math.pi / 2, 60)
barrier = [coherence_barrier(np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]]))[0] for angle in angles]
print(f"Lemma 2: r is {abs(barrier[-1]):.0f} at right angles, {barrier[0]:.1f} at an angle of {angles[0]:.0e}")

# %%
# Lemma 3
# -------
# Where h is least, all singular values are equal. Minimising h alone, by the conjugate gradient on the manifold that
# learns operators, ends at a condition number of one.
conditions = []


def note(state):
    singular = np.linalg.svd(state.point, compute_uv=False)
    conditions.append(singular[0] / singular[-1])


start = oblique.random_point(k, n, rng)
conjugate_gradient(rank_penalty, oblique, start, Settings(iterations=60), callback=note)
print(f"Lemma 3: condition {conditions[0]:.2f} after the first step, {conditions[-1]:.6f} after {len(conditions)}")
assert conditions[-1] < 1.001

# %%
# Lemma 4
# -------
# Two entries of an analysed patch differ by no more than √(2 - 2 cosine)·‖s‖: two atoms that are alike give answers
# that are alike, and if one is large the other cannot be small.
operator = cosparse.load_operator("goal")
atoms = operator.matrix / np.linalg.norm(operator.matrix, axis=1, keepdims=True)
patches = cosparse.sample_patches([camera()], count=2000)
answers = patches @ atoms.T
pairs = rng.integers(0, len(atoms), (3000, 2))
cosines = (atoms[pairs[:, 0]] * atoms[pairs[:, 1]]).sum(axis=1)
apart = np.abs(answers[:, pairs[:, 0]] - answers[:, pairs[:, 1]]).max(axis=0) / np.linalg.norm(patches, axis=1).max()
bound = np.sqrt(np.maximum(2 - 2 * cosines, 0))
print(f"Lemma 4: the largest difference is {(apart / np.where(bound > 0, bound, np.inf)).max():.2f} of the bound")
assert (apart <= bound + 1e-5).all()

# %%
# What κ and μ do
# ---------------
# Lemma 3 promises a condition number nearer to one for a larger κ, Lemma 4 makes one want the low coherence that a
# larger μ brings. Learned from the same patches:
small = cosparse.sample_patches([camera()], size=5, count=10_000)
settings = Settings(iterations=80)
by_kappa = {
    kappa: cosparse.learn_operator(small, 48, kappa=kappa, mu=0.2, settings=settings).operator.condition
    for kappa in (30.0, 100.0, 300.0, 1000.0, 4000.0)
}
by_mu = {
    mu: cosparse.learn_operator(small, 48, kappa=1000.0, mu=mu, settings=settings).operator.coherence
    for mu in (0.001, 0.1, 1.0, 10.0, 100.0)
}
for kappa, condition in by_kappa.items():
    print(f"kappa {kappa:g}: condition {condition:.2f}")
for mu, coherence in by_mu.items():
    print(f"mu {mu:g}: coherence {coherence:.2f}")

# %%
figure, axes = plt.subplots(2, 3, figsize=(11, 6.4), layout="constrained")
axes[0, 0].boxplot(heights.values(), tick_labels=[str(rows) for rows in heights])
axes[0, 0].axhline(1, color="C3")
axes[0, 0].set(title="Lemma 1: h ≥ 1", xlabel="rows of a random matrix, n = 9", ylabel="h")
axes[0, 1].semilogx(angles, barrier)
axes[0, 1].set(title="Lemma 2: no two rows alike", xlabel="angle between two rows", ylabel="r")
axes[0, 2].plot(conditions)
axes[0, 2].set(title="Lemma 3: least h, condition 1", xlabel="iteration", ylabel="condition number")
axes[1, 0].scatter(cosines, apart, s=2)
line = np.linspace(-1, 1, 100)
axes[1, 0].plot(line, np.sqrt(2 - 2 * line), color="C3")
axes[1, 0].set(title="Lemma 4: like atoms, like answers", xlabel="cosine of two atoms", ylabel="largest difference")
axes[1, 1].semilogx(list(by_kappa), list(by_kappa.values()), "o-")
axes[1, 1].set(title="a larger κ", xlabel="κ", ylabel="condition number")
axes[1, 2].semilogx(list(by_mu), list(by_mu.values()), "o-")
axes[1, 2].set(title="a larger μ", xlabel="μ", ylabel="coherence")
plt.show()
