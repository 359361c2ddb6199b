"""No figure moves unseen: every task, every quality, three noise levels, to 0.02 dB."""

from __future__ import annotations

import golden
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("case", list(golden.cases()), ids=str)
def test_what_every_task_reaches(case):
    assert case.reached() == pytest.approx(golden.table()[str(case)], abs=0.02)


def test_the_table_has_every_case_and_no_other():
    assert list(golden.table()) == [str(case) for case in golden.cases()]
