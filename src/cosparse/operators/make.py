"""Make the shipped operators again.

    python -m cosparse.operators.make default
    python -m cosparse.operators.make large --images data/train/goal

learns an operator and writes it beside this file, or to --output. `default` is learned from photographs that come with
scikit-image, `large` from the training images of the paper's authors. On the same machine and library versions the
atoms are the same to the last bit; on others they agree to rounding.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from pathlib import Path

from cosparse.learning import LearnResult, learn_operator
from cosparse.operator import AnalysisOperator
from cosparse.optimize import Settings
from cosparse.patches import sample_patches
from cosparse.penalty import Penalty

HERE = Path(__file__).parent

# Photographs and textures in every installation of scikit-image. Those the demo shows (camera, chelsea) stay out.
PHOTOGRAPHS = (
    "astronaut.png", "coffee.png", "motorcycle_left.png", "rocket.jpg",
    "brick.png", "grass.png", "gravel.png", "coins.png",
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """The arguments of sample_patches and learn_operator."""

    size: int
    rows: int
    count: int
    kappa: float
    mu: float
    nu: float
    iterations: int
    images: str = "scikit-image: " + ", ".join(PHOTOGRAPHS)


RECIPES = {
    "default": Recipe(size=8, rows=128, count=100_000, kappa=4000, mu=0.2, nu=3000, iterations=500),
    "large": Recipe(
        size=12, rows=288, count=150_000, kappa=12000, mu=0.5, nu=3000, iterations=600,
        images="the GOAL authors' training images: biker, haus-sonnenstrahl-10, skyline, woman1",
    ),
}


def photographs() -> list[Path]:
    """Where scikit-image keeps them."""
    import skimage.data

    folder = Path(skimage.data.__file__).parent
    return [folder / name for name in PHOTOGRAPHS]


def make(name: str, images: list[Path]) -> LearnResult:
    """Follow a recipe."""
    recipe = RECIPES[name]
    patches = sample_patches(images, recipe.size, recipe.count, rng=0)
    result = learn_operator(
        patches,
        recipe.rows,
        penalty=Penalty.log(recipe.nu),
        kappa=recipe.kappa,
        mu=recipe.mu,
        settings=Settings(iterations=recipe.iterations, step_tolerance=0),
    )
    operator = result.operator
    provenance = {
        **operator.provenance,
        "name": name,
        "command": f"python -m cosparse.operators.make {name}"
        + (" --images data/train/goal" if name == "large" else ""),
        "images": recipe.images,
    }
    named = AnalysisOperator(
        operator.matrix, operator.patch_shape, operator.penalty, operator.weights, provenance
    )
    return dataclasses.replace(result, operator=named)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m cosparse.operators.make", description=__doc__)
    parser.add_argument("name", choices=sorted(RECIPES))
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--images", type=Path, help="folder of training images (needed for large)")
    arguments = parser.parse_args()
    if arguments.images is None and arguments.name == "large":
        parser.error("large: needs --images, the folder with the paper's training images")
    target = arguments.output or HERE / f"{arguments.name}.safetensors"
    result = make(arguments.name, [arguments.images] if arguments.images else photographs())
    result.operator.save(target)
    parser.exit(0, f"{target}: {result.operator}, {result.iterations} iterations, {result.stop.value}\n")


if __name__ == "__main__":
    main()
