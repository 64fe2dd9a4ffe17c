"""Fixtures of the cooperative assignors' live tests: a broker with a journal, members that end with the test."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from coop_members import EVERY
from raw_member import RawMember

from groupmock import Broker


class House:
    """A broker and everybody who talks to it; closed at the end of the test."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._open: list[Any] = []

    def stock(self, library: str, name: str, settings: dict[str, Any], topics: tuple[str, ...] = ("T",), **options: Any) -> Any:
        """A running stock consumer of group g."""
        member = EVERY[library](self.broker.bootstrap, "g", name, topics, settings, **options)
        self._open.append(member)
        return member

    def script(self, name: str, design: int) -> RawMember:
        """A running raw member of group g."""
        member = RawMember(self.broker.bootstrap, "g", name, "T", design)
        self._open.append(member)
        return member

    def gone(self, member: Any) -> None:
        """It leaves the group."""
        self._open.remove(member)
        (member.leave if isinstance(member, RawMember) else member.stop)()

    def close(self) -> None:
        scripts = [member for member in self._open if isinstance(member, RawMember)]
        for script in scripts:  # before those that lead them go
            script.drop()
        for member in self._open:
            if member not in scripts:
                member.stop()
        self._open.clear()


@pytest.fixture
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    """`@pytest.mark.parametrize("house", [{"group_initial_rebalance_delay_ms": 0}], indirect=True)` sets knobs."""
    knobs = {"group_initial_rebalance_delay_ms": 300, **getattr(request, "param", {})}
    with Broker(topics={"T": 4}, seed=1, journal=str(tmp_path / "journal.jsonl"), **knobs) as broker:
        made = House(broker)
        try:
            yield made
        finally:
            made.close()
            del made
    gc.collect()
