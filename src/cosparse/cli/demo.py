"""The commands demo and studio."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cosparse.cli.console import UsageProblem, json_line, stdout
from cosparse.cli.options import Json
from cosparse.cli.progress import Bar


def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the pictures go.")
    ] = "cosparse-demo",
    json: Json = False,
) -> None:
    """Repair four pictures and draw a sheet of before and after.

    Takes well under a minute. The pictures come with scikit-image; nothing is
    downloaded.
    """
    from cosparse.cli import demo_pictures, sheet
    from cosparse.io.picture import write_image

    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise UsageProblem(f"{folder}: is a file; name a folder for the pictures")
    started = time.perf_counter()
    rows = []
    with Bar(len(demo_pictures.SCENES)) as bar:
        for task in demo_pictures.SCENES:
            bar.begin(task)
            rows.append(row := demo_pictures.repaired(task, bar))
            bar.say(f"{row.scene.title}: {row.before.db:.2f} -> {row.after.db:.2f} dB")
    folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        for panel in (row.before, row.after, row.truth):
            write_image(folder / f"{row.task}-{panel.name}.png", panel.pixels)
    write_image(folder / "sheet.png", sheet.draw(rows))
    seconds = time.perf_counter() - started
    if json:
        for row in rows:
            json_line({
                "task": row.task, "psnr_before": row.before.db, "psnr": row.after.db,
                "ssim_before": row.before.ssim, "ssim": row.after.ssim, "seconds": row.seconds,
            })  # fmt: skip
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task")
    for name in ("PSNR before", "after", "SSIM before", "after", "seconds"):
        table.add_column(name, justify="right")
    for row in rows:
        levels = [f"{panel.db:.2f} dB" for panel in (row.before, row.after)]
        likeness = [f"{panel.ssim:.3f}" for panel in (row.before, row.after)]
        table.add_row(row.scene.title, *levels, *likeness, f"{row.seconds:.1f}")
    say = stdout()
    say.print(table)
    say.print(f"{folder / 'sheet.png'}: before and after, {seconds:.0f} s in all", soft_wrap=True)


def studio(
    port: Annotated[int, typer.Option(metavar="N", help="Of the page.", min=0, max=65535)] = 7860,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print its address.")] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="0.0.0.0 lets others in, unencrypted.")] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            metavar="WORD", help="What others must bring; or: auto, none.", envvar="COSPARSE_TOKEN", show_envvar=False
        ),
    ] = None,
    root_path: Annotated[
        str | None, typer.Option(metavar="PATH", help="Where a proxy shows it: /tools/cosparse.")
    ] = None,
    log: Annotated[str | None, typer.Option(metavar="FILE", help="A line a request, and errors; - is stdout.")] = None,
    max_upload: Annotated[int, typer.Option(metavar="MB", help="Of one file.", min=1)] = 100,
    max_pixels: Annotated[int, typer.Option(metavar="MP", help="Megapixels of a picture.", min=1)] = 40,
) -> None:
    """Open the web page, on this machine only unless --host says more."""
    try:
        from cosparse.studio import Limits, Place, serve
    except ImportError:
        raise UsageProblem("the web page is not installed; install it with: pip install 'cosparse[web]'") from None
    limits = Limits(upload_bytes=max_upload * 1_000_000, pixels=max_pixels * 1_000_000)
    try:
        place = Place.parse(root_path)
        serve(host=host, port=port, browser=not no_browser, limits=limits, place=place, log=log, token=token)
    except ValueError as error:
        raise UsageProblem(str(error)) from None
