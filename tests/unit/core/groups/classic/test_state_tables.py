"""Checks each API's answer in each state, also for wrong ids, generations and protocols, and the possible next states. The cells of
states.ANSWERS are in test_state_cells.py."""

from __future__ import annotations

from cases import for_each
from core_world import World

from groupmock.core.groups.classic.states import MAY_FOLLOW, State

STATES = [State.EMPTY, State.PREPARING, State.COMPLETING, State.STABLE]

# Each row names a request and its error codes in the states Empty, Preparing, Completing and Stable; "parked" means no answer yet.
ROWS: dict[str, tuple[int | str, int | str, int | str, int | str]] = {
    "join: id-less, v4": (79, 79, 79, 79),
    "join: id-less, v3": ("parked", "parked", "parked", "parked"),
    "join: reserved id": ("parked", "parked", "parked", "parked"),
    "join: reserved id with an instance id": (-1, -1, -1, -1),
    "join: unknown id": (25, 25, 25, 25),
    "join: new instance": ("parked", "parked", "parked", "parked"),
    "join: unknown id with unmapped instance": (25, 25, 25, 25),
    "join: follower, same protocols": (25, "parked", 0, 0),
    "join: leader, same protocols": (25, "parked", 0, "parked"),
    "join: follower, other metadata": (25, "parked", "parked", "parked"),
    "join: another protocol type": ("parked", 23, 23, 23),
    "join: no common protocol": ("parked", 23, 23, 23),
    "sync: follower": (25, 27, "parked", 0),
    "sync: old generation": (25, 22, 22, 22),
    "sync: unknown id": (25, 25, 25, 25),
    "sync: other type": (25, 23, 23, 23),
    "sync: other name": (25, 23, 23, 23),
    "heartbeat: member": (25, 27, 0, 0),
    "heartbeat: old generation": (25, 22, 22, 22),
    "heartbeat: reserved id": (25, 25, 25, 25),
    "leave: member": (25, 0, 0, 0),
    "leave: unknown id": (25, 25, 25, 25),
    "leave: reserved id": (0, 0, 0, 0),
    "commit: simple": (0, 25, 25, 25),
    "commit: member, current generation": (25, 0, 27, 0),
    "commit: member, other generation": (25, 22, 22, 22),
    "commit: member, generation -1": (0, 22, 22, 22),
    "commit: unknown id": (25, 25, 25, 25),
    "delete": (0, 68, 68, 68),
}


def group_in(state: State) -> tuple[World, str, str]:
    """Return a cluster whose group "g" is in that state, with the ids of a leader and a follower (former members if the group is Empty)."""
    world = World.make()
    leader, follower = world.stable(2)
    if state is State.EMPTY:
        world.leave(leader, follower)
    elif state is State.PREPARING:
        world.enter()
    elif state is State.COMPLETING:
        world.join(leader)
        world.join(follower)
    assert world.group().state is state
    return world, leader, follower


def ask(world: World, leader: str, follower: str, row: str) -> int | str:
    """Send the request of the row and return its error code."""
    now = world.group().generation
    api, _, how = row.partition(": ")
    if api == "join":
        asked = JOINS[how](world, leader, follower)
        return "parked" if asked.parked else asked.error
    if api == "sync":
        asked = SYNCS[how](world, leader, follower, now)
        return "parked" if asked.parked else asked.error
    if api == "heartbeat":
        who = world.join().answer.member_id if how == "reserved id" else follower
        return world.beat(who, now - 1 if how == "old generation" else now)
    if api == "leave":
        who = {"member": follower, "unknown id": "ghost"}.get(how) or world.join().answer.member_id
        return int(world.leave(who).answer.members[0].error_code)
    if api == "commit":
        member, generation = COMMITS[how](follower, now)
        return int(world.commit(member, generation).answer.topics[0].partitions[0].error_code)
    from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest

    return int(world.send(DeleteGroupsRequest(groups_names=["g"]), 42).answer.results[0].error_code)


JOINS = {
    "id-less, v4": lambda w, leader, follower: w.join(version=4),
    "id-less, v3": lambda w, leader, follower: w.join(version=3),
    "reserved id": lambda w, leader, follower: w.enter()[1],
    "reserved id with an instance id": lambda w, leader, follower: w.join(w.join().answer.member_id, instance="i"),
    "unknown id": lambda w, leader, follower: w.join("ghost"),
    "new instance": lambda w, leader, follower: w.join(instance="i"),
    "unknown id with unmapped instance": lambda w, leader, follower: w.join("ghost", instance="i"),
    "follower, same protocols": lambda w, leader, follower: w.join(follower),
    "leader, same protocols": lambda w, leader, follower: w.join(leader),
    "follower, other metadata": lambda w, leader, follower: w.join(follower, protocols=[("range", b"\0\0\0\0\0\0\0\0\0\0")]),
    "another protocol type": lambda w, leader, follower: w.join(instance="i", protocol_type="connect"),
    "no common protocol": lambda w, leader, follower: w.join(instance="i", protocols=[("sticky", b"")]),
}
SYNCS = {
    "follower": lambda w, leader, follower, now: w.sync(follower, now),
    "old generation": lambda w, leader, follower, now: w.sync(follower, now - 1),
    "unknown id": lambda w, leader, follower, now: w.sync("ghost", now),
    "other type": lambda w, leader, follower, now: w.sync(follower, now, protocol_type="connect"),
    "other name": lambda w, leader, follower, now: w.sync(follower, now, protocol_name="sticky"),
}
COMMITS = {
    "simple": lambda follower, now: ("", -1),
    "member, current generation": lambda follower, now: (follower, now),
    "member, other generation": lambda follower, now: (follower, now + 1),
    "member, generation -1": lambda follower, now: (follower, -1),
    "unknown id": lambda follower, now: ("ghost", now),
}

CELLS = [(row, state, cells[at]) for row, cells in ROWS.items() for at, state in enumerate(STATES)]


@for_each(("row", "state", "wanted"), CELLS, ids=[f"{row} / {state}" for row, state, _ in CELLS])
def test_cell(row: str, state: State, wanted: int | str) -> None:
    assert ask(*group_in(state), row) == wanted


def test_dead_is_final_and_reached_from_anywhere() -> None:
    assert not MAY_FOLLOW[State.DEAD]
    assert all(State.DEAD in MAY_FOLLOW[state] for state in STATES)


def test_legal_moves_are_the_specs() -> None:
    moves = {(str(before), str(after)) for before in MAY_FOLLOW for after in MAY_FOLLOW[before] if after is not State.DEAD}
    assert moves == {
        ("Empty", "PreparingRebalance"),
        ("PreparingRebalance", "CompletingRebalance"),
        ("PreparingRebalance", "Empty"),
        ("CompletingRebalance", "Stable"),
        ("CompletingRebalance", "PreparingRebalance"),
        ("Stable", "PreparingRebalance"),
    }
