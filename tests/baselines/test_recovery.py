"""The benchmark of planted operators runs, and shows what it is for."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def test_goal_finds_planted_operators_of_both_kinds_and_aol_tight_ones(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    recovery = importlib.import_module("recovery")
    recovery.main(["--quick"])
    means = [
        [float(figure) for figure in re.findall(r"\d+", line)]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("| mean")
    ]
    names = list(recovery.LEARNERS)
    oblique, tight = (dict(zip(names, line, strict=True)) for line in means)
    assert min(oblique["GOAL"], tight["GOAL"]) > 85 and tight["AOL"] > 85 and oblique["AOL"] < 60
    assert oblique["GOAL"] == max(oblique.values())
    sys.modules.pop("recovery")


def test_rows_that_are_there_are_not_computed_again(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    recovery = importlib.import_module("recovery")
    monkeypatch.setattr(recovery, "LEARNERS", {"truth": lambda signals, cosparsity: recovery.planted(*case, 0, 100)[0]})
    case = ("tight", 12, 20.0)
    path = tmp_path / "recovery.csv"
    rows = recovery.compute(path, [(0, *case)], 100)
    assert rows[0]["recovered"] == "1.0000" and len(path.read_text().splitlines()) == 2
    monkeypatch.setattr(recovery, "LEARNERS", {"truth": None})
    assert recovery.compute(path, [(0, *case)], 100)[0]["recovered"] == "1.0000"
