"""Which quick tests run which line of the core, and how long each takes: a plugin for pytest.

    python -m pytest -p torture.line_map -m "not (browser or dask or data or slow)"

writes the map that `planting.py` reads, to the file that LINE_MAP names. It needs `coverage`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "cosparse"
CORE = ("reconstruction", "learning", "optimize", "kernels/reference.py")


class Mapping:
    """Switches the context of the coverage to the test that runs."""

    def __init__(self, target: Path) -> None:
        self.target, self.seconds = target, dict[str, float]()
        include = [f"{SOURCE / part}{'' if part.endswith('.py') else '/*'}" for part in CORE]
        self.coverage = coverage.Coverage(include=include, data_file=None, config_file=False)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        result = yield
        self.coverage.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed or report.skipped:  # neither can kill anything
            self.seconds.pop(report.nodeid, None)

    def pytest_unconfigure(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {
            str(Path(file).relative_to(SOURCE)): {
                line: tests
                for line, contexts in data.contexts_by_lineno(file).items()
                if (tests := sorted(filter(None, contexts)))
            }
            for file in sorted(data.measured_files())
        }
        self.target.write_text(json.dumps({"seconds": self.seconds, "lines": lines}), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Mapping(Path(os.environ["LINE_MAP"])))
