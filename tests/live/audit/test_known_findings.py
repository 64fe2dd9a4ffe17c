"""Each known mistake of a stock client is shown by a short history that its maintainer can reproduce.

When one of these tests fails, the library may have fixed the mistake: then its entry in tests/support/audit_known.toml is obsolete.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from audit_histories import GROUP, KNOWN, History, played

from groupmock_clients.probe.stages.lateness import WakeLateness

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Warnings are no failures here, because client libraries warn when their broker returns errors.
    pytest.mark.usefixtures("sockets_are_found_where_they_were_left"),
]

COOPERATIVE: Final = ("cooperative-sticky",)
BEAT_MS: Final = 100
EXPELLED: Final = {"when": {"api": "Heartbeat", "nth": 8}, "do": {"kind": "expire_member"}}
"""A fault rule that answers a heartbeat with UNKNOWN_MEMBER_ID, some 0.8 s after the first heartbeat."""
SHORT_POLL_MS: Final = 10
"""Poll interval in ms, shorter than any pause between retries.

The library cuts its pause to the rest of a poll (audit_known.toml), and nothing is left of such a poll. At the end of a longer poll the
retries come within some 3 ms, in which a busy machine has time for too few.
"""
CHANCE: Final = {
    ("kafka-python", "CLIENT-25"), ("confluent-kafka", "CLIENT-41"), ("confluent-kafka", "CLIENT-42"),
    ("kafka-python", "CLIENT-37"), ("kafka-python", "CLIENT-38"), ("kafka-python", "CLIENT-43"), ("kafka-python", "CLIENT-65"),
    ("confluent-kafka", "CLIENT-12"), ("confluent-kafka", "CLIENT-17"), ("confluent-kafka", "CLIENT-21"), ("confluent-kafka", "CLIENT-39"),
    ("confluent-kafka", "CLIENT-65"),
}  # fmt: skip
"""Findings that occur only by chance, because no history is known that always shows them."""


def shortest(
    library: str,
    *rules: dict[str, Any],
    partitions: int = 2,
    leave: tuple[tuple[float, int], ...] = (),
    seconds: float = 2.5,
    members: tuple[dict[str, Any], ...] = ({},),
    **of_all: Any,
) -> History:
    """Return a history with one topic and one node, in which members join one after the other and records are written four times."""
    fields = {"session_ms": 3000, "heartbeat_ms": BEAT_MS, "commit_ms": 100, "metadata_ms": 1000, "instance": None, **of_all}
    joins = [(0.4 * number, "join", number) for number in range(len(members))]
    return History(
        library=library, seed=1, nodes=1, profile="kafka-4.3", delay_ms=100, topics={"orders-0": partitions}, plan=None, rules=list(rules),
        members=[{"assignors": ("range",), "name": f"cook-{number}", **fields, **each} for number, each in enumerate(members)],
        steps=sorted([*joins, *((at, "leave", number) for at, number in leave), *((at / 4 * seconds, "produce", 0) for at in range(4))]),
        seconds=seconds,
    )  # fmt: skip


REFUSED: Final = shortest(
    "aiokafka", {"when": {"api": "OffsetFetch", "every": 1}, "do": {"kind": "error", "code": 16}, "times": 2},
    heartbeat_ms=900, commit_ms=None, seconds=3,
)  # fmt: skip
SHORTEST: Final = {
    ("aiokafka", "CLIENT-21"): shortest("aiokafka", EXPELLED),
    ("aiokafka", "CLIENT-24"): REFUSED,
    ("aiokafka", "CLIENT-69"): REFUSED,
    ("kafka-python", "CLIENT-23"): shortest(
        "kafka-python", {"when": {"api": "JoinGroup", "every": 1}, "do": {"kind": "error", "code": 14}, "times": 60}, poll_ms=SHORT_POLL_MS
    ),
    ("kafka-python", "CLIENT-36"): shortest("kafka-python", EXPELLED, assignors=COOPERATIVE),
    ("kafka-python", "CLIENT-39"): shortest("kafka-python", EXPELLED, assignors=COOPERATIVE),
    ("kafka-python", "CLIENT-44"): shortest("kafka-python"),
    ("confluent-kafka", "CLIENT-27"): shortest(
        "confluent-kafka", partitions=1, members=({}, {}), assignors=COOPERATIVE, leave=((2.0, 0), (2.0, 1))
    ),
}  # fmt: skip


def test_every_known_finding_has_its_history() -> None:
    known = {(library, rule) for library, rule, _ in KNOWN}
    assert known == SHORTEST.keys() | CHANCE
    assert not CHANCE & SHORTEST.keys()


@pytest.mark.parametrize(("library", "rule"), SHORTEST, ids=lambda value: value)
def test_it_is_shown(library: str, rule: str, tmp_path: Path) -> None:
    with WakeLateness() as lateness:
        done = played(SHORTEST[library, rule], tmp_path, lateness)
    found = [line for line in done.findings(known=True) if f" {rule}: " in line]
    assert found, (GROUP, done.findings(known=False), done.raised)
