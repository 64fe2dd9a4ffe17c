"""ListGroups, DescribeGroups, DeleteGroups and FindCoordinator (docs/kafka/admin.md; P2-b7 to P2-b10, P2-d7 to P2-d9)."""

from __future__ import annotations

from typing import Any

from cases import for_each
from core_world import World, subscription

from groupmock.core.settings import Quirks
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest


def describe(world: World, *groups: str, version: int = 6, operations: bool = False) -> list[Any]:
    message = DescribeGroupsRequest(groups=list(groups), include_authorized_operations=operations)
    found: list[Any] = world.send(message, 15, version).answer.groups
    return found


def listed(world: World, states: list[str] | None = None, types: list[str] | None = None) -> list[tuple[str, str, str, str]]:
    answer = world.send(ListGroupsRequest(states_filter=states or [], types_filter=types or []), 16).answer
    assert answer.error_code == 0
    return [(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in answer.groups]


@for_each("state", ["Stable", "CompletingRebalance", "PreparingRebalance"])
@for_each("quirks", [Quirks(), Quirks(assignment_described_in_stable_only=True)])
def test_what_describe_shows_in_each_state(state: str, quirks: Quirks) -> None:
    world = World.make(quirks=quirks)
    leader, follower = world.stable(2)
    if state != "Stable":
        world.join(leader)
    if state == "CompletingRebalance":
        world.join(follower)
    (group,) = describe(world, "g")
    stable = state == "Stable"
    assert (group.error_code, group.error_message, group.group_state, group.protocol_type) == (0, None, state, "consumer")
    assert group.protocol_data == ("range" if stable else "")
    assert [one.member_id for one in group.members] == [one.member_id for one in world.group().ordered()]
    shown = {one.member_id: one for one in group.members}[follower]
    assert (shown.client_id, shown.client_host, shown.group_instance_id) == ("c", "/10.0.0.7", None)
    assert shown.member_metadata == (subscription("orders") if stable else b"")
    hidden = quirks.assignment_described_in_stable_only and not stable
    assert shown.member_assignment == (b"" if hidden else f"for {follower}".encode())


def test_assignments_are_cleared_when_completing_is_left() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.join(leader)
    world.join(follower)
    world.enter()
    assert {one.member_assignment for one in describe(world, "g")[0].members} == {b""}


def test_an_empty_group_keeps_its_type() -> None:
    world = World.make()
    world.leave(*world.stable(1))
    (group,) = describe(world, "g")
    assert (group.group_state, group.protocol_type, group.protocol_data, group.members) == ("Empty", "consumer", "", [])


@for_each(
    ("version", "code", "message", "operations"), [(2, 0, None, -(2**31)), (5, 0, None, 3400), (6, 69, "Group nope not found.", -(2**31))]
)
def test_an_unknown_group_is_dead(version: int, code: int, message: str | None, operations: int) -> None:
    (group,) = describe(World.make(), "nope", version=version, operations=True)
    assert (group.error_code, group.error_message, group.group_state, group.authorized_operations) == (code, message, "Dead", operations)


@for_each(("asked", "quirks", "bits"), [(True, Quirks(), 3400), (True, Quirks(no_group_configs=True), 328), (False, Quirks(), -(2**31))])
def test_authorized_operations(asked: bool, quirks: Quirks, bits: int) -> None:
    world = World.make(quirks=quirks)
    world.commit()
    assert describe(world, "g", operations=asked)[0].authorized_operations == bits


STATE_FILTERS = [
    (["Stable"], ["one"], ["one"]),
    (["stable", "EMPTY"], ["one", "simple"], ["one", "simple"]),
    ([" Stable "], ["one"], []),
    (["no such state"], [], []),
    ([], ["one", "simple"], ["one", "simple"]),
]


@for_each(("states", "v43", "v39"), STATE_FILTERS)
def test_the_state_filter(states: list[str], v43: list[str], v39: list[str]) -> None:
    for quirks, wanted in ((Quirks(), v43), (Quirks(state_filter_keeps_blanks=True), v39)):
        world = World.make(quirks=quirks)
        world.stable(1, group="one")
        world.commit(group="simple")
        assert sorted(one[0] for one in listed(world, states)) == wanted


@for_each(("types", "count"), [([], 1), (["Classic"], 1), ([" classic"], 0), (["consumer"], 0), (["share", "classic"], 1)])
def test_the_type_filter(types: list[str], count: int) -> None:
    world = World.make()
    world.commit()
    assert len(listed(world, types=types)) == count


def test_a_listing_names_type_and_state() -> None:
    world = World.make()
    world.stable(1, group="one")
    world.commit(group="simple")
    assert sorted(listed(world)) == [("one", "consumer", "Stable", "classic"), ("simple", "", "Empty", "classic")]
    assert listed(world, ["stable"], ["consumer"]) == []


def test_a_node_lists_its_own_groups() -> None:
    world = World.make(nodes=2)
    for group in ("g", "my-group"):
        world.commit(group=group, node=world.cluster.groups.hosting.node_of(group) or 0)
    answers = [world.send(ListGroupsRequest(), 16, node=node).answer for node in (1, 2)]
    names = [[one.group_id for one in answer.groups] for answer in answers]
    assert sorted(names) == [["g"], ["my-group"]]


def test_delete_merges_duplicates_and_takes_offsets_and_reservations() -> None:
    world = World.make()
    world.commit()
    reserved = world.join().answer.member_id
    answer = world.send(DeleteGroupsRequest(groups_names=["g", "nope", "g"]), 42).answer
    assert [(one.group_id, one.error_code) for one in answer.results] == [("g", 0), ("nope", 69)]
    assert world.moves()[-1] == ("Empty", "Dead", 0)
    assert world.join(reserved).error == 25
    assert describe(world, "g")[0].group_state == "Dead"


# -- FindCoordinator ---------------------------------------------------------------------------------------------------

DEFAULT_TEXT = "This most likely occurs because of a request being malformed by the client library"
NODE = (1, "127.0.0.1", 9092, 0)
NONE = (-1, "", -1)


def coordinators(world: World, version: int, key_type: int, *keys: str) -> list[tuple[str, tuple[int, str, int, int], str | None]]:
    message = FindCoordinatorRequest(key=keys[0] if keys else "", key_type=key_type, coordinator_keys=list(keys))
    answer = world.send(message, 10, version).answer
    if version < 4:
        return [(keys[0], (answer.node_id, answer.host, answer.port, answer.error_code), answer.error_message)]
    return [(one.key, (one.node_id, one.host, one.port, one.error_code), one.error_message) for one in answer.coordinators]


@for_each(("version", "text"), [(0, "NONE"), (1, "NONE"), (3, "NONE"), (4, ""), (6, "")])
@for_each("key_type", [0, 1])
def test_a_coordinator_is_found(version: int, text: str, key_type: int) -> None:
    assert coordinators(World.make(), version, key_type, "g") == [("g", NODE, text)]


def test_batches_answer_each_key_in_order_twice_if_asked_twice() -> None:
    world = World.make()
    assert [one[0] for one in coordinators(world, 4, 0, "a", "", "a")] == ["a", "", "a"]
    assert coordinators(world, 4, 0) == []


@for_each("group", ["g", "my-group", "test", "connect-cluster", "polygenelubricants"])
def test_groups_are_placed_by_hash(group: str) -> None:
    world = World.make(nodes=3)
    node = 1 + world.cluster.groups.hosting.partition_of(group) % 3
    assert coordinators(world, 4, 0, group) == [(group, (node, "127.0.0.1", 9091 + node, 0), "")]


@for_each(("version", "text"), [(1, "The coordinator is not available."), (3, "The coordinator is not available."), (4, "")])
def test_without_a_leader_there_is_no_coordinator(version: int, text: str) -> None:
    world = World.make()
    world.command("unload_coordinator", partition=3)
    assert coordinators(world, version, 0, "g") == [("g", (*NONE, 15), text)]


SHARE_KEY = "group:with:colons:AAAAAAAAAAAAAAAAAAAAAQ:-1"
KEY_TYPES = [
    (1, 3, "k", 42, DEFAULT_TEXT),
    (4, 9, "k", 42, DEFAULT_TEXT),
    (6, -1, "k", 42, DEFAULT_TEXT),
    (3, 2, SHARE_KEY, 42, DEFAULT_TEXT),
    (5, 2, SHARE_KEY, 42, ""),
    (6, 2, SHARE_KEY, 15, ""),
    (6, 2, "", 42, ""),
    (6, 2, "group:0", 42, ""),
    (6, 2, ":AAAAAAAAAAAAAAAAAAAAAQ:0", 42, ""),
    (6, 2, "group:nouuid:0", 42, ""),
    (6, 2, "group:AAAAAAAAAAAAAAAAAAAAAQ:x", 42, ""),
]


@for_each(("version", "key_type", "key", "code", "text"), KEY_TYPES)
def test_key_types(version: int, key_type: int, key: str, code: int, text: str) -> None:
    ((_, node, message),) = coordinators(World.make(), version, key_type, key)
    assert node == (*NONE, code)
    assert message == text or (bool(text) and (message or "").startswith(text))


def test_3_9_does_not_look_at_share_keys() -> None:
    world = World.make(quirks=Quirks(share_coordinator_unchecked=True))
    assert coordinators(world, 6, 2, "junk") == [("junk", (*NONE, 15), "")]
