"""The driver may repeat a heartbeat's answer without asking the group while its lease lasts (docs/reference/architecture.md#leases)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

from cases import for_each
from core_world import World, subscription

import groupmock.core
from groupmock.core.effects import Lease
from groupmock_codec.units import NS_PER_MS

NEWS: dict[str, Callable[[World, str, str], object]] = {
    "a newcomer joins": lambda w, leader, follower: w.enter(),
    "a newcomer with an instance": lambda w, leader, follower: w.join(instance="i"),
    "the follower leaves": lambda w, leader, follower: w.leave(follower),
    "the leader leaves": lambda w, leader, follower: w.leave(leader),
    "the leader rejoins": lambda w, leader, follower: w.join(leader),
    "the follower rejoins with other metadata": lambda w, leader, follower: w.join(follower, protocols=[("range", subscription("pay"))]),
    "the coordinator moves": lambda w, leader, follower: w.command("load_coordinator", partition=3, node=1, loading_ms=0),
    "the coordinator is gone": lambda w, leader, follower: w.command("unload_coordinator", partition=3),
    "a session expires": lambda w, leader, follower: w.sleep(10_000),
}


def lease_of(world: World, member_id: str, instance: str | None = None) -> Lease:
    asked = world.beats(member_id, instance=instance)
    assert asked.error == 0
    assert asked.lease is not None
    return asked.lease


def test_a_renewal_is_a_heartbeat() -> None:
    worlds = [World.make(), World.make()]
    ends = []
    for world, leased in zip(worlds, (True, False), strict=True):
        leader, follower = world.stable(2)
        lease = lease_of(world, follower)
        for _ in range(5):
            world.sleep(4000)
            world.beat(leader)
            if leased:
                assert lease.epoch == lease.group.epoch
                world.core.renew(lease).last = world.now * NS_PER_MS
            else:
                world.beat(follower)
        while follower in world.group().members:
            world.sleep(1000)
            if leader in world.group().members:
                world.beat(leader)
        ends.append(world.now)
    assert ends[0] == ends[1] > 20_000


@for_each("news", NEWS)
def test_whatever_changes_the_answer_ends_the_lease(news: str) -> None:
    world = World.make()
    leader, follower = world.stable(2)
    lease = lease_of(world, follower)
    NEWS[news](world, leader, follower)
    assert lease.epoch != lease.group.epoch


def test_a_replacement_ends_the_lease_of_the_replaced() -> None:
    world = World.make()
    first = world.join(instance="i")
    world.sleep(3000)
    member_id = first.answer.member_id
    world.sync(member_id)
    lease = lease_of(world, member_id, "i")
    world.join(instance="i")
    assert (lease.epoch != lease.group.epoch, world.beat(member_id, instance="i")) == (True, 82)


def test_a_session_that_ran_out_while_parked_ends_the_lease() -> None:
    """The session timer has already fired, so a lease that moved its deadline would keep the member for ever."""
    world = World.make()
    (leader, _), (follower, _) = world.enter(session=6000), world.enter(session=6000)
    world.sleep(6000)
    lease = lease_of(world, follower)
    world.sync(follower)
    for _ in range(2):
        world.sleep(4000)
        world.beat(leader)
    assert lease.epoch != lease.group.epoch
    assert world.beat(follower) == 0
    world.core.renew(lease_of(world, follower)).last = world.now * NS_PER_MS
    assert world.group().members[follower].session.live


@for_each("case", ["27", "22", "25", "loading"])
def test_only_a_repeatable_0_has_a_lease(case: str) -> None:
    world = World.make()
    (leader,) = world.stable(1)
    if case == "27":
        world.enter()
    if case == "loading":
        world.command("load_coordinator", partition=3, node=1, loading_ms=1000)
    asked = world.beats("ghost" if case == "25" else leader, 2 if case == "22" else 1)
    assert (asked.error, asked.lease) == (0 if case == "loading" else int(case), None)


def test_only_methods_of_a_group_change_what_a_heartbeat_hangs_on() -> None:
    """A group's methods end its heartbeat leases, which code outside of the class could forget."""
    outside = []
    for file in Path(groupmock.core.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
            fields = [each for each in targets if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)]
            outside += [
                f"{file.name}:{each.lineno} sets {each.attr}"
                for each in fields
                if each.value.id == "group" and each.attr in {"epoch", "generation", "leader_id", "state", "members"}
            ]
    assert outside == []
