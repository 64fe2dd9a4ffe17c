"""Fixed seeds of every kind pass, and the same seed gives the same journal byte for byte in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cases import for_each

import groupmock
from groupmock_clients.simulation.draw import ALWAYS, PROFILES, WEIGHTS, draw
from groupmock_clients.simulation.limited import judged
from groupmock_clients.simulation.plan import EVERY_KIND, KINDS, case_of, plan_of
from groupmock_clients.simulation.play import Playing, bound_ms
from groupmock_clients.simulation.simulate import play
from groupmock_clients.simulation.steps import COMMANDS, MAKE
from groupmock_codec import __file__ as codec_file

EACH = 24
DIGESTS = """
from groupmock_clients.simulation.simulate import simulate
kinds = "mixed", "hostile", "groups", "consumers", "transactions", "shares", "streams"
print(*[simulate(seed, kind).digest for kind in kinds for seed in range(6)], sep="\\n")
"""


@for_each("kind", EVERY_KIND)
def test_seeds_of_every_kind_hold(kind: str) -> None:
    verdicts = [judged(seed, kind) for seed in range(EACH)]
    broken = [f"{each.seed}: {each.judge}: {each.text}" for each in verdicts if each.judge is not None]
    assert not broken, "\n".join(broken)
    assert sum(each.replayed for each in verdicts) >= EACH // 4
    assert sum(each.requests for each in verdicts) > EACH * 50, "members do something"


def test_a_seed_is_one_journal_in_every_process() -> None:
    sources = [str(Path(file).parents[1]) for file in (groupmock.__file__, codec_file, sys.modules["groupmock_clients"].__file__ or "")]
    one, other = (
        subprocess.run(
            [sys.executable, "-c", DIGESTS], check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sources)},
        ).stdout.split()
        for hash_seed in ("1", "2")
    )  # fmt: skip
    assert one == other and len(set(one)) == 42


def test_a_plan_that_was_written_down_plays_the_same() -> None:
    plan = draw(11, "mixed")
    assert play(plan_of(case_of(plan))).digest == play(plan).digest


def test_every_kind_draws_what_it_is_about() -> None:
    plans = [draw(seed) for seed in range(400)]
    assert {plan.kind for plan in plans} == set(KINDS) == set(WEIGHTS)
    assert {plan.profile for plan in plans} == set(PROFILES) and {plan.nodes for plan in plans} == {1, 2, 3, 4}
    steps = [step for plan in plans for step in plan.steps]
    assert {step[0] for step in steps} == set(MAKE) == {*ALWAYS, *(name for weights in WEIGHTS.values() for name in weights)}
    assert {step[1] for step in steps if step[0] == "command"} == set(COMMANDS)


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no kind of simulation is called 'storms': there are groups, .* mixed, .*consumers"):
        draw(1, "storms")


def test_peace_has_a_bound() -> None:
    run = Playing(draw(3, "groups"), sampled=False)
    assert bound_ms(run.plan) < 150_000
