"""A broker with a journal and cooperative members (fixture `house`), and functions that wait for their state."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from raw_member import RawMember
from stock_members import Member, Partition, heard, spec
from waiting import until

from groupmock import Broker
from groupmock_clients.scenarios.live.member_spec import COOPERATIVE, DUAL, RANGE

LIBRARIES = ("aiokafka", "kafka-python")
EVERY = (*LIBRARIES, "aiokafka twin", "kafka-python twin")
RARELY_MS = 3_600_000
"""Interval of the automatic commits of a CooperativeConsumer. The interval is so long that only closing and a hand-over commit."""
ALL = frozenset(("T", number) for number in range(4))
PER_PARTITION = 20


def fill(house: Any, count: int = PER_PARTITION) -> None:
    for number in range(4):
        for _ in range(count):
            house.broker.produce("T", b"x", partition=number)


def holding(house: Any, *members: Any, wanted: frozenset[Partition] = ALL, sizes: list[int] | None = None) -> None:
    """Wait until the members own exactly the partitions `wanted`, each partition once, in shares of the given sizes."""

    def done() -> bool:
        for member in members:
            member.check()
        held = [member.owned() for member in members]
        told = all(heard(member) == member.owned() for member in members if member.listens)
        return told and sorted(part for each in held for part in each) == sorted(wanted) and sizes in (None, sorted(map(len, held)))

    until(f"{sorted(wanted)} as {sizes}", done, lambda: ([sorted(each.owned()) for each in members], house.broker.story("g")))


def everything(house: Any, *members: Any, each: int) -> Counter[tuple[Partition, int]]:
    """Wait until `each` records of every partition were delivered and return how often each record was."""
    wanted = {(part, offset) for part in ALL for offset in range(each)}
    until(
        f"{len(wanted)} records",
        lambda: wanted <= {record for member in members for record in member.delivered},
        lambda: ([len(member.delivered) for member in members], house.broker.story("g")),
    )
    return Counter(record for member in members for record in list(member.delivered))


class House:
    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._open: list[Any] = []

    def stock(
        self, library: str, name: str, settings: dict[str, Any] | None, topics: tuple[str, ...] = ("T",), *, dual: bool = False,
        also_range: bool = False, commit_revoked: bool = False, listens: bool = True, poll_ms: int = 500, **options: Any,
    ) -> Member:  # fmt: skip
        """Start a stock consumer of group g with the cooperative assignor of these settings or, if they are None, the library's own
        range assignor."""
        ours = (DUAL,) if dual else (COOPERATIVE, RANGE) if also_range else (COOPERATIVE,)
        twin = library.endswith(" twin")
        member = Member(
            spec(
                library.removesuffix(" twin"), name, self.broker.bootstrap, "g", topics,
                assignors=(RANGE,) if settings is None else ours, settings=settings or {}, twin=twin, heartbeat_ms=50,
                commit_ms=RARELY_MS if twin else None, commit_revoked=commit_revoked, listens=listens, poll_ms=poll_ms, options=options,
            )
        )  # fmt: skip
        self._open.append(member)
        return member

    def script(self, name: str, design: int) -> RawMember:
        member = RawMember(self.broker.bootstrap, "g", name, "T", design)
        self._open.append(member)
        return member

    def gone(self, member: Any) -> None:
        self._open.remove(member)
        (member.leave if isinstance(member, RawMember) else member.stop)()

    def close(self) -> None:
        scripts = [member for member in self._open if isinstance(member, RawMember)]
        # Close scripted members first, while the stock members that lead their group still run.
        for script in scripts:
            script.drop()
        for member in self._open:
            if member not in scripts:
                member.stop()
        self._open.clear()


@pytest.fixture
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    """Yield a broker with cooperative members for one test. `@pytest.mark.parametrize("house", [{"group_initial_rebalance_delay_ms":
    0}], indirect=True)` sets settings."""
    settings = {"group_initial_rebalance_delay_ms": 300, **getattr(request, "param", {})}
    with Broker(topics={"T": 4}, seed=1, journal=str(tmp_path / "journal.jsonl"), **settings) as broker:
        made = House(broker)
        try:
            yield made
        finally:
            made.close()
            del made
    gc.collect()
