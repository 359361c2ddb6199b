"""Make the shipped operators again.

    python -m cosparse.operators.make goal
    python -m cosparse.operators.make goal-large --images data/train/goal
    python -m cosparse.operators.make default --images data/train/bsd400 --checkpoint default.ckpt
    python -m cosparse.operators.make staged --images data/train/bsd400 --colours photos --checkpoint staged.ckpt

learns or refines an operator and writes it beside this file, or to --output. `goal` is learned the paper's way from
photographs that come with scikit-image, `goal-large` from the training images of the paper's authors; `default` goes on
from `goal`, refined for denoising on the training photographs of BSD, and `staged` from `default`, with trained steps.
On the same machine and library versions the atoms are the same to the last bit; on others they agree to rounding.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cosparse.io.find import find_images
from cosparse.learning.goal import LearnKeywords, learn_operator
from cosparse.operator import AnalysisOperator
from cosparse.optimize import Settings
from cosparse.patches import sample_patches
from cosparse.penalty import Penalty
from cosparse.refinement.train import refine_operator
from cosparse.refinement.training import RefineKeywords, RefineResult

HERE = Path(__file__).parent
UNIT = 2.0**-11  # learned atoms are kept in multiples of it: in half precision they are, and files half as large

# Photographs and textures in every installation of scikit-image. Those the demo shows (camera, chelsea) stay out.
PHOTOGRAPHS = (
    "astronaut.png", "coffee.png", "motorcycle_left.png", "rocket.jpg",
    "brick.png", "grass.png", "gravel.png", "coins.png",
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """The arguments of sample_patches and learn_operator."""

    size: int
    count: int
    rows: int
    learning: LearnKeywords
    images: str = "scikit-image: " + ", ".join(PHOTOGRAPHS)


@dataclass(frozen=True)
class Refinement:
    """The arguments of refine_operator; of a staged operator, those of its other steps too.

    `rougher`, if there is any, are those of a second run, from what the first ended with. Of the images, number
    `held_out` and every twentieth after it in the order of names are held out.
    """

    start: str
    training: RefineKeywords
    fast: RefineKeywords | None = None
    others: tuple[RefineKeywords, ...] = ()  # steps for other tasks, beside them
    rougher: RefineKeywords | None = None
    colours: RefineKeywords | None = None  # and for colours, on images of their own
    held_out: int = 7
    images: str = "BSD: the 400 training photographs of 180x180, 20 of them held out"


def _log(kappa: float, mu: float, iterations: int) -> LearnKeywords:
    settings = Settings(iterations=iterations, step_tolerance=0)
    return {"penalty": Penalty.log(3000), "kappa": kappa, "mu": mu, "settings": settings}


RECIPES: dict[str, Recipe | Refinement] = {
    "default": Refinement("goal", {"sigma": (5.0, 50.0), "stride": 2, "steps": 1000, "batch": 16, "crop": 72}),
    "staged": Refinement(
        "default",
        {"sigma": (4.0, 60.0), "stages": 5, "pools": 64, "steps": 19_000, "batch": 8, "crop": 72, "validations": 38},
        {"sigma": (4.0, 60.0), "stages": 4, "pools": 32, "steps": 12_000, "batch": 8, "crop": 72, "validations": 24},
        (
            {"task": "deblock", "sigma": (4.2, 18.6), "stages": 4, "pools": 32, "steps": 3500, "batch": 4, "crop": 96},
            {"task": "upscale", "sigma": 0, "stages": 3, "pools": 32, "steps": 12_000, "batch": 4, "crop": 120},
            {"task": "inpaint", "sigma": 0, "stages": 3, "pools": 32, "steps": 6000, "batch": 4, "crop": 120},
        ),
        {"rough": True, "steps": 9_000, "batch": 4, "crop": 128, "rate": 0.6, "validations": 36},
        {"task": "colours", "sigma": (10.0, 75.0), "stages": 4, "pools": 32, "steps": 10_000, "batch": 8, "crop": 96},
        held_out=9,
    ),
    "goal": Recipe(size=8, count=100_000, rows=128, learning=_log(kappa=4000, mu=0.2, iterations=500)),
    "goal-large": Recipe(
        size=12, count=150_000, rows=288, learning=_log(kappa=12000, mu=0.5, iterations=600),
        images="the GOAL authors' training images: biker, haus-sonnenstrahl-10, skyline, woman1",
    ),
}  # fmt: skip


def photographs() -> list[Path]:
    """Where scikit-image keeps them."""
    import skimage.data

    folder = Path(skimage.data.__file__).parent
    return [folder / name for name in PHOTOGRAPHS]


def make(
    name: str, images: Path | None, checkpoint: Path | None = None, colours: Path | None = None
) -> tuple[AnalysisOperator, str]:
    """Follow a recipe; the operator, and how it went. Without images in colour it has no steps for them."""
    recipe = RECIPES[name]
    if isinstance(recipe, Refinement):
        assert images is not None
        operator, story = _refine(recipe, images, checkpoint)
        if recipe.colours is not None and colours is not None:
            beside = None if checkpoint is None else checkpoint.with_name(f"{checkpoint.name}.colours")
            found = refine_operator(operator, colours, checkpoint=beside, **recipe.colours)
            operator, story = found.operator, f"{story}; colours: {found.psnr:.3f}"
    else:
        operator, story = _learn(recipe, [images] if images else photographs(), checkpoint)
    command = f"python -m cosparse.operators.make {name}"
    if images is not None:
        command += f" --images data/train/{images.name}"
    provenance = {**operator.provenance, "name": name, "command": command, "images": recipe.images}
    return dataclasses.replace(operator, provenance=provenance), story


def _learn(recipe: Recipe, images: list[Path], checkpoint: Path | None) -> tuple[AnalysisOperator, str]:
    patches = sample_patches(images, recipe.size, recipe.count, rng=0)
    result = learn_operator(patches, recipe.rows, checkpoint=checkpoint, **recipe.learning)
    return rounded(result.operator), f"{result.iterations} iterations, {result.stop.value}"


def rounded(operator: AnalysisOperator) -> AnalysisOperator:
    """With atoms of multiples of `UNIT`, each still of sum zero.

    Rounded one by one they would see the mean a little, which shows where there is no noise: an image of half its
    pixels lost 0.008 dB so.
    """
    values = operator.matrix.astype(float) / UNIT
    near = np.rint(values)
    for atom, exact in zip(near, values, strict=True):
        excess = int(atom.sum())
        furthest = np.argsort(np.sign(excess) * (exact - atom), kind="stable")[: abs(excess)]
        atom[furthest] -= np.sign(excess)
    return dataclasses.replace(operator, matrix=(near * UNIT).astype(np.float32))


def _refine(recipe: Refinement, folder: Path, checkpoint: Path | None) -> tuple[AnalysisOperator, str]:
    files = find_images(folder)
    held_out = files[recipe.held_out :: 20]
    training = [file for file in files if file not in set(held_out)]

    def run(settings: RefineKeywords, ending: str) -> RefineResult:
        beside = None if checkpoint is None else checkpoint.with_name(checkpoint.name + ending)
        result = refine_operator(recipe.start, training, validation=held_out, checkpoint=beside, **settings)
        if recipe.rougher is None:
            return result
        more: RefineKeywords = {**settings, **recipe.rougher}
        beside = beside and beside.with_name(beside.name + ".rough")
        return refine_operator(result.operator, training, validation=held_out, checkpoint=beside, **more)

    result = run(recipe.training, "")
    curve = ", ".join(f"{step}: {value:.3f}" for step, value in result.validations)
    story = f"dB on held-out photographs after steps {curve}; {result.dropped} crops dropped"
    steps = dict(result.operator.steps)
    if recipe.fast is not None:
        fast = run(recipe.fast, ".fast")
        steps["denoise fast"] = fast.operator.steps["denoise"]
        story += f"; fast: {fast.psnr:.3f}"
    operator = dataclasses.replace(result.operator, steps=steps)
    for settings in recipe.others:
        beside = None if checkpoint is None else checkpoint.with_name(f"{checkpoint.name}.{settings['task']}")
        more = refine_operator(operator, training, validation=held_out, checkpoint=beside, **settings)
        operator, story = more.operator, f"{story}; {settings['task']}: {more.psnr:.3f}"
    return operator, story


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m cosparse.operators.make", description=__doc__)
    parser.add_argument("name", choices=sorted(RECIPES))
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--images", type=Path, help="folder of training images (needed for all but goal)")
    parser.add_argument("--colours", type=Path, help="folder of photographs in colour, for staged")
    parser.add_argument("--checkpoint", type=Path, help="keep the state of the run here, and go on from it")
    arguments = parser.parse_args()
    if arguments.images is None and arguments.name != "goal":
        parser.error(f"{arguments.name}: needs --images, the folder that the command in operators/README.md names")
    target = arguments.output or HERE / f"{arguments.name}.safetensors"
    operator, story = make(arguments.name, arguments.images, arguments.checkpoint, arguments.colours)
    operator.save(target)
    parser.exit(0, f"{target}: {operator}, {story}\n")


if __name__ == "__main__":
    main()
