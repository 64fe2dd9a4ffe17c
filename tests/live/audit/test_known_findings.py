"""What stock clients really do wrong, each in its shortest history: what its maintainers would be shown. When one of these fails, the
library may have mended it: then its entry goes from tests/support/audit_known.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from audit_histories import GROUP, KNOWN, History, played

from groupmock_clients.probe.stages.lateness import WakeLateness

pytestmark = [
    pytest.mark.filterwarnings("default"),  # what libraries leave behind when their broker fails them is theirs
    pytest.mark.usefixtures("sockets_are_found_where_they_were_left"),
]

COOPERATIVE: Final = ("cooperative-sticky",)
BEAT_MS: Final = 100
EXPELLED: Final = {"when": {"api": "Heartbeat", "nth": 8}, "do": {"kind": "expire_member"}}
"""UNKNOWN_MEMBER_ID to a heartbeat, some 0.8 s after the first one."""
SHORT_POLL_MS: Final = 10
"""The pause is cut to what is left of a poll (audit_known.toml): of one shorter than any pause nothing is left of it. At the end of a
longer one the tries come within some 3 ms, in which a busy machine finds room for too few."""
CHANCE: Final = {
    ("kafka-python", "CLIENT-25"), ("confluent-kafka", "CLIENT-41"), ("confluent-kafka", "CLIENT-42"),
    ("kafka-python", "CLIENT-37"), ("kafka-python", "CLIENT-38"), ("kafka-python", "CLIENT-43"), ("kafka-python", "CLIENT-65"),
    ("confluent-kafka", "CLIENT-17"), ("confluent-kafka", "CLIENT-21"), ("confluent-kafka", "CLIENT-39"), ("confluent-kafka", "CLIENT-65"),
}  # fmt: skip
"""Nobody has found a history that shows these every time."""


def shortest(
    library: str,
    *rules: dict[str, Any],
    partitions: int = 2,
    leave: tuple[tuple[float, int], ...] = (),
    seconds: float = 2.5,
    members: tuple[dict[str, Any], ...] = ({},),
    **of_all: Any,
) -> History:
    """One topic, one node, members that come one after the other, a record per partition each quarter of the time."""
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
