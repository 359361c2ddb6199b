"""What packages cosparse for others agrees with pyproject.toml."""

from __future__ import annotations

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
