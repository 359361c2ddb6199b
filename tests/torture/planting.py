"""Mutation testing of the core: of small faults planted in it, how many do the quick tests find?

    python -m torture.planting map                       first: which tests run which line, to a temporary file
    python -m torture.planting try --seed 7 --count 120  plants so many, chosen by chance; goes on where it was ended
    python -m torture.planting again --seed 7            those that lived once more, after tests were added
    python -m torture.planting counts                    what benchmarks/results/mutants.csv says, of one seed or all

(with PYTHONPATH=src:tests, from the repository). A sample is drawn evenly over all places, so that each package counts
by its size. Once tests were written for what lived of it, it says nothing any more: another seed does.

A fault is shown to the tests that run its line: those of its module's own file, then the others, the quickest first, up
to some seconds of them (--budget). It is found if a test fails, or takes many times the processor time it should.

The tests are collected once. For each fault the process forks, and puts the faulty code in the place of the right one;
a fault in what runs when the module is imported is tried in a process of its own, which imports the faulty source.
Processes that tests start see no fault, so what only they test counts as not found.
"""

from __future__ import annotations

import argparse
import csv
import gc
import importlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from torture.slips import Mutant, mutants

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src" / "cosparse"
RESULTS = REPOSITORY / "benchmarks" / "results" / "mutants.csv"
MAP = Path(tempfile.gettempdir()) / "cosparse-lines.json"
COLUMNS = ["seed", "module", "nth", "line", "kind", "before", "after", "outcome", "test", "shown", "of", "why"]
FOUND = ("killed", "endless")
LEAST = 0.85  # of the faults that change anything
PACKAGES = ("reconstruction", "learning", "optimize", "kernels")
QUICK = "not (browser or dask or data or slow)"
Place = tuple[str, Mutant, int]  # the module's path, the fault, the how manieth like it there
Rows = dict[tuple[str, ...], dict[str, str]]  # by the seed of the sample and the key of the place


def places() -> list[Place]:
    """Every fault that can be planted in the core."""
    files = [*SOURCE.glob("reconstruction/**/*.py"), *SOURCE.glob("learning/*.py"), *SOURCE.glob("optimize/*.py")]
    found = []
    for file in [*sorted(files), SOURCE / "kernels" / "reference.py"]:
        like = Counter[tuple[str, str, str]]()
        for one in mutants(file.read_text(encoding="utf-8")):
            found.append((str(file.relative_to(SOURCE)), one, like[one.kind, one.before, one.after]))
            like[one.kind, one.before, one.after] += 1
    return found


def sampled(every: list[Place], count: int, seed: int) -> list[Place]:
    """So many of all, chosen by the seed; a larger count adds to what a smaller one has."""
    return random.Random(seed).sample(every, len(every))[:count]


def key(place: Place) -> tuple[str, ...]:
    """What a fault is known by, also when lines are added above it."""
    module, one, nth = place
    return module, str(nth), one.kind, _line(one.before), _line(one.after)


def _line(text: str) -> str:
    return " ".join(text.split())


def shown_to(place: Place, known: dict[str, Any], budget: float) -> tuple[list[str], int]:
    """The tests that run the line, those of the module's own name first, up to the budget; and how many there are."""
    module, one, _ = place
    lines, seconds = known["lines"].get(module, {}), known["seconds"]
    tests = set(lines.get(str(one.line), ()))
    if not tests:  # it runs when the module is imported: all that use the module
        tests = {test for each in lines.values() for test in each}
    tests &= seconds.keys()
    path = Path(module)
    stems = (f"tests/{path.parent}/test_{path.stem}.py::", f"src/cosparse/{module}::")
    own = [test for test in tests if test.startswith(stems)]
    chosen, spent = sorted(own, key=seconds.__getitem__), 0.0
    for test in sorted(tests - set(own), key=seconds.__getitem__):
        spent += seconds[test]
        if spent > budget:
            break
        chosen.append(test)
    return chosen, len(tests)


# -- faulty code ----------


def _parts(code: CodeType) -> Iterator[CodeType]:
    return (one for one in code.co_consts if isinstance(one, CodeType))


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two pieces of code do the same, what is defined within them apart."""

    def plain(code: CodeType) -> tuple[Any, ...]:
        return code.co_code, [one for one in code.co_consts if not isinstance(one, CodeType)], code.co_names

    return plain(a) == plain(b)


def _functions(right: CodeType, wrong: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """Functions and methods of a module whose code differs; None if what runs at import does."""
    if not _same(right, wrong):
        return None
    found = []
    for a, b in zip(_parts(right), _parts(wrong), strict=True):
        if a.co_flags & 0x2:  # of a function: it has names of its own
            found += [] if a == b or _deep(a, b) else [(a, b)]
        elif (inner := _functions(a, b)) is None:
            return None
        else:
            found += inner
    return found


def _deep(a: CodeType, b: CodeType) -> bool:
    return _same(a, b) and all(_deep(x, y) for x, y in zip(_parts(a), _parts(b), strict=True))


def plant(place: Place) -> bool:
    """Put the faulty code into the functions that live in this process; False if that would not do."""
    file = SOURCE / place[0]
    source = file.read_text(encoding="utf-8")
    right, wrong = (compile(text, str(file), "exec") for text in (source, place[1].planted(source)))
    differing = _functions(right, wrong)
    if not differing:
        return False
    living = [
        one for one in gc.get_objects() if isinstance(one, FunctionType) and one.__code__.co_filename == str(file)
    ]
    for a, b in differing:
        if any(one.__qualname__.startswith(f"{a.co_qualname}.<locals>") for one in living):
            return False  # it has run already, as decorators do
        own = [
            one
            for one in living
            if (one.__code__.co_qualname, one.__code__.co_firstlineno) == (a.co_qualname, a.co_firstlineno)
        ]
        if not own:
            return False
        for one in own:
            one.__code__ = b
    return True


# -- trying ----------


class Witness:
    """Notes which test failed first."""

    test = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.test:
            self.test = report.nodeid


class Trial:
    """Pytest's loop over the tests, replaced by one over faults."""

    def __init__(self, work: Callable[[Trial], None]) -> None:
        self.work = work

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        gc.collect()
        self.work(self)
        return True

    def shown(self, place: Place | None, tests: list[str], seconds: float) -> tuple[str, str]:
        """Whether the tests find the fault, and which does; without a fault, whether they fail."""
        items = [self.items[test] for test in tests if test in self.items]

        def run() -> tuple[str, str]:
            if place is not None and not plant(place):
                return "apart", ""
            witness = Witness()
            for number, item in enumerate(items):
                item.config.pluginmanager.register(witness, "witness") if number == 0 else None
                after = items[number + 1] if number + 1 < len(items) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if witness.test:
                    return "killed", witness.test
            return "survived", ""

        return forked(run, seconds)


def forked(run: Callable[[], tuple[str, str]], seconds: float) -> tuple[str, str]:
    """What a function gives in a process of its own, of so much processor time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        most = int(5 * seconds) + 20
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
        code = 1
        try:
            os.write(writing, json.dumps(run()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    ended = time.monotonic() + 30 * seconds + 300  # for one that waits for ever
    while (state := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > ended:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    with os.fdopen(reading, "rb") as said:
        answer = said.read()
    if answer:
        outcome, test = json.loads(answer)
        return outcome, test
    endless = os.WIFSIGNALED(state[1]) and os.WTERMSIG(state[1]) in (signal.SIGXCPU, signal.SIGKILL)
    return ("endless", "") if endless else ("killed", "an error outside of any test")


def apart(place: Place, tests: list[str], seconds: float) -> tuple[str, str]:
    """The same in a new process, which imports the faulty source."""
    module, one, _ = place
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        source = SOURCE / module
        faulty = Path(folder) / source.name
        faulty.write_text(one.planted(source.read_text(encoding="utf-8")), encoding="utf-8")
        name = ".".join(("cosparse", *(part for part in Path(module).with_suffix("").parts if part != "__init__")))
        environment = {
            **os.environ,
            "FAULTY": json.dumps([name, str(source), str(faulty)]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        listed = Path(folder) / "tests"
        listed.write_text("\n".join(tests), encoding="utf-8")
        plugins = ["-p", "torture.faulty", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", "-x", "-q", *plugins, "--basetemp", f"{folder}/pytest", f"@{listed}"]
        most = int(5 * seconds) + 30
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))  # noqa: E731
        done = subprocess.run(
            command,
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            preexec_fn=limit,
            timeout=3600,
            check=False,
        )
    if done.returncode == 0:
        return "survived", ""
    if done.returncode < 0:
        return "endless", ""
    if done.returncode not in (1, 2):
        sys.exit(f"{place}: pytest ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "killed", failed[0] if failed else "not imported"


def work(chosen: list[Place], known: dict[str, Any], given: argparse.Namespace, done: Rows) -> Callable[[Trial], None]:
    """Try each fault that is not done, and note what came of it."""
    seed, until = str(given.seed), time.monotonic() + 60 * given.minutes

    def loop(trial: Trial) -> None:
        todo = [place for place in chosen if (seed, *key(place)) not in done]
        for number, place in enumerate(todo):
            if time.monotonic() > until:
                break
            tests, count = shown_to(place, known, given.budget)
            tests = [test for test in tests if test in trial.items]
            seconds = sum(known["seconds"][test] for test in tests)
            if number == 0 and trial.shown(None, tests, seconds)[0] != "survived":
                sys.exit(f"the tests fail without a fault: {trial.shown(None, tests, seconds)}")
            outcome, test = trial.shown(place, tests, seconds) if tests else ("not run", "")
            if outcome == "apart":
                outcome, test = apart(place, tests, seconds)
            module, one, nth = place
            what = (seed, module, nth, one.line, one.kind, _line(one.before), _line(one.after))
            row = (*what, outcome, test, len(tests), count, "")
            done[seed, *key(place)] = {name: str(value) for name, value in zip(COLUMNS, row, strict=True)}
            write(done, given.results)

    return loop


def read(results: Path = RESULTS) -> Rows:
    """What came of the faults that were tried before."""
    if not results.exists():
        return {}
    names = ("seed", "module", "nth", "kind", "before", "after")
    with results.open(newline="", encoding="utf-8") as file:
        return {tuple(row[name] for name in names): row for row in csv.DictReader(file)}


def write(done: Rows, results: Path) -> None:
    """All rows, under the file's name when they are whole."""
    temporary = results.with_suffix(".part")
    with temporary.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(done.values())
    temporary.replace(results)


def equivalent(row: dict[str, str]) -> bool:
    """Whether a fault that was not found changes nothing that could be seen."""
    return row["why"].startswith("equivalent")


def share(rows: list[dict[str, str]]) -> float:
    """The part that was found of those that change anything."""
    return sum(row["outcome"] in FOUND for row in rows) / max(len(rows) - sum(map(equivalent, rows)), 1)


def of_sample(done: Rows, seed: int | None) -> list[dict[str, str]]:
    """The rows of one sample; without a seed of all."""
    return [row for row in done.values() if seed is None or row["seed"] == str(seed)]


def counted(rows: list[dict[str, str]]) -> float:
    """Print the counts of every package and of all places together; the share that was found of all."""
    for name in (*PACKAGES, ""):
        part = [row for row in rows if row["module"].startswith(name)]
        found, same = sum(row["outcome"] in FOUND for row in part), sum(map(equivalent, part))
        print(
            f"{name or 'all'}: {found} of {len(part)} found, {same} of the others change nothing: "
            f"{share(part):.1%} of the rest"
        )
    return share(rows)


def main() -> None:
    """Read the options, try, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["map", "try", "again", "counts"])
    options.add_argument("--count", type=int, default=120, help="of all places")
    options.add_argument("--seed", type=int)
    options.add_argument("--budget", type=float, default=20, help="seconds of tests of other modules")
    options.add_argument("--tests", nargs="*", default=[], help="of which the map is made; all quick ones if none")
    options.add_argument("--map", type=Path, default=MAP)
    options.add_argument("--results", type=Path, default=RESULTS)
    options.add_argument("--minutes", type=float, default=float("inf"), help="end after so many; the next run goes on")
    given = options.parse_args()
    if given.what in ("try", "again") and given.seed is None:
        options.error("--seed: say which sample")
    os.chdir(REPOSITORY)
    quick = ["-q", "-m", QUICK, "-p", "no:cacheprovider"]
    if given.what == "map":
        os.environ["LINE_MAP"] = str(given.map)
        sys.exit(pytest.main([*quick, "-p", "torture.line_map", *given.tests]))
    done = read(given.results)
    if given.what != "counts":
        known, every = json.loads(given.map.read_text(encoding="utf-8")), places()
        if given.what == "again":
            lived = [row for row in of_sample(done, given.seed) if row["outcome"] not in FOUND and not equivalent(row)]
            again = {name for name, row in done.items() if any(row is one for one in lived)}
            chosen = [place for place in every if (str(given.seed), *key(place)) in again]
            done = {name: row for name, row in done.items() if name not in again}
        else:
            chosen = sampled(every, given.count, given.seed)
        for module in {place[0] for place in chosen}:
            importlib.import_module(
                ".".join(("cosparse", *(part for part in Path(module).with_suffix("").parts if part != "__init__")))
            )
        plugin = Trial(work(chosen, known, given, done))
        with tempfile.TemporaryDirectory(prefix="planting-") as folder:
            shown = [test for place in chosen for test in shown_to(place, known, given.budget)[0]]
            files = sorted({test.partition("::")[0] for test in shown})
            pytest.main([*quick, "--capture=no", "--basetemp", f"{folder}/tests", *files], plugins=[plugin])
    sys.exit(counted(of_sample(done, given.seed)) < LEAST)


if __name__ == "__main__":
    main()
