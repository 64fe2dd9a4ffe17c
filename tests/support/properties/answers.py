"""The core answers every request of every version with a message that this version can encode, and without an internal error.

Case: `profile`, `seed` (of the core's random numbers), `steps`: ["ask", node, connection, key, version, request in base64], ["gone",
connection] and ["wait", ms].
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from found import Case, Property, unpacked

from groupmock.core.identity import ApiRange
from groupmock.rig import Ask, CoreRig, Watch, make_core
from groupmock_codec import APIS
from groupmock_codec.declare import Message

TOPICS = ("orders", "audit")
PARTITIONS = 3
SETTINGS = {"group.initial.rebalance.delay.ms": 50, "group.min.session.timeout.ms": 10}


class Asking(Watch):
    """A cluster of three nodes that receives random requests. The rig refuses a second answer and an answer that its version cannot
    carry; it checks every group's invariants. `heard` receives each message. Each request has its own connection, so that none delays
    another."""

    def __init__(self, profile_name: str, seed: int, heard: Callable[[Message], None] = lambda message: None) -> None:
        core = make_core(profile_name, SETTINGS, seed=seed, nodes=3)
        self.rows: list[ApiRange] = list(core.environment.identity.advertised)
        self.rig = CoreRig(core, watch=self)
        self.heard = heard
        self.asked = 0
        self.links: defaultdict[int, list[str]] = defaultdict(list)
        for name in TOPICS:
            self.rig.command("create_topic", name=name, partitions=PARTITIONS)

    def take(self, step: Sequence[Any]) -> None:
        """Run one step of a case."""
        what, *values = step
        doing: dict[str, Callable[..., object]] = {"ask": self._ask, "gone": self._gone, "wait": self.rig.sleep}
        doing[what](*values)

    def _ask(self, node: int, connection: int, key: int, version: int, data: str) -> None:
        message = APIS[key].request.decode(version, unpacked(data))
        self.asked += 1
        self.links[connection].append(f"{connection}/{self.asked}")
        self.rig.send(key, version, message, connection=self.links[connection][-1], client_id="c", node=node)

    def _gone(self, connection: int) -> None:
        for link in self.links.pop(connection, ()):
            self.rig.hang_up(link)

    def answered(self, ask: Ask) -> None:
        """Pass an answer to `heard`, as a callback of the rig."""
        self.heard(ask.answer)


def _holds(case: Case) -> None:
    asking = Asking(case["profile"], case["seed"])
    for step in case["steps"]:
        asking.take(step)


ANSWERS = Property("answers", _holds)
