"""No likely cause is told of 200 healthy simulated runs. GROUPMOCK_FIRST_SEED is the first seed; `make test` plays the seeds below 42."""

from __future__ import annotations

import os
from typing import Final

import pytest
from healthy_runs import healthy_rows

from groupmock.story.causes import LIKELY
from groupmock.story.telling import tell

COUNT: Final = 200
FIRST: Final = int(os.environ.get("GROUPMOCK_FIRST_SEED", "42"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_no_cause_is_told_of_a_healthy_run(seed: int) -> None:
    assert [line for line in tell(healthy_rows(seed)) if LIKELY in line] == []
