"""The three tables of the paper: our rows joined with the published ones, written, printed and judged."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cells
import numpy as np


@dataclass(frozen=True)
class PaperTable:
    """One table.

    Parameters
    ----------
    name : str
        Of the CSV, ours and the published one.
    levels : column names
        What tells apart two entries of one image, such as ("sigma",).
    quoted : methods of the paper, GOAL first.
    same : our name of a method -> the paper's.
    allowed : dB that one entry of ours may lie under the paper's GOAL.
    beaten : methods of the paper that ours must beat in every entry.
    aside : whether the entry at (*levels, image) is shown but not part of the means.
    """

    name: str
    levels: tuple[str, ...]
    quoted: tuple[str, ...]
    same: dict[str, str]
    allowed: float
    beaten: tuple[str, ...] = ()
    aside: Callable[[tuple[Any, ...]], bool] = lambda place: False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that name a row."""
        return (*self.levels, "image", "method", "quality", "seed")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.levels, "image", "method", "psnr", "ssim", "published_psnr", "published_ssim",
                "quality", "seed", "version")  # fmt: skip

    def place(self, row: dict[str, Any]) -> tuple[Any, ...]:
        """(*levels, image)."""
        return (*(float(row[level]) for level in self.levels), row["image"])

    def published(self) -> dict[Any, dict[str, str]]:
        """(*levels, image, method) -> the paper's row."""
        return {(*self.place(row), row["method"]): row for row in cells.published(self.name)}

    def finish(self, rows: list[dict[str, Any]], args: argparse.Namespace, about: str) -> list[dict[str, Any]]:
        """Join, write, print, judge; the joined rows."""
        paper = {} if args.quick else self.published()
        places = list(dict.fromkeys(self.place(row) for row in rows))
        paper = {entry: row for entry, row in paper.items() if entry[:-1] in places}
        joined = [self._row(row, paper.get((*self.place(row), self.same.get(row["method"])), {})) for row in rows]
        quoted = [self._row({**row, "method": f"paper {row['method']}"}, row, ours=False) for row in paper.values()]
        path = cells.write_rows(args.output, self.name, joined + quoted, self.names)
        self._print(joined, places, paper, args, about)
        self._judge(joined, paper)
        self._judge_rivals(joined, paper)
        cells.console.print(f"written: {path}")
        return joined

    def _row(self, row: dict[str, Any], published: dict[str, str], *, ours: bool = True) -> dict[str, Any]:
        full = {**dict.fromkeys(self.columns, ""), **row}
        full |= {"published_psnr": published.get("psnr", ""), "published_ssim": published.get("ssim", "")}
        if not ours:
            full |= {"psnr": "", "ssim": ""}
        return {column: full[column] for column in self.columns}

    def _print(
        self, rows: list[dict[str, Any]], places: list[Any], paper: dict[Any, Any], args: argparse.Namespace, about: str
    ) -> None:
        found = {(*self.place(row), row["method"]): row for row in rows}
        methods = list(dict.fromkeys(row["method"] for row in rows))
        quoted = [method for method in self.quoted if any((*place, method) in paper for place in places)]
        counted = [place for place in places if not self.aside(place)]

        def lines(entries: Callable[[tuple[Any, ...]], list[str]], means: list[str]) -> list[Sequence[Any]]:
            shown: list[Sequence[Any]] = []
            for i, place in enumerate(places):
                if i and place[:-1] != places[i - 1][:-1]:
                    shown.append(())
                shown.append([" ".join(f"{level:g}" for level in place[:-1]), place[-1], *entries(place)])
            return [*shown, (), ["mean", "", *means]]

        head = [" ".join(self.levels), "image"]
        crop = f"crops of {cells.QUICK}x{cells.QUICK}: not comparable with the paper" if args.quick else ""
        cells.show(
            f"{self.name}, dB and SSIM; {args.quality}, seed {args.seed}; {about}",
            [*head, *methods],
            lines(
                lambda place: [_entry(found.get((*place, method))) for method in methods],
                [_mean(found, counted, method) for method in methods],
            ),
            crop,
        )
        if "ours" in methods and quoted:
            gaps = [_gap(found, paper, place) for place in counted]
            cells.show(
                "beside the paper's figures",
                [*head, "ours", "ours-GOAL", *(f"paper {method}" for method in quoted)],
                lines(
                    lambda place: [
                        _entry(found.get((*place, "ours"))),
                        f"{_gap(found, paper, place):+.2f}".replace("+nan", "").replace("nan", ""),
                        *(_entry(paper.get((*place, method))) for method in quoted),
                    ],
                    [
                        _mean(found, counted, "ours"),
                        f"{np.mean(gaps):+.2f}" if np.isfinite(gaps).all() else "",
                        *(_mean(paper, counted, method) for method in quoted),
                    ],
                ),
            )

    def _judge(self, rows: list[dict[str, Any]], paper: dict[Any, dict[str, str]]) -> None:
        ours = {
            self.place(row): float(row["psnr"])
            for row in rows
            if row["method"] == "ours" and not self.aside(self.place(row)) and (*self.place(row), "GOAL") in paper
        }
        if not ours:
            return
        goal = {place: float(paper[*place, "GOAL"]["psnr"]) for place in ours}
        mean, target = float(np.mean(list(ours.values()))), float(np.mean(list(goal.values())))
        cells.verdict(f"mean {mean:.3f} dB, the paper's GOAL {target:.3f}", mean >= target)
        worst = min(ours, key=lambda place: ours[place] - goal[place])
        gap = ours[worst] - goal[worst]
        cells.verdict(f"worst entry {worst} {gap:+.3f} dB, allowed {-self.allowed:+.2f}", gap >= -self.allowed)
        for rival in self.beaten:
            under = [place for place in ours if ours[place] <= float(paper[*place, rival]["psnr"])]
            cells.verdict(f"above the paper's {rival} in every entry {under or ''}", not under)

    def _judge_rivals(self, rows: list[dict[str, Any]], paper: dict[Any, dict[str, str]]) -> None:
        """Whether other methods come out, in the mean, no more than 0.3 dB under the paper's figures of theirs."""
        for method, theirs in self.same.items():
            both = [
                (float(row["psnr"]), float(paper[*self.place(row), theirs]["psnr"]))
                for row in rows
                if row["method"] == method not in cells.OURS
                and not self.aside(self.place(row))
                and (*self.place(row), theirs) in paper
            ]
            if both:
                mean, published = np.mean(both, axis=0)
                text = f"{method} mean {mean:.3f} dB, the paper's {theirs} {published:.3f}, over {len(both)} entries"
                cells.verdict(text, mean >= published - 0.3)


def _entry(row: dict[str, Any] | None) -> str:
    return cells.pair(row["psnr"], row["ssim"]) if row else ""


def _gap(found: dict[Any, Any], paper: dict[Any, Any], place: tuple[Any, ...]) -> float:
    """Ours minus the paper's GOAL; NaN where one is missing."""
    if (*place, "ours") not in found or (*place, "GOAL") not in paper:
        return float("nan")
    return float(found[*place, "ours"]["psnr"]) - float(paper[*place, "GOAL"]["psnr"])


def _mean(rows: dict[Any, Any], places: list[Any], method: str) -> str:
    """The mean, if the method has every entry."""
    if not all((*place, method) in rows for place in places):
        return ""
    psnr, ssim = (np.mean([float(rows[*place, method][key]) for place in places]) for key in ("psnr", "ssim"))
    return cells.pair(psnr, ssim)
