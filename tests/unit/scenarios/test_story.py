"""What `groupmock demo` tells: its words from rows, and the whole tour on the virtual clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from cases import for_each

from groupmock_clients.scenarios import virtual
from groupmock_clients.scenarios.catalogue import TOUR, TOUR_PROTOCOL, protocols
from groupmock_clients.scenarios.demo import sizes
from groupmock_clients.scenarios.play import GROUP, TOPIC, Missed, Protocol, play
from groupmock_clients.scenarios.story import ARRIVALS, Teller, because

UUID = "0f3c1d2e-1111-2222-3333-444455556666"
S = 1_000_000_000
Fields = dict[str, Any]


def added(name: str, t: int) -> Fields:
    member = f"{name}-{UUID}"
    return {"kind": "member", "t": t, "group": "g", "member_id": member, "what": "added", "reason": f"member {member} joined"}


def moved(before: str, after: str, t: int, reason: str, **more: Any) -> Fields:
    row = {"kind": "moved", "t": t, "group": "g", "before": before, "after": after, "generation": 1, "reason": reason}
    return {**row, "leader": f"ada-{UUID}", "protocol_name": "range", **more}


def synced(t: int, **plan: list[int]) -> Fields:
    message = {"assignments": [{"member_id": f"{name}-{UUID}"} for name in plan]}
    embedded = {
        f"assignments[{index}].assignment": {"assigned_partitions": [{"topic": "t", "partitions": held}]}
        for index, held in enumerate(plan.values())
    }
    return {"kind": "request", "t": t, "api_key": 14, "message": message, "embedded": embedded}


def client(name: str, what: str, t: int = 0, **fields: Any) -> Fields:
    return {"kind": "client", "t": t, "client": name, "what": what} | ({"fields": fields} if fields else {})


def teller(group: str = "g") -> Teller:
    return Teller(group, "t", sizes())


def told(by: Teller, *rows: Mapping[str, Any]) -> list[str]:
    return [line for row in rows for line in by.tell(row)]


def test_a_round_is_told_with_its_cause_its_leader_and_its_outcome() -> None:
    one = teller()
    lines = told(
        one,
        added("ada", S),
        moved("Empty", "PreparingRebalance", S, f"member ada-{UUID} joined"),
        added("ben", S),
        moved("PreparingRebalance", "CompletingRebalance", 2 * S, "the initial delay is over", members=2),
        synced(2 * S, ada=[0, 2], ben=[1]),
        moved("CompletingRebalance", "Stable", 3 * S, "leader brought the assignments", members=2),
    )
    text = "\n".join(lines)
    for piece in (
        "1.00 s  Round 1 starts: ada joined.", "Meanwhile: ben joined.", "Generation 1 has 2 members",
        'ada leads and shares out the partitions with an assignor that all have, "range"', "over after 2.0 s",
        "ada  leader  0 2", "ben          1",
    ):  # fmt: skip
        assert piece in text
    assert UUID not in text
    assert (one.state, one.members, one.owned) == ("Stable", {"ada", "ben"}, {"ada": [0, 2], "ben": [1]})


def test_what_a_member_gained_is_marked() -> None:
    one = teller()
    told(one, added("ada", 0), synced(0, ada=[0]), moved("CompletingRebalance", "Stable", 0, "x"))
    lines = told(one, synced(1, ada=[0, 1]), moved("CompletingRebalance", "Stable", 1, "x"))
    assert lines[-1].endswith("0 1  (new: 1)")


def test_other_groups_are_not_told() -> None:
    assert told(teller("other"), added("ada", 0), moved("Empty", "PreparingRebalance", 0, "x")) == []


@for_each(
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


def delivered(name: str, first: int, last: int) -> Fields:
    return client(name, "delivered", topic="t", partition=0, first=first, last=last)


def test_records_that_came_twice_are_counted_with_why() -> None:
    one = teller()
    produced = client("producer", "produced", topic="t", partition=0, first=0, last=9)
    told(one, produced, delivered("ben", 0, 5), client("ben", "killed"), delivered("ada", 4, 9), delivered("cleo", 9, 9))
    assert list(one.reckoning()) == [
        "",
        "10 records were produced and every one was read, in 0 rounds.",
        "Read twice: 2 records that ben had read but not yet committed when it was killed;",
        "whoever got its partitions began again at its last commit.",
        "Read twice: 1 record because a round came between reading and committing.",
    ]


def test_a_record_that_nobody_read_fails_the_demo() -> None:
    one = teller()
    told(one, client("producer", "produced", topic="t", partition=0, first=0, last=9), delivered("ben", 0, 5))
    with pytest.raises(Missed, match="4 of 10 records were never read"):
        list(one.reckoning())


def test_the_tour_is_told_to_its_end() -> None:
    """On the virtual clock, where everybody speaks range: every act, who crashes and who leaves, and no record lost."""
    one = Teller(GROUP, TOPIC, sizes())
    (protocol,) = protocols("virtual", "range")
    with virtual.open_stage(sizes(), protocol) as stage:
        lines = told(one, *play(TOUR, sizes(), protocol, stage).rows)
    text = "\n".join([*lines, *one.reckoning()])
    titles = [f"--- {each[0]} ---" for each in ARRIVALS.values()]
    for piece in (*titles, "--- ben crashes (kill -9) ---", "--- cleo leaves in good order ---", "in 4 rounds"):
        assert text.count(piece) == 1, text
    for piece in ("Until ben's session ends, 3 s after", "s  kill -9 ben", "ben's session ended, no heartbeat came for 3 s", "cleo left"):
        assert piece in text
    assert one.members == {"ada", "dana", "eli"}


def test_the_tours_protocol_names_members_of_the_cast() -> None:
    assert {name for name, _ in TOUR_PROTOCOL.others} < set(TOUR.cast)
    assert ARRIVALS.keys() == {TOUR.cast[0], TOUR.cast[sizes().members]}
    assert len(TOUR.cast) == sizes().members + sizes().change


def test_the_tours_protocol_is_not_one_of_those_that_are_measured() -> None:
    for stage in ("live", "virtual"):
        assert Protocol(TOUR_PROTOCOL.name, TOUR_PROTOCOL.client) not in protocols(stage)
