"""No request costs more than 50 ms and 32 MB beyond its own size unless it is refused, for every API and every field that multiplies work.

The requests are made from what the codec declares, and what they cost is counted in steps: nothing here knows which field costs what.
All of it is on a scale of one to twenty: the limits, the state that peers have built up, the requests and what they may cost.
"""

from __future__ import annotations

from typing import Final

import pytest

from groupmock.rig.wire import request
from groupmock_codec import APIS
from tools.budgets.meter import MOST_BYTES, MOST_MS, STEPS_PER_MS, Cost, counted
from tools.budgets.requests import Case, cases
from tools.budgets.state import BIG, MANY, BigState

SCALE: Final = 20
SIZE: Final = 10_000 // SCALE
MOST: Final = 20_000 // SCALE
"""Number of elements in a request without its tags; the codec refuses to decode many more."""
SETTINGS: Final = {
    "groupmock.request.max.elements": 30_000 // SCALE,
    "groupmock.request.max.work": 50_000 // SCALE,
    "groupmock.answer.max.bytes": 8 * 1024 * 1024 // SCALE,
    "groupmock.cluster.max.partitions": 12_000 // SCALE,
}
STEPS: Final = MOST_MS * STEPS_PER_MS // SCALE
BYTES: Final = MOST_BYTES // SCALE
SERVED: Final = [pytest.param("groupmock", key, id=APIS[key].name) for key in sorted(BigState(10).rig.driver.codecs.advertised)]


class Asked:
    """A cluster that receives one request after another and is replaced after an answer has changed it."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._make()

    def _make(self) -> None:
        self.state = BigState(SIZE, self._profile, SETTINGS)
        self._before = self._look()

    def _look(self) -> object:
        cluster = self.state.rig.core.cluster
        big, many = cluster.groups.find(BIG), cluster.groups.find(MANY)
        groups = sum(1 for _ in cluster.groups.all())
        made = cluster.topics.count, cluster.topics.partition_count
        return made, groups, big and (big.epoch, len(big.members)), many and len(many.offsets)

    def cost(self, case: Case) -> tuple[Cost, int]:
        """Return the cost of a case and the length of its frame. Too many bytes are measured twice, because Python's table of interned
        names, which belongs to no request, doubles at some time (2 MB)."""
        cost, length = self._cost(case)
        return self._cost(case) if cost.over and cost.steps <= STEPS else (cost, length)

    def _cost(self, case: Case) -> tuple[Cost, int]:
        if self._look() != self._before:
            self._make()
        frame = request(case.key, case.version, case.message)
        wire = self.state.rig.connect()
        cost = counted(lambda: wire.send(frame), STEPS, BYTES + COPIES * len(frame))
        counters = self.state.rig.driver.counters
        assert cost.over or not counters.internal_errors, f"{case}: a defect"
        if cost.over:
            self._make()  # A request over the limit was interrupted, so the cluster may be inconsistent.
        else:
            self.state.work_off()
            assert self.state.rig.connect().ask(18, 0).api_keys, f"after {case} the server answers no more"
        return cost, len(frame)


COPIES: Final = 12
"""A decoded message may take this many times the frame's bytes in memory, because request and answer are as large as the frame."""


@pytest.mark.parametrize(("profile", "key"), SERVED)
def test_no_request_costs_more_than_its_budget(profile: str, key: int) -> None:
    asked = Asked(profile)
    versions = next(row for row in asked.state.rig.core.environment.identity.advertised if row.key == key)
    wrong = []
    for version in dict.fromkeys((versions.lowest, versions.highest)):
        for case in list(cases(asked.state, key, version, MOST)):
            cost, length = asked.cost(case)
            if cost.over:
                wrong.append(f"{case} ({length} bytes): more than {STEPS} steps or {BYTES} bytes ({cost.steps}, {cost.bytes})")
    assert not wrong, "\n".join(wrong)
