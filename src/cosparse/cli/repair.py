"""The commands denoise, inpaint, upscale and deblur."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, overload

import numpy as np
import typer

import cosparse
from cosparse.cli.batch import Done, run
from cosparse.cli.blurs import point_spread
from cosparse.cli.console import UsageProblem
from cosparse.cli.files import Job
from cosparse.cli.masks import mask_maker
from cosparse.cli.options import (
    DataRange,
    EstimatedSigma,
    Force,
    Format,
    Grouping,
    Json,
    Level,
    NoSigma,
    Operator,
    Output,
    Paths,
    Quality,
    Reference,
    Repair,
    Scheduler,
    Tile,
    Weight,
    gather,
)
from cosparse.cli.spread import by_tiles, run_tiles
from cosparse.images import Picture, default_range
from cosparse.pictures import enlarged_like
from cosparse.reconstruction.start import enlarge

Callback = Callable[[cosparse.Progress], object]
Border = Annotated[
    str,
    typer.Option("--border", metavar="replicate|periodic", help="What lies beyond the border."),
]


def denoise(
    paths: Paths,
    output: Output = None,
    sigma: EstimatedSigma = None,
    operator: Operator = "default",
    weight: Weight = None,
    quality: Level = Quality.balanced,
    grouping: Grouping = True,
    format: Format = None,
    reference: Reference = None,
    force: Force = False,
    data_range: DataRange = None,
    scheduler: Scheduler = None,
    tile: Tile = None,
    json: Json = False,
) -> None:
    """Remove noise.

    IN: files, folders, patterns, or - for stdin. OUT: a file, a folder for
    several, - for stdout; left out, photo.png becomes photo.denoised.png. Of
    several, those whose result exists are skipped; --force does them again.
    """
    options = gather(
        paths, output, operator, weight, quality, format, reference, force, json, sigma, scheduler, tile,
        data_range=data_range, grouping=grouping,
    )  # fmt: skip
    if by_tiles(options):
        return run_tiles(options, "denoise", "denoised", sigma=sigma, data_range=data_range, grouping=grouping)

    def work(picture: Picture, job: Job, callback: Callback) -> Done:
        _no_nan(picture, job)
        pixels = cosparse.denoise(
            picture.pixels, _own(picture, sigma), grouping=grouping, **_common(options, picture, callback)
        )
        return Done(pixels, picture, _noise(picture, sigma))

    run(options, "denoised", work)


def inpaint(
    paths: Paths,
    mask: Annotated[
        str,
        typer.Option(
            "--mask", metavar="MASK", help="What is missing: see above.", show_default=False
        ),
    ],
    output: Output = None,
    tolerance: Annotated[
        float, typer.Option(metavar="0..255", help="How far a colour may be from '#rrggbb'.")
    ] = 20.0,
    grow: Annotated[
        int, typer.Option(metavar="PIXELS", help="Widen the mask.", min=0, max=100)
    ] = 0,
    sigma: NoSigma = 0.0,
    operator: Operator = "default",
    weight: Weight = None,
    quality: Level = Quality.balanced,
    grouping: Grouping = True,
    format: Format = None,
    reference: Reference = None,
    force: Force = False,
    data_range: DataRange = None,
    scheduler: Scheduler = None,
    tile: Tile = None,
    json: Json = False,
) -> None:
    """Fill in missing pixels: scratches, text, holes.

    IN and OUT as for denoise. MASK: an image (white is missing) or a folder of
    them, alpha (what is transparent), '#rrggbb' (what has been painted in that
    colour), or nan (in float TIFF images).
    """
    options = gather(
        paths, output, operator, weight, quality, format, reference, force, json, sigma, scheduler, tile,
        data_range=data_range, mask=mask, tolerance=tolerance, grow=grow, grouping=grouping,
    )
    if not 0 <= tolerance <= 255:
        raise UsageProblem(f"--tolerance {tolerance:g}: must lie in 0..255")
    if by_tiles(options):
        return run_tiles(
            options, "inpaint", "inpainted", sigma=sigma, mask=(mask, tolerance, grow), data_range=data_range,
            grouping=grouping,
        )  # fmt: skip
    if scheduler and Path(mask).is_dir():  # its workers have another current folder
        mask = os.path.abspath(mask)
    make = mask_maker(mask, tolerance, grow)

    def work(picture: Picture, job: Job, callback: Callback) -> Done:
        missing = make(picture, job)
        pixels = cosparse.inpaint(
            picture.pixels,
            missing,
            sigma=_own(picture, sigma),
            grouping=grouping,
            **_common(options, picture, callback),
        )
        like = picture
        if mask == "alpha" and picture.alpha is not None:
            whole = np.full_like(picture.alpha, default_range(picture.alpha))
            like = replace(picture, alpha=whole)
        return Done(pixels, like, (sigma,))

    run(options, "inpainted", work, opaque=mask == "alpha")


def upscale(
    paths: Paths,
    factor: Annotated[int, typer.Option(metavar="2|3|4", help="How many times larger.")] = 2,
    output: Output = None,
    sigma: NoSigma = 0.0,
    operator: Operator = "default",
    weight: Weight = None,
    quality: Level = Quality.balanced,
    format: Format = None,
    reference: Reference = None,
    force: Force = False,
    data_range: DataRange = None,
    scheduler: Scheduler = None,
    tile: Tile = None,
    json: Json = False,
) -> None:
    """Enlarge 2, 3 or 4 times, with sharper edges than interpolation.

    IN and OUT as for denoise; OUT left out, photo.png becomes
    photo.upscaled.png.
    """
    options = gather(
        paths, output, operator, weight, quality, format, reference, force, json, sigma, scheduler, tile,
        data_range=data_range, factor=factor,
    )
    if factor not in (2, 3, 4):
        raise UsageProblem(f"--factor {factor}: must be 2, 3 or 4")
    if by_tiles(options):
        return run_tiles(options, "upscale", "upscaled", sigma=sigma, data_range=data_range, factor=factor)

    def work(picture: Picture, job: Job, callback: Callback) -> Done:
        _no_nan(picture, job)
        pixels = cosparse.upscale(
            picture.pixels,
            factor,
            sigma=_own(picture, sigma),
            **_common(options, picture, callback),
        )
        start = _enlarged(picture, factor) if options.reference else None
        return Done(pixels, enlarged_like(picture, factor), (sigma,), start)

    run(options, "upscaled", work, factor=factor)


def deblur(
    paths: Paths,
    kernel: Annotated[
        str,
        typer.Option("--kernel", metavar="KERNEL", help="The blur: see above.", show_default=False),
    ],
    output: Output = None,
    sigma: EstimatedSigma = None,
    border: Border = "replicate",
    operator: Operator = "default",
    weight: Weight = None,
    quality: Level = Quality.balanced,
    format: Format = None,
    reference: Reference = None,
    force: Force = False,
    data_range: DataRange = None,
    scheduler: Scheduler = None,
    tile: Tile = None,
    json: Json = False,
) -> None:
    """Undo a known blur.

    IN and OUT as for denoise. KERNEL: gaussian:SIGMA, box:SIDE, disk:RADIUS,
    motion:LENGTH:ANGLE, or an image of what one bright point became.
    """
    options = gather(
        paths, output, operator, weight, quality, format, reference, force, json, sigma, scheduler, tile,
        data_range=data_range, kernel=kernel, border=border,
    )
    if border not in ("replicate", "periodic"):
        raise UsageProblem(f"--border {border}: must be replicate or periodic")
    spread = point_spread(kernel)
    if by_tiles(options):
        return run_tiles(
            options, "deblur", "deblurred", sigma=sigma, data_range=data_range, kernel=spread, border=border
        )

    def work(picture: Picture, job: Job, callback: Callback) -> Done:
        _no_nan(picture, job)
        pixels = cosparse.deblur(
            picture.pixels,
            spread,
            sigma=_own(picture, sigma),
            border=border,
            **_common(options, picture, callback),
        )
        return Done(pixels, picture, _noise(picture, sigma))

    run(options, "deblurred", work)


def _common(options: Repair, picture: Picture, callback: Callback) -> dict[str, Any]:
    return {
        "operator": options.operator,
        "weight": options.weight,
        "quality": options.quality,
        "data_range": picture.data_range,
        "channel_axis": picture.channel_axis,
        "callback": callback,
    }


def _noise(picture: Picture, sigma: float | None) -> tuple[float, ...]:
    """On 0..255: given, or estimated as the library does it, page by page."""
    if sigma is not None:
        return (sigma,)
    scale = 255.0 / picture.data_range
    estimate = partial(cosparse.estimate_sigma, data_range=picture.data_range, channel_axis=picture.channel_axis)
    return tuple(scale * estimate(page) for page in picture.pages)


@overload
def _own(picture: Picture, sigma: float) -> float: ...
@overload
def _own(picture: Picture, sigma: None) -> None: ...
def _own(picture: Picture, sigma: float | None) -> float | None:
    """A noise level on 0..255 in the picture's own units."""
    return None if sigma is None else sigma * picture.data_range / 255.0


def _no_nan(picture: Picture, job: Job) -> None:
    if picture.pixels.dtype.kind == "f" and np.isnan(picture.pixels).any():
        raise ValueError("holds NaN; fill them in first with: cosparse inpaint --mask nan")


def _enlarged(picture: Picture, factor: int) -> Any:
    """Bicubic, for the comparison with a reference."""
    pages = picture.pages.astype(np.float32)
    planes = pages if picture.channel_axis is None else np.moveaxis(pages, -1, 1)
    large = np.stack([enlarge(plane, factor) for plane in planes.reshape(-1, *planes.shape[-2:])])
    large = large.reshape(*planes.shape[:-2], *large.shape[-2:])
    pages = large if picture.channel_axis is None else np.moveaxis(large, 1, -1)
    return pages.reshape(*picture.leading, *pages.shape[1:])
