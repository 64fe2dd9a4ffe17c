"""Commands that cannot be executed are refused with one sentence that lists what exists, and change nothing."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from core_world import World

from groupmock.core.steering import BadArguments, CannotSteer, NoSuch, NotNow, UnknownCommand
from groupmock.core.steering.holds import OperatorHolds


def test_an_unknown_command_lists_those_there_are() -> None:
    with pytest.raises(UnknownCommand, match=r"no command 'expire': there are .*expire_member, expire_transactional_id"):
        World.make().command("expire", group="g")


REFUSED: dict[str, tuple[str, dict[str, Any], type[CannotSteer], str]] = {
    "unknown group": ("expire_member", {"group": "nope", "member": "m"}, NoSuch, "no group 'nope': there are g"),
    "unknown member": ("expire_member", {"group": "g", "member": "nope"}, NoSuch, "group 'g' has no member 'nope': there are c-"),
    "ambiguous client": ("expire_member", {"group": "g", "member": "c"}, NotNow, "2 members of client 'c': name one by its member id: c-"),
    "missing argument": ("expire_member", {"group": "g"}, BadArguments, "expire_member: Object missing required field `member`"),
    "unknown argument": ("expire_member", {"group": "g", "member": "m", "x": 1}, BadArguments, "contains unknown field `x`"),
    "wrong type": ("expire_member", {"group": 1, "member": "m"}, BadArguments, r"Expected `str`, got `int` - at `\$.group`"),
    "empty name": ("force_rebalance", {"group": ""}, BadArguments, r"of length >= 1 - at `\$.group`"),
    "unknown instance": ("fence_instance", {"group": "g", "instance": "i"}, NoSuch, "group 'g' has no instance 'i': there are none"),
    "dead is no state": ("hold_group", {"group": "g", "state": "Dead"}, BadArguments, "can be held in Dead: there are Empty"),
    "unknown state": ("hold_group", {"group": "g", "state": "stable"}, BadArguments, "can be held in stable: there are Empty"),
    "release of what is not there": ("release_group", {"group": "nope"}, NoSuch, "no group 'nope'"),
    "no delay": ("complete_delay", {"group": "g"}, NotNow, "is Stable: there is a delay to end in PreparingRebalance only"),
    "names twice": ("order_joins", {"group": "g", "names": ["a", "a"]}, BadArguments, "a name is there twice"),
    "no names": ("order_joins", {"group": "g", "names": []}, BadArguments, "of length >= 1"),
    "unknown node": ("move_coordinator", {"group": "g", "node": 3}, NoSuch, "no node 3: there are 1 to 2"),
    "node zero": ("move_coordinator", {"group": "g", "node": 0}, NoSuch, "no node 0: there are 1 to 2"),
    "negative node": ("move_coordinator", {"group": "g", "node": -1}, BadArguments, ">= 0"),
    "group and partition": ("move_coordinator", {"group": "g", "partition": 1}, NotNow, "name either a group or a partition"),
    "neither": ("move_coordinator", {}, NotNow, "name either a group or a partition"),
    "unknown partition": ("move_coordinator", {"partition": 50}, NoSuch, "no partition 50 of __consumer_offsets: there are 0 to 49"),
    "negative loading": ("move_coordinator", {"group": "g", "loading_ms": -1}, BadArguments, ">= 0"),
    "stop an unknown node": ("stop_node", {"node": 9}, NoSuch, "no node 9"),
    "stall an unknown node": ("stall_node", {"node": 9}, NoSuch, "no node 9"),
    "no time": ("step_clock", {"ms": 0}, BadArguments, ">= 1"),
    "timer not armed": ("jump_timer", {"timer": "join", "subject": ["g"]}, NoSuch, "no timer 'join' is armed for g: there are none"),
}


@for_each(("name", "arguments", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_refused_with_one_sentence_and_nothing_changed(name: str, arguments: dict[str, Any], kind: type[CannotSteer], text: str) -> None:
    world = World.make(nodes=2)
    _stable(world)
    before = _picture(world)
    with pytest.raises(kind, match=text) as refused:
        world.command(name, **arguments)
    assert "\n" not in str(refused.value)
    assert _picture(world) == before


def _stable(world: World) -> None:
    node = world.cluster.groups.hosting.node_of("g") or 0
    entered = [world.enter(node=node) for _ in range(2)]
    world.finish_phase()
    leader = world.group().leader_id or ""
    for member_id, _ in entered:
        if member_id != leader:
            world.sync(member_id, node=node)
    world.sync(leader, node=node)
    assert world.group().state == "Stable"


def _picture(world: World) -> tuple[Any, ...]:
    group, holds = world.group(), world.environment.holds
    waiting = isinstance(holds, OperatorHolds) and (holds.groups, holds.orders, holds.frozen)
    return group.state, group.generation, dict(group.members), world.core.deadline(), len(world.effects), bool(waiting and any(waiting))
