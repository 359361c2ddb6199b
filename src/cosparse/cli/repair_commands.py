"""The commands denoise, inpaint, upscale and deblur."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import cosparse
from cosparse.cli.batch import Done, run
from cosparse.cli.console import UsageProblem
from cosparse.cli.mask_option import mask_maker
from cosparse.cli.on_cluster import by_tiles, run_tiles
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
from cosparse.cli.psf_option import point_spread
from cosparse.cli.targets import Job
from cosparse.io.picture import Picture
from cosparse.io.values import default_range
from cosparse.repair import bicubic, repair

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
        return _repaired(options, picture, "denoise", sigma, callback, grouping=grouping)

    run(options, "denoised", work)


def inpaint(
    paths: Paths,
    mask: Annotated[
        str,
        typer.Option("--mask", metavar="MASK", help="What is missing: see above.", show_default=False),
    ],
    output: Output = None,
    tolerance: Annotated[float, typer.Option(metavar="0..255", help="How far a colour may be from '#rrggbb'.")] = 20.0,
    grow: Annotated[int, typer.Option(metavar="PIXELS", help="Widen the mask.", min=0, max=100)] = 0,
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
        paths,
        output,
        operator,
        weight,
        quality,
        format,
        reference,
        force,
        json,
        sigma,
        scheduler,
        tile,
        data_range=data_range,
        mask=mask,
        tolerance=tolerance,
        grow=grow,
        grouping=grouping,
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
        done = _repaired(options, picture, "inpaint", sigma, callback, mask=make(picture, job), grouping=grouping)
        if mask == "alpha" and picture.alpha is not None:
            whole = np.full_like(picture.alpha, default_range(picture.alpha))
            return replace(done, like=replace(done.like, alpha=whole))
        return done

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
        paths,
        output,
        operator,
        weight,
        quality,
        format,
        reference,
        force,
        json,
        sigma,
        scheduler,
        tile,
        data_range=data_range,
        factor=factor,
    )
    if factor not in (2, 3, 4):
        raise UsageProblem(f"--factor {factor}: must be 2, 3 or 4")
    if by_tiles(options):
        return run_tiles(options, "upscale", "upscaled", sigma=sigma, data_range=data_range, factor=factor)

    def work(picture: Picture, job: Job, callback: Callback) -> Done:
        done = _repaired(options, picture, "upscale", sigma, callback, factor=factor)
        return replace(done, before=bicubic(picture, factor)) if options.reference else done

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
        paths,
        output,
        operator,
        weight,
        quality,
        format,
        reference,
        force,
        json,
        sigma,
        scheduler,
        tile,
        data_range=data_range,
        kernel=kernel,
        border=border,
    )
    if border not in ("replicate", "periodic"):
        raise UsageProblem(f"--border {border}: must be replicate or periodic")
    spread = point_spread(kernel)
    if by_tiles(options):
        return run_tiles(
            options, "deblur", "deblurred", sigma=sigma, data_range=data_range, kernel=spread, border=border
        )

    def work(picture: Picture, job: Job, callback: Callback) -> Done:
        return _repaired(options, picture, "deblur", sigma, callback, kernel=spread, border=border)

    run(options, "deblurred", work)


def _repaired(
    options: Repair, picture: Picture, task: str, sigma: float | None, callback: Callback, **own: Any
) -> Done:
    found = repair(
        picture, task, sigma=sigma, operator=options.operator, weight=options.weight, quality=options.quality,
        callback=callback, **own,
    )  # fmt: skip
    return Done(found.picture.pixels, found.picture, found.sigmas if sigma is None else (sigma,))
