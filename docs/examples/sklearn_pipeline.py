"""
Learned atoms as features in a scikit-learn pipeline
====================================================

Three textures, brick, grass and gravel, are told apart by single patches of 8x8 pixels. An analysis operator is
learned from the patches without knowing which is which; what a linear classifier then sees is how strongly each atom
answers. Principal components stand beside it.

::

    pip install 'cosparse[sklearn]' matplotlib
    python docs/examples/sklearn_pipeline.py
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from cosparse.interop.sklearn import AnalysisOperatorLearning

# %%
# Patches of the left halves are for training, of the right halves for testing. The estimator learns from their shape
# alone; here mean and contrast are taken away from what the classifier sees, too.


def patches(picture, count, rng):
    windows = np.lib.stride_tricks.sliding_window_view(picture, (8, 8))
    rows, columns = (rng.integers(0, side, count) for side in windows.shape[:2])
    found = windows[rows, columns].reshape(count, 64).astype(float)
    found -= found.mean(axis=1, keepdims=True)
    return found / (np.linalg.norm(found, axis=1, keepdims=True) + 8)


rng = np.random.default_rng(0)
textures = {"brick": data.brick(), "grass": data.grass(), "gravel": data.gravel()}
train = np.concatenate([patches(picture[:, :256], 3000, rng) for picture in textures.values()])
test = np.concatenate([patches(picture[:, 256:], 2000, rng) for picture in textures.values()])
train_kinds, test_kinds = (np.repeat(list(textures), count) for count in (3000, 2000))

# %%
# The size of an answer matters, not its sign. How much full rank should weigh against sparsity depends on what the
# coefficients are used for: a grid search over the whole pipeline chooses.


def magnitudes(coefficients):
    return np.log(1e-2 + np.abs(coefficients))


def classified(analysis, grid):
    steps = [
        ("analysis", analysis),
        ("magnitudes", FunctionTransformer(magnitudes)),
        ("scale", StandardScaler()),
        ("classify", LogisticRegression(C=0.03)),
    ]
    return GridSearchCV(Pipeline(steps), grid, cv=2).fit(train, train_kinds)


ours = classified(AnalysisOperatorLearning(max_iter=150, random_state=0), {"analysis__kappa": [1000, 4000]})
principal = classified(PCA(), {"analysis__n_components": [32, 63]})
for name, search in (("analysis operator", ours), ("principal components", principal)):
    print(f"{name}: {100 * search.score(test, test_kinds):.1f} % right, {search.best_params_}")

# %%
# The same atoms repair pictures: the operator is that of the library.

learning = ours.best_estimator_["analysis"]
print(f"{learning.operator_} after {learning.n_iter_} iterations")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
atoms = learning.components_.reshape(8, 16, 8, 8).transpose(0, 2, 1, 3).reshape(64, 128)
left.imshow(atoms, cmap="gray")
left.set(title="128 atoms of 8x8", xticks=[], yticks=[])
right.plot(learning.objectives_)
right.set(title="the objective", xlabel="iterations")
plt.show()
