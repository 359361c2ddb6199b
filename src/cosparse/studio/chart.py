"""Drawings as SVG and PNG inside the page, and numbers; colours follow the page's light or dark theme."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosparse.operator import AnalysisOperator

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 560, 230, 74, 40, 14, 14


def line(values: list[float], *, x: str, y: str, last: int | None = None, zero: bool = False) -> str:
    """A curve over 1, 2, 3...; `last` fixes the end of the axis while values still arrive."""
    if not values:
        return ""
    end = max(last or 0, len(values), 2)
    low, high = (0.0 if zero else min(values)), max(values)
    span = high - low or abs(high) or 1.0
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(number: float, value: float) -> str:
        return f"{LEFT + (number - 1) / (end - 1) * wide:.1f},{TOP + (high - value) / span * tall:.1f}"

    shown = np.unique(np.linspace(0, len(values) - 1, min(len(values), 300)).astype(int))
    points = " ".join(place(n + 1, values[n]) for n in shown)
    grid = ""
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        level, across, number = TOP + part * tall, LEFT + part * wide, round(1 + part * (end - 1))
        grid += (
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{level}" y2="{level}"/>'
            f'<text x="{LEFT - 8}" y="{level + 4}" text-anchor="end">{_short(high - part * span)}</text>'
            f'<text x="{across}" y="{HEIGHT - BOTTOM + 18}" text-anchor="{anchor}">{number}</text>'
        )
    said = f"{y} over {x}: from {values[0]:.4g} to {values[-1]:.4g}"
    dot = place(len(values), values[-1]).split(",")
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}">{grid}'
        f'<polyline points="{points}"/><circle cx="{dot[0]}" cy="{dot[1]}" r="4"/>'
        f'<text class="title" x="{LEFT + wide / 2}" y="{HEIGHT - 4}" text-anchor="middle">{escape(x)}</text>'
        f'<text class="title" transform="rotate(-90 12 {TOP + tall / 2})" x="12" y="{TOP + tall / 2}" '
        f'text-anchor="middle">{escape(y)}</text></svg>'
    )


Series = tuple[str, NDArray[np.float64], NDArray[np.float64]]  # the name of a channel, x and y


def scatter(dots: list[Series], lines: list[Series], *, x: str, y: str) -> str:
    """Dots and lines over brightness from 0 to 255, in the colours of their channels; small, for a narrow column."""
    width, height, left, bottom, top, right = 360, 164, 54, 36, 10, 10
    wide, tall = width - left - right, height - top - bottom
    high = _round_end(max((float(one.max()) for _, _, one in (*dots, *lines) if len(one)), default=1.0))

    def place(across: float, up: float) -> tuple[str, str]:
        return f"{left + across / 255 * wide:.1f}", f"{top + (1 - up / high) * tall:.1f}"

    body = ""
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        level, across = top + (1 - share) * tall, left + share * wide
        body += (
            f'<line class="grid" x1="{left}" x2="{width - right}" y1="{level}" y2="{level}"/>'
            f'<text x="{left - 6}" y="{level + 4}" text-anchor="end">{_short(share * high)}</text>'
            f'<text x="{across}" y="{height - bottom + 16}" text-anchor="{anchor}">{share * 255:.0f}</text>'
        )
    for name, xs, ys in lines:
        points = " ".join(",".join(place(*pair)) for pair in zip(xs, ys, strict=True))
        body += f'<polyline class="{name}" points="{points}"/>'
    for name, xs, ys in dots:
        centres = (place(*pair) for pair in zip(xs, ys, strict=True))
        body += "".join(f'<circle class="{name}" cx="{cx}" cy="{cy}" r="3.5"/>' for cx, cy in centres)
    ways = [(f"{name} ".lstrip(), xs, ys) for name, xs, ys in lines or dots if len(ys)]
    ends = [f"{name}from {a[0]:.3g} at {at[0]:.0f} to {a[-1]:.3g} at {at[-1]:.0f}" for name, at, a in ways]
    said = f"{y} over {x}: {'; '.join(ends)}"
    return (
        f'<svg class="chart small" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(said)}">{body}'
        f'<text class="title" x="{left + wide / 2}" y="{height - 4}" text-anchor="middle">{escape(x)}</text>'
        f'<text class="title" transform="rotate(-90 10 {top + tall / 2})" x="10" y="{top + tall / 2}" '
        f'text-anchor="middle">{escape(y)}</text></svg>'
    )


def _round_end(value: float) -> float:
    """The end of an axis: the next of 1, 2, 4, 6, 10 times a power of ten, whose half is round too.

    >>> _round_end(27.0), _round_end(0.0)
    (40.0, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 2, 4, 6, 10) if step * power >= value))


def _short(value: float) -> str:
    """A number for an axis.

    >>> _short(4252.6), _short(17_512_345.0), _short(0.758)
    ('4,253', '17.51 M', '0.758')
    """
    if abs(value) >= 1e6:
        return f"{value / 1e6:.4g} M"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def picture(pixels: NDArray[np.uint8], alt: str, css: str = "") -> str:
    """A small image inside the page itself."""
    from PIL import Image

    target = BytesIO()
    Image.fromarray(pixels).save(target, "PNG")
    data = base64.b64encode(target.getvalue()).decode()
    return f'<img class="pixels {css}" alt="{escape(alt)}" src="data:image/png;base64,{data}">'


def figures(cells: list[tuple[str, str, str]], links: str) -> str:
    """Numbers (what, how much, and "good" where that is so) and links, as :func:`download` makes them."""
    body = "".join(
        f'<div class="figure {css}"><small>{escape(label)}</small><b>{escape(value)}</b></div>'
        for label, value, css in cells
    )
    return f'<div class="figures">{body}{links}</div>'


def download(said: str, address: str, name: str, css: str = "download", title: str = "") -> str:
    """A link by which a file is saved; `said` is HTML."""
    more = f' title="{escape(title)}"' if title else ""
    return f'<a class="{css}" href="{address}" download="{escape(name)}"{more}>{said}</a>'


def captioned(drawn: str, caption: str) -> str:
    """With a line below it."""
    return f"<figure>{drawn}<figcaption>{caption}</figcaption></figure>"


def atoms(operator: AnalysisOperator, caption: str = "") -> str:
    """All of them on one sheet."""
    alt = f"{len(operator.matrix)} atoms, from smooth to fine"
    return captioned(picture(operator.atoms_image(scale=3), alt), caption or f"{alt}. Grey is zero.")


def heat(values: NDArray[Any]) -> NDArray[np.uint8]:
    """From dark blue over violet and orange to light yellow, by rank of brightness: readable in grey too."""
    stops = np.array([[12, 8, 60], [110, 20, 120], [205, 70, 75], [250, 160, 45], [252, 252, 190]], float)
    places = np.linspace(0, 1, len(stops))
    level = np.clip(np.asarray(values, float), 0, 1)
    return np.stack([np.interp(level, places, stops[:, c]) for c in range(3)], axis=-1).round().astype(np.uint8)
