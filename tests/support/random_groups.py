"""Random actions of members in two groups, some of which are refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from groupmock.journal.rows import Row
from groupmock.rig.ask import Ask
from tools.mistakes.stage import Consumer, Stage

ACTIONS = ("together", "join", "sync", "beat", "commit", "leave", "hang up", "expire", "sleep", "sleep", "rebalance")


class Namesakes(Stage):
    """A stage on which the consumers `app~1` and `app~2` have connections of their own and one client id, `app`."""

    def send(self, key: int, version: int, message: Any, *, connection: str, client_id: str, node: int = 1) -> Ask:
        return super().send(key, version, message, connection=connection, client_id=client_id.partition("~")[0], node=node)


def history(seed: int, steps: int = 40, names: tuple[str, ...] = ("anna", "ben", "cleo")) -> list[Row]:
    """Return the rows of random actions of members in two groups, some of which are refused."""
    dice = random.Random(seed)
    stage = Namesakes({"orders": 5, "bills": 2})
    who = [(name, group) for name in names for group in ("kitchen", "cellar")]
    members = [stage.consumer(name, group=group, topics=["orders", "bills"]) for name, group in who]
    for _ in range(steps):
        member, action = dice.choice(members), dice.choice(ACTIONS)
        try:
            _act(stage, dice, member, action, [each for each in members if each.group == member.group])
        except (AssertionError, ValueError, LookupError):  # The request is not answered yet, or no member exists for the command.
            pass
        stage.sleep(dice.choice((0, 1, 250, 4000)))
    return list(stage.ring.rows)


def _act(stage: Stage, dice: random.Random, member: Consumer, action: str, group: list[Consumer]) -> None:
    do: dict[str, Callable[[], Any]] = {
        "together": lambda: stage.together(*group),
        "join": member.join,
        "sync": member.sync,
        "beat": member.beat,
        "commit": lambda: member.commit({("orders", 0): dice.randrange(9)}),
        "leave": lambda: member.leave_because("enough"),
        "hang up": lambda: stage.hang_up(member.client_id),
        "expire": lambda: stage.rig.command("expire_member", group=member.group, member=member.member_id),
        "rebalance": lambda: stage.rig.command("force_rebalance", group=member.group),
        "sleep": lambda: stage.sleep(dice.choice((3000, 11_000, 50_000))),
    }
    do[action]()
