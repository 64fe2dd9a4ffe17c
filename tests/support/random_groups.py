"""Makes the rows of groups whose members act at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from groupmock.journal.journal import Sink
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


def restarts(
    seed: int, names: tuple[str, ...] = ("anna", "app~1", "app~2", "app~3"), steps: int = 16, sinks: Sequence[Sink] = ()
) -> list[Row]:
    """Return the rows of a group whose processes start, stop, are killed and lose their connection at random. Some go on by another
    connection. After each of these the group settles, as far as its members are alive."""
    dice = random.Random(seed)
    stage = Namesakes({"orders": 7}, sinks=sinks)
    alive: dict[str, Consumer] = {}
    for _ in range(steps):
        name = dice.choice(names)
        action = dice.choice(("stop", "kill", "lose the connection", "go on by another", "nothing"))
        if name not in alive:
            alive[name] = stage.consumer(name, session_ms=6000, rebalance_ms=6000)
        elif action == "stop":
            alive.pop(name).leave_because("enough")
        elif action == "kill":
            del alive[name]
            stage.hang_up(name)
        elif action == "lose the connection":
            stage.hang_up(name)
            stage.sleep(dice.choice((0, 700)))
        elif action == "go on by another" and alive[name].generation >= 0:
            for _ in range(dice.choice((1, 2))):
                stage.hang_up(name)
                stage.sleep(dice.choice((0, 700)))
                alive[name].beat()
                stage.sleep(dice.choice((0, 300)))
        _settle(stage, list(alive.values()))
        for member in alive.values():
            member.commit({("orders", 0): 1})
        stage.sleep(dice.choice((0, 1000)))
    if sinks:
        stage.rig.close()
    return list(stage.ring.rows)


def _settle(stage: Stage, members: list[Consumer]) -> None:
    """Let the members join, wait for those that are dead, and sync. New members and the leader join first, because a rebalance would end
    without the others or not begin."""
    for member in sorted(members, key=lambda each: (bool(each.member_id), not each.leads)):
        member.join()
    for _ in range(20):
        if all(member.generation >= 0 for member in members):
            break
        stage.sleep(500)
    for member in sorted(members, key=lambda each: each.leads, reverse=True):
        member.sync()
    stage.sleep(0)
