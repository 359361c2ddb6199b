"""Try every promise: `PYTHONPATH=tests python -m torture --help`. Ends non-zero at the first that is broken."""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import sys
import traceback
from pathlib import Path

from torture.frame import Broken, Impossible, Part, Run, beginning
from torture.registry import promises

SKIPPED = "skipped"


def main() -> int:
    """Run what was asked for, print its counts; 1 if a promise is broken."""
    asked = arguments()
    rows: list[list[str]] = []
    today = str(datetime.datetime.now(datetime.UTC).date())
    for promise in promises():
        wanted = [part for part in promise.parts if is_wanted(part, asked)]
        if wanted:
            print(f"\n{promise.number}. {promise.title}", flush=True)
        for part in wanted:
            counts = tried(part, asked)
            if counts is None:
                print(f"\nBROKEN: promise {promise.number}, {promise.title}", flush=True)
                return 1
            share = "short" if asked.short else f"{asked.repetitions:g}"
            rows += [[str(part), what, str(number), share, today] for what, number in counts.items()]
            if asked.record:  # at once: a part that breaks later, hours later, must not take these with it
                record(Path(asked.record), rows)
    if not rows:
        print("no such promise or part; --list names them", file=sys.stderr)
        return 2
    print("\nall promises that were tried hold")
    return 0


def arguments() -> argparse.Namespace:
    """What the command line says; --list prints and ends."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("only", nargs="*", help="numbers of promises, or parts as --list names them; all if none")
    parser.add_argument("--short", action="store_true", help="the short form, the same that `make test` runs")
    parser.add_argument("--seed", type=int, default=0, help="another seed tries other moments, files and numbers")
    parser.add_argument("--repetitions", type=float, default=1.0, metavar="TIMES", help="times the usual number")
    parser.add_argument("--record", metavar="CSV", help="write the counts there, beside those of other parts")
    parser.add_argument("--list", action="store_true", help="name the parts, and end")
    asked = parser.parse_args()
    if asked.list:
        for promise in promises():
            print(f"{promise.number}. {promise.title}")
            for part in promise.parts:
                print(f"   {part}: {part.title}{' (long form only)' if part.long_only else ''}")
        sys.exit(0)
    return asked


def is_wanted(part: Part, asked: argparse.Namespace) -> bool:
    """Whether the command line asks for this part."""
    named = not asked.only or str(part) in asked.only or str(part.promise.number) in asked.only
    return named and not (asked.short and part.long_only)


def tried(part: Part, asked: argparse.Namespace) -> dict[str, int] | None:
    """The part's counts, printed; None if it is broken."""
    before = processor_seconds()
    with beginning(short=asked.short, seed=asked.seed, repetitions=asked.repetitions) as run:
        try:
            part.try_it(run)
            outcome = said(run)
        except Impossible as why:
            run.counts[SKIPPED] = 1
            outcome = f"SKIPPED, {why}"
        except BaseException as problem:
            print(f"   {part}: BROKEN after {said(run)}\n", flush=True)
            if not isinstance(problem, Broken):
                traceback.print_exc()
            print(problem, flush=True)
            if isinstance(problem, KeyboardInterrupt):
                raise
            return None
    print(f"   {part}: {outcome} [{processor_seconds() - before:.0f} s of processor]", flush=True)
    return run.counts


def said(run: Run) -> str:
    """The counts in words."""
    return ", ".join(f"{number:,} {what}" for what, number in run.counts.items()) or "nothing counted"


def processor_seconds() -> float:
    """Of this process and its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def record(path: Path, rows: list[list[str]]) -> None:
    """Write rows of part, what, number, times the usual number, date; those of parts that were not tried now stay."""
    tried_now = {row[0] for row in rows}
    kept = []
    if path.exists():
        with path.open(newline="") as file:
            kept = [row for row in list(csv.reader(file))[1:] if row[0] not in tried_now]
    order = {str(part): place for place, part in enumerate(part for one in promises() for part in one.parts)}
    with path.open("w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["part", "counted", "number", "repetitions", "date"])
        lines.writerows(sorted(kept + rows, key=lambda row: order.get(row[0], len(order))))


if __name__ == "__main__":
    sys.exit(main())
