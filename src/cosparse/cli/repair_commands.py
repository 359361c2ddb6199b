"""The commands denoise, inpaint, upscale, deblur and deblock."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from cosparse.cli.batch import run
from cosparse.cli.console import UsageProblem
from cosparse.cli.mask_option import MaskOption, mask_image
from cosparse.cli.noise_option import NoiseOption
from cosparse.cli.on_cluster import by_tiles, run_tiles
from cosparse.cli.options import EstimatedSigma, Grouping, NoSigma, Repair, Shared, find_operator, must
from cosparse.cli.psf_option import made_by, point_spread
from cosparse.jpeg import Jpeg
from cosparse.reconstruction.holes import FILLS
from cosparse.reconstruction.reductions import FACTORS, USUAL
from cosparse.reconstruction.tasks import TASKS

_near = must("lie in 0..255", lambda value: 0 <= value <= 255)
_factors = must("be 1.5, 2, 3, 4 or 8", FACTORS.__contains__)
_fills = must("be auto, smooth or copy", FILLS.__contains__)
_borders = must("be replicate or periodic", {"replicate", "periodic"}.__contains__)

Mask = Annotated[str, Option(metavar="MASK", help="What is missing: see above.", show_default=False)]
Tolerance = Annotated[float, Option(metavar="0..255", help="Of '#rrggbb'.", callback=_near)]
Grow = Annotated[int, Option(metavar="PIXELS", help="Widen the mask.", min=0, max=100)]
HowFilled = Annotated[str, Option(metavar="auto|smooth|copy", help="How: see above.", callback=_fills)]
Source = Annotated[str | None, Option(metavar="IMAGE", help="White where may be copied from.", show_default=False)]
Seed = Annotated[int, Option(metavar="N", help="Another fills wide holes another way.", min=0)]
Factor = Annotated[float, Option(metavar="1.5|2|3|4|8", help="How many times larger.", callback=_factors)]
Kernel = Annotated[str, Option(metavar="KERNEL", help="The blur: see above.", show_default=False)]
MadeBy = Annotated[str, Option("--kernel", metavar="KERNEL", help="How IN was made smaller: see above.")]
JpegQuality = Annotated[int | None, Option(metavar="1..100", help="How what is no JPEG now was saved.", min=1, max=100)]
Border = Annotated[str, Option(metavar="replicate|periodic", help="What lies beyond the border.", callback=_borders)]


def repairing(asked: Callable[..., dict[str, Any]]) -> Callable[..., None]:
    """The command of the task that `asked` is named after: its options are those of `asked` and of all repairs.

    `asked` returns the task's own options, as the library takes them. Typer reads the options of a command off its
    signature, so that is put together here.
    """

    def command(**given: Any) -> None:
        shared = {name: given.pop(name) for name in common}
        wanted = asked(**given)
        kind, sigma = shared["noise"], wanted.pop("sigma", None)
        if kind is not None and sigma:
            raise UsageProblem("--sigma, --noise: say how noisy the pictures are by one of them")
        options = Repair(
            task=TASKS[asked.__name__], prior=find_operator(shared["operator"]), sigma=sigma,
            mask=wanted.pop("mask", None), own=wanted, noise_kind=kind and NoiseOption.of(kind), **shared,
        )  # fmt: skip
        run_tiles(options) if by_tiles(options) else run(options)

    common = inspect.signature(Shared, eval_str=True).parameters
    paths, output, *others = common.values()
    own = inspect.signature(asked, eval_str=True).parameters.values()
    named = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in own]
    command.__name__, command.__doc__ = asked.__name__, asked.__doc__
    command.__dict__["__signature__"] = inspect.Signature([paths, output, *named, *others])
    return command


@repairing
def denoise(sigma: EstimatedSigma = None, grouping: Grouping = True) -> dict[str, Any]:
    """Remove noise.

    IN: files, folders, patterns, or - for stdin. OUT: a file, a folder for
    several, - for stdout; left out, photo.png becomes photo.denoised.png. Of
    several, those whose result exists are skipped; --force does them again.
    """
    return {"sigma": sigma, "grouping": grouping}


@repairing
def inpaint(
    mask: Mask,
    tolerance: Tolerance = 20.0,
    grow: Grow = 0,
    sigma: NoSigma = 0.0,
    grouping: Grouping = True,
    fill: HowFilled = "auto",
    source: Source = None,
    seed: Seed = 0,
) -> dict[str, Any]:
    """Fill in missing pixels: scratches, text, holes.

    IN and OUT as for denoise. MASK: an image (white is missing), a folder of
    them, alpha (what is transparent), '#rrggbb' (what is painted so), or nan.
    Wide holes are filled from elsewhere in the picture; --fill smooth does not,
    --fill copy fills all so.
    """
    given = {
        "mask": MaskOption(mask, tolerance, grow),
        "sigma": sigma,
        "grouping": grouping,
        "fill": fill,
        "seed": seed,
    }
    return given if source is None else {**given, "source": mask_image(Path(source), "--source")}


@repairing
def upscale(factor: Factor = 2, kernel: MadeBy = USUAL, sigma: NoSigma = 0.0) -> dict[str, Any]:
    """Enlarge 1.5, 2, 3, 4 or 8 times, with sharper edges than interpolation.

    IN and OUT as for denoise; OUT left out, photo.png becomes
    photo.upscaled.png. KERNEL: what made IN small: bicubic, lanczos, box (mean
    of blocks), gaussian (a soft blur), or an image of what a point became.
    """
    return {"factor": factor if factor % 1 else int(factor), "kernel": made_by(kernel), "sigma": sigma}


@repairing
def deblur(kernel: Kernel, sigma: EstimatedSigma = None, border: Border = "replicate") -> dict[str, Any]:
    """Undo a known blur.

    IN and OUT as for denoise. KERNEL: gaussian:SIGMA, box:SIDE, disk:RADIUS,
    motion:LENGTH:ANGLE, or an image of what one bright point became.
    """
    return {"kernel": point_spread(kernel), "sigma": sigma, "border": border}


@repairing
def deblock(jpeg_quality: JpegQuality = None) -> dict[str, Any]:
    """Undo the blocks and the ringing of a JPEG.

    IN and OUT as for denoise; OUT is best a PNG. The tables are the file's own;
    of one that was saved twice, the coarser ones if they still show. A picture
    that was a JPEG once needs --jpeg-quality, and must not have been cropped.
    """
    return {} if jpeg_quality is None else {"quantization": Jpeg.standard(jpeg_quality)}
