"""What is installed along with cosparse, and under which licences: a table, and a bill of materials for a wheel.

    python packaging/inventory.py licences            benchmarks/results/licences.csv, of this environment
    python packaging/inventory.py sbom dist/*.whl     beside each wheel a CycloneDX file of what it needs

Only what pip installed is read; nothing is fetched. Ends with 1 if a licence is not permissive and not known of.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import sys
import uuid
import zipfile
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

TABLE = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "licences.csv"
EXTRAS = ("", "web", "cluster", "sklearn", "xarray", "heic", "pylops")  # the core first
COLUMNS = ["package", "version", "licence", "kind", "comes_with"]
PERMISSIVE = {
    "MIT", "MIT-CMU", "BSD", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "ISC", "PSF-2.0", "Zlib", "CC0-1.0",
    "Apache-2.0 WITH LLVM-exception",
}  # fmt: skip
# By name, why each may be there. None of these is shipped with cosparse, none is imported by it unless it is asked for.
KNOWN = {
    "certifi": "MPL-2.0, of its own files alone: certificates, which the page's libraries bring",
    "tqdm": "MPL-2.0, of its own files alone; the page's libraries bring it",
    "orjson": "MPL-2.0, of its own files alone; the page's libraries bring it",
    "pi-heif": "BSD-3-Clause, with libheif and libde265 (LGPL-3.0) as libraries of their own: the user's choice",
    "pylops": "LGPL-3.0: the user's own, of the extra `pylops` alone",
    "pyproximal": "LGPL-3.0: the user's own, of the extra `pylops` alone",
}
# What classifiers and the older field `License` call a licence.
NAMES = {
    "MIT License": "MIT", "BSD License": "BSD", "Apache Software License": "Apache-2.0", "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0", "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0", "Apache 2.0": "Apache-2.0", "ISC License": "ISC",
    "BSD 2-Clause License": "BSD-2-Clause", "BSD 3-Clause License": "BSD-3-Clause",
}  # fmt: skip


def plain(name: str) -> str:
    """As PyPI compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(requirements: Iterable[str], extra: str = "") -> dict[str, Distribution]:
    """All that is installed because of some requirements and of theirs, by name."""
    found: dict[str, Distribution] = {}
    todo: list[tuple[str, set[str]]] = [(line, {extra}) for line in requirements]
    seen: set[tuple[str, str]] = set()
    while todo:
        line, extras = todo.pop()
        asked = Requirement(line)
        if asked.marker is not None and not any(asked.marker.evaluate({"extra": one}) for one in extras):
            continue
        try:
            there = distribution(asked.name)
        except PackageNotFoundError:
            continue  # of an extra that is not installed, or of another system
        found[plain(asked.name)] = there
        for one in ("", *asked.extras):
            if (plain(asked.name), one) not in seen:
                seen.add((plain(asked.name), one))
                todo += [(more, {one}) for more in there.requires or ()]
    return found


def licence(there: Distribution) -> str:
    """As SPDX names it, as far as the package says."""
    about = there.metadata
    if said := about.get("License-Expression"):
        return said
    classes = [
        line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or () if line.startswith("License ::")
    ]
    named = {NAMES.get(name, name) for name in classes if name != "OSI Approved"}
    field = (about.get("License") or "").strip()
    if field and len(field) < 60 and "\n" not in field:
        own = NAMES.get(field, field)
        return own if named <= {own, "BSD"} else " AND ".join(sorted({own, *named}))
    return " AND ".join(sorted(named)) or "unknown"


def permissive(text: str) -> bool:
    """Whether every licence of an expression is; of alternatives, one will do."""
    whole = text.replace("(", "").replace(")", "")
    return all(any(one.strip() in PERMISSIVE for one in part.split(" OR ")) for part in whole.split(" AND "))


def inventory() -> list[dict[str, str]]:
    """Every package that the core or an extra brings, those of the core first."""
    own = distribution("cosparse").requires or ()
    rows: dict[str, dict[str, str]] = {}
    for extra in EXTRAS:
        for name, there in sorted(needed(own, extra).items()):
            if name not in rows and name != "cosparse":
                said = licence(there)
                kind = "permissive" if permissive(said) and name not in KNOWN else KNOWN.get(name, "NOT KNOWN")
                values = (name, there.version, said, kind, extra or "the core")
                rows[name] = dict(zip(COLUMNS, values, strict=True))
    return list(rows.values())


def licences() -> int:
    """Write the table; 1 if it holds what nobody has looked at."""
    rows = inventory()
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    strange = [f"{row['package']} ({row['licence']})" for row in rows if row["kind"] == "NOT KNOWN"]
    print(f"{len(rows)} packages, {sum(row['kind'] == 'permissive' for row in rows)} permissive", *strange, sep="\n")
    return bool(strange)


def components(requirements: Iterable[str]) -> Iterator[dict[str, object]]:
    """What a wheel needs, as CycloneDX lists it."""
    for name, there in sorted(needed(requirements).items()):
        said = licence(there)
        url = f"pkg:pypi/{name}@{there.version}"
        yield {
            "type": "library", "bom-ref": url, "name": name, "version": there.version, "purl": url,
            "licenses": [{"expression": said}] if permissive(said) else [{"license": {"name": said}}],
        }  # fmt: skip


def sbom(wheel: Path) -> Path:
    """A bill of materials of a wheel, CycloneDX 1.6: itself, and all that is installed here because of it."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        about = HeaderParser().parsestr(archive.read(name).decode())
    content = hashlib.sha256(wheel.read_bytes()).hexdigest()
    url = f"pkg:pypi/{about['Name']}@{about['Version']}"
    needs = list(components(about.get_all("Requires-Dist") or ()))
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, url + content)}",  # the same for the same wheel
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": url,
                "name": about["Name"],
                "version": about["Version"],
                "purl": url,
                "licenses": [{"expression": about["License-Expression"]}],
                "hashes": [{"alg": "SHA-256", "content": content}],
            }
        },
        "components": needs,
        "dependencies": [{"ref": url, "dependsOn": [one["bom-ref"] for one in needs]}],
    }
    target = wheel.with_suffix(".cdx.json")
    target.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    return target


def main() -> int:
    """Read the options."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["licences", "sbom"])
    options.add_argument("wheels", nargs="*", type=Path)
    given = options.parse_args()
    if given.what == "licences":
        return licences()
    for wheel in given.wheels:
        print(sbom(wheel))
    return 0


if __name__ == "__main__":
    sys.exit(main())
