"""What packages cosparse for others agrees with pyproject.toml."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = yaml.safe_load((REPOSITORY / "packaging" / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))


def pinned(requirements):
    """By name, in small letters, what each must be."""
    return {re.split(r"[ >=<]", line)[0].lower(): re.sub(r"^[\w-]+ ?", "", line) for line in requirements}


def test_the_recipe_has_the_dependencies_of_the_project():
    needs = RECIPE["requirements"]
    run = {name: least for name, least in pinned(needs["run"]).items() if name != "python"}
    assert run == pinned(PROJECT["project"]["dependencies"])
    host = pinned(needs["host"])
    assert {name: host[name] for name in host.keys() - {"python", "pip"}} == pinned(PROJECT["build-system"]["requires"])


def test_the_recipe_has_its_pythons_scripts_and_licence():
    (least,) = yaml.safe_load((REPOSITORY / "packaging" / "variants.yaml").read_text())["python_min"]
    assert PROJECT["project"]["requires-python"] == f">={least}"
    scripts = [f"{name} = {target}" for name, target in PROJECT["project"]["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == scripts
    assert RECIPE["about"]["license"] == PROJECT["project"]["license"]
    assert (REPOSITORY / RECIPE["about"]["license_file"]).is_file()


def test_the_container_runs_as_no_one_and_has_a_supported_python():
    lines = (REPOSITORY / "packaging" / "Containerfile").read_text().splitlines()
    image = [line for line in lines if line.startswith(("USER", "FROM"))]
    assert image[-1] == "USER 65534:65534"  # after the last FROM, and never root again
    versions = {re.search(r"python:(\d\.\d+)", line)[1] for line in image if line.startswith("FROM")}
    supported = {entry.rpartition(" ")[2] for entry in PROJECT["project"]["classifiers"]}
    assert len(versions) == 1 and versions <= supported


def test_the_papers_table_is_what_was_measured():
    with open(REPOSITORY / "benchmarks" / "results" / "frontier.csv", newline="") as file:
        measured = {(row["method"], row["setting"]): row for row in csv.DictReader(file)}
    named = {
        "cosparse, fast": ("cosparse", "fast"), "cosparse, balanced": ("cosparse", "balanced"),
        "cosparse, best": ("cosparse", "best"), "bm3d 4.0.3": ("bm3d", ""), "bm3dornl 0.12.1": ("bm3dornl", ""),
        "vapoursynth-bm3dcpu 2.17": ("bm3dcpu", "2,2/16,16"), "FFDNet": ("ffdnet", ""),
        "scikit-image, non-local means": ("skimage_nlm", "5/6"),
    }  # fmt: skip
    text = (REPOSITORY / "paper" / "paper.md").read_text(encoding="utf-8")
    for name, key in named.items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {name}")]
        _, licence, psnr, seconds = (cell.strip() for cell in line.strip("|").split("|"))
        row = measured[key]
        assert licence == row["licence"], line
        assert (
            abs(float(psnr) - float(row["psnr"])) < 0.0051 and abs(float(seconds) - float(row["cpu_seconds"])) < 0.0051
        ), line


def test_the_paper_cites_what_its_bibliography_has():
    text, entries = ((REPOSITORY / "paper" / name).read_text(encoding="utf-8") for name in ("paper.md", "paper.bib"))
    assert set(re.findall(r"@([a-z][\w-]+)", text)) == set(re.findall(r"^@\w+\{([\w-]+),", entries, re.MULTILINE))
