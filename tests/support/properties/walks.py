"""With random members and steering commands on the pure core, no request is answered twice and no request stays parked.

Case: `seed` (of the core's random numbers), `steps`: [what, values]; what is `command`, `sleep`, or a request of core_world.World.
"""

from __future__ import annotations

from typing import Any

from core_world import World
from found import Case, Property

from groupmock.core.steering import CannotSteer
from groupmock.core.steering.holds import OperatorHolds, holds_of

REQUESTS = frozenset({"join", "sync", "beat", "commit", "leave"})


class Walked:
    """A cluster of two nodes and the steps of a random walk."""

    def __init__(self, seed: int) -> None:
        self.world = World.make(nodes=2, seed=seed, group_initial_rebalance_delay_ms=200)

    def take(self, what: str, values: dict[str, Any]) -> bool:
        """Run one step of the case and return False for a refused command."""
        if what == "command":
            try:
                self.world.command(values["name"], **values["arguments"])
            except CannotSteer:
                return False
        elif what == "sleep":
            self.world.sleep(values["ms"])
        else:
            self._request(what, **values)
        return True

    def _request(self, what: str, who: list[str], **values: Any) -> None:
        assert what in REQUESTS, what
        if what == "sync":
            values["assignments"] = {name: text.encode() for name, text in values["assignments"].items()}
        if what != "beat" or self._heard(*who):
            getattr(self.world, what)(*who, **values)

    def _heard(self, member_id: str) -> bool:
        """Return whether a heartbeat of the member is answered at once, as `World.beat` requires."""
        return member_id not in self.world.environment.holds.of("g").frozen

    def let_go(self) -> None:
        """Release all holds, fire every timer, and check that no request is parked."""
        world = self.world
        holds = world.environment.holds
        if isinstance(holds, OperatorHolds):
            for group_id, member_id in [*holds.frozen]:
                world.command("thaw_member", group=group_id, member=member_id)
            if "g" in holds.groups or "g" in holds.orders:
                world.command("release_group", group="g")
        world.command("move_coordinator", group="g")
        world.sleep(400_000)
        holds = holds_of(world.cluster)
        assert (holds.groups, holds.orders, holds.frozen, list(world.environment.ready)) == ({}, {}, {}, [])
        assert [asked.request.message for asked in world.asked.values() if asked.parked] == [], "forgotten"


def _holds(case: Case) -> None:
    walked = Walked(case["seed"])
    for what, values in case["steps"]:
        walked.take(what, values)
    walked.let_go()


WALK = Property("walk", _holds)
