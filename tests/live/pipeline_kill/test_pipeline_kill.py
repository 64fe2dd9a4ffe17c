"""A lake stays consistent while its writers are killed at random moments, stopped between file events, or started two at a time.

It is a part of its own: beside other tests that start Spark it does not end within a part's half hour.
"""

from __future__ import annotations

import random
from pathlib import Path

from tools.pipeline_proof.kill_trials import Amount, tried

SOME = Amount(ingests=4, jobs=2, states=2, pairs=2)


def test_whoever_is_killed_leaves_a_whole_lake_that_the_next_run_completes(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(2**32)
    told: list[str] = [f"seed {seed}"]
    outcomes = list(tried(tmp_path, seed, SOME, told.append))
    assert outcomes and all(outcomes), "\n".join(told)
