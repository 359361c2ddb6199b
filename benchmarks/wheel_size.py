"""How large the wheel is, and what in it: bytes as they are stored, compressed.

    python benchmarks/wheel_size.py

Builds it into a temporary folder (pip brings what a build needs) and writes benchmarks/results/wheel_size.csv. It is
meant to be below 1,000,000 bytes, and was until the steps for colours and for corrections came; tests/test_wheel.py
holds it below what it says there.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RESULT = REPOSITORY / "benchmarks" / "results" / "wheel_size.csv"


def parts(wheel: Path) -> Counter[str]:
    """The bytes of every room; each operator by itself; "names" are what the archive keeps to find its files."""
    found: Counter[str] = Counter()
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            first, _, rest = entry.filename.partition("/")
            room = rest.partition("/")[0] if "/" in rest else "the package itself"
            if first.endswith(".dist-info"):
                room = "metadata"
            elif entry.filename.endswith(".safetensors") and room == "operators":
                room = f"operators: {Path(entry.filename).stem}"
            found[room] += entry.compress_size
    found["names"] = wheel.stat().st_size - found.total()
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, str(REPOSITORY)]
        subprocess.run(build, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        size, found = wheel.stat().st_size, parts(wheel)
    rows = [("all", size), *found.most_common()]
    for name, count in rows:
        print(f"{count:9,} {name}")
    with open(RESULT, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("part", "bytes"), *rows])


if __name__ == "__main__":
    main()
