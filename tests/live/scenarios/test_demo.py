"""`make demo`: its words from rows, its end to end run, and its sentence when something does not happen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from groupmock.journal.rows import MemberRow, MovedRow, RequestRow, Row
from groupmock_clients.scenarios import demo
from groupmock_clients.scenarios.story import Teller, because

UUID = "0f3c1d2e-1111-2222-3333-444455556666"
S = 1_000_000_000


def added(name: str, t: int) -> MemberRow:
    return MemberRow(t=t, group="g", member_id=f"{name}-{UUID}", what="added", reason=f"member {name}-{UUID} joined")


def moved(before: str, after: str, t: int, reason: str, **more: Any) -> MovedRow:
    return MovedRow(t=t, group="g", before=before, after=after, generation=1, reason=reason, leader=f"ada-{UUID}",
                    protocol_name="range", **more)


def synced(t: int, **plan: list[int]) -> RequestRow:
    message = {"assignments": [{"member_id": f"{name}-{UUID}"} for name in plan]}
    embedded = {f"assignments[{index}].assignment": {"assigned_partitions": [{"topic": "t", "partitions": held}]}
                for index, held in enumerate(plan.values())}
    return RequestRow(t=t, connection=1, ticket=1, correlation_id=1, api_key=14, api_name="SyncGroup", api_version=5,
                      received=t, handled=t, size=1, message=message, embedded=embedded)


def told(teller: Teller, *rows: Row) -> list[str]:
    return [line for row in rows for line in teller.tell(row)]


def test_a_round_is_told_with_its_cause_its_leader_and_its_outcome() -> None:
    teller = Teller("g", "t")
    lines = told(
        teller,
        added("ada", S),
        moved("Empty", "PreparingRebalance", S, f"member ada-{UUID} joined"),
        added("ben", S),
        moved("PreparingRebalance", "CompletingRebalance", 2 * S, "the initial delay is over", members=2),
        synced(2 * S, ada=[0, 2], ben=[1]),
        moved("CompletingRebalance", "Stable", 3 * S, "leader brought the assignments", members=2),
    )
    text = "\n".join(lines)
    for piece in ("1.00 s  Round 1 starts: ada joined.", "Meanwhile: ben joined.", "Generation 1 has 2 members",
                  'ada leads and shares out the partitions with an assignor that all have, "range"', "over after 2.0 s",
                  "ada  leader  0 2", "ben          1"):
        assert piece in text
    assert UUID not in text
    assert teller.settled(2)


def test_what_a_member_gained_is_marked() -> None:
    teller = Teller("g", "t")
    told(teller, added("ada", 0), synced(0, ada=[0]), moved("CompletingRebalance", "Stable", 0, "x"))
    lines = told(teller, synced(1, ada=[0, 1]), moved("CompletingRebalance", "Stable", 1, "x"))
    assert lines[-1].endswith("0 1  (new: 1)")


def test_other_groups_and_members_that_are_only_reserved_are_not_told() -> None:
    teller = Teller("other", "t")
    assert told(teller, added("ada", 0), moved("Empty", "PreparingRebalance", 0, "x")) == []
    assert not teller.settled(0)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (f"member ada-{UUID} left", "ada left"),
        (f"session of ben-{UUID} expired after 3000 ms", "ben's session ended, no heartbeat came for 3 s"),
        (f"all members joined, eli-{UUID} was the last", "everybody joined, eli last"),
        ("something new under the sun", "something new under the sun"),
    ],
)
def test_reasons_in_plain_words(reason: str, words: str) -> None:
    assert because(reason) == words


def test_the_demo_runs_to_its_end() -> None:
    done = subprocess.run([sys.executable, "-m", "groupmock_clients.scenarios.demo"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for piece in ("kill -9 ben", "ben's session ended, no heartbeat came for 3 s", "dana left", "every one was read", "group is empty"):
        assert piece in done.stdout
    for name in ("ada", "ben", "cleo", "dana", "eli"):
        assert f"{name} joined" in done.stdout


def test_a_group_that_does_not_settle_is_a_clear_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def nobody_comes(one: demo.Demo) -> None:
        await one.settle(3)

    monkeypatch.setattr(demo, "PATIENCE", 2.0)
    monkeypatch.setattr(demo, "story", nobody_comes)
    assert demo.main() == 1
    assert "The demo failed: waited 2 s for: a Stable group of 3 members. The group is not there" in capsys.readouterr().err


def test_a_server_that_dies_is_a_clear_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def server_killed(one: demo.Demo) -> None:
        os.kill(one.server.pid, signal.SIGKILL)
        await one.settle(3)

    monkeypatch.setattr(demo, "story", server_killed)
    assert demo.main() == 1
    assert "The demo failed: the server ended by itself with status -9" in capsys.readouterr().err
