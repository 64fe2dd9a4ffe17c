"""Join phase, sync phase and their timers after the first rebalance (docs/kafka/group-protocol.md; P1-b2 to P1-b6)."""

from __future__ import annotations

from cases import for_each
from core_world import Protocols, World, subscription

from groupmock.core.settings import Quirks
from groupmock.rig import Ask, Watch

BROKEN = b"range0"  # The six bytes "range0" decode to version 0x7261 and an array count far beyond the buffer.
LATE = 60_000


def test_a_reserved_id_holds_up_the_phase_until_it_leaves() -> None:
    world = World.make()
    (leader,) = world.stable(1)
    reserved = world.join().answer.member_id
    asked = world.join(leader)
    assert asked.parked
    world.leave(reserved)
    assert asked.answer.generation_id == 2


def test_a_reserved_id_holds_up_the_phase_until_it_expires() -> None:
    world = World.make()
    (leader,) = world.stable(1)
    world.join(session=5000)
    asked = world.join(leader)
    world.sleep(4999)
    assert asked.parked
    world.sleep(1)
    assert asked.answer.generation_id == 2


def test_the_join_timer_ends_a_phase_and_a_reservation_survives_it() -> None:
    world = World.make()
    (leader,) = world.stable(1, rebalance=4000)
    reserved = world.join().answer.member_id
    asked = world.join(leader, rebalance=4000)
    world.sleep(3999)
    assert asked.parked
    world.sleep(1)
    assert asked.answer.generation_id == 2
    assert reserved in world.group().pending_joins


def test_members_that_do_not_join_again_are_removed_at_the_join_timer() -> None:
    world = World.make()
    leader, follower = world.stable(2, rebalance=4000)
    newcomer, asked = world.enter(rebalance=4000)
    world.beat(follower)
    world.join(leader, rebalance=4000)
    world.sleep(4000)
    assert set(world.group().members) == {leader, newcomer}
    assert asked.error == 0
    assert world.beat(follower) == 25
    assert world.reasons()[-1] == "the rebalance timeout is over"


def test_a_silent_leader_is_followed_by_the_first_that_joined() -> None:
    world = World.make()
    leader, *followers = world.stable(4, rebalance=4000)
    asked = [world.join(one, rebalance=4000, protocols=[("range", subscription("orders", "pay"))]) for one in followers]
    world.sleep(4000)
    heads = {one.answer.leader for one in asked}
    first = world.group().ordered()[0].member_id
    assert (heads, leader in world.group().members) == ({first}, False)


def test_the_join_timer_is_the_largest_rebalance_timeout_of_the_members() -> None:
    world = World.make()
    _leader, _follower = world.stable(2, rebalance=4000)
    _newcomer, asked = world.enter(rebalance=9000)
    world.sleep(8999)
    assert asked.parked
    world.sleep(1)
    assert asked.error == 0


@for_each("how", ["reserved", "v3", "static"])
def test_a_newcomer_in_completing_sends_the_parked_syncs_back(how: str) -> None:
    world = World.make()
    (_leader, _), (follower, _) = world.enter(), world.enter()
    world.sleep(6000)
    parked = world.sync(follower)
    if how == "reserved":
        reserved = world.join()
        assert parked.parked
        world.join(reserved.answer.member_id)
    else:
        world.join(version=3 if how == "v3" else 5, instance=None if how == "v3" else "i")
    told = (parked.answer.error_code, parked.answer.assignment, parked.answer.protocol_type, parked.answer.protocol_name)
    assert told == (27, b"", None, None)


def test_followers_wait_for_the_leader_and_get_their_own_bytes() -> None:
    world = World.make()
    (leader, _), (one, _), (other, _) = world.enter(), world.enter(), world.enter()
    world.sleep(6000)
    waiting = [world.sync(one, assignments={one: b"ignored"}), world.sync(other)]
    assert all(asked.parked for asked in waiting)
    lead = world.sync(leader, assignments={leader: b"L", one: b"1", "ghost": b"?"})
    assert [asked.answer.assignment for asked in (lead, *waiting)] == [b"L", b"1", b""]
    assert (lead.answer.protocol_type, lead.answer.protocol_name) == ("consumer", "range")
    assert world.sync(one).answer.assignment == b"1"


def test_a_second_sync_replaces_the_parked_one_which_is_never_answered() -> None:
    world = World.make()
    (leader, _), (follower, _) = world.enter(), world.enter()
    world.sleep(6000)
    first, second = world.sync(follower), world.sync(follower)
    assert first.reason == f"member {follower} sent another SyncGroup"
    world.sync(leader)
    assert second.error == 0


def test_a_leader_that_never_syncs_is_removed_and_the_followers_are_sent_back() -> None:
    world = World.make()
    (leader, _), (follower, _) = world.enter(rebalance=4000), world.enter(rebalance=4000)
    world.sleep(4000)
    parked = world.sync(follower)
    world.sleep(3999)
    assert parked.parked
    world.beat(leader)
    world.sleep(1)
    assert (parked.error, world.beat(leader), world.group().state) == (27, 25, "PreparingRebalance")
    assert world.reasons()[-1] == f"{leader} sent no SyncGroup within 4000 ms"


def test_a_follower_that_never_syncs_is_removed_although_it_heartbeats() -> None:
    world = World.make()
    (leader, _), (follower, _) = world.enter(rebalance=4000), world.enter(rebalance=4000)
    world.sleep(4000)
    world.sync(leader)
    world.sleep(3999)
    assert world.beat(follower) == 0
    world.sleep(1)
    assert (world.beat(follower), world.beat(leader)) == (25, 27)


def test_who_syncs_late_but_in_time_stays() -> None:
    world = World.make()
    (leader, _), (follower, _) = world.enter(rebalance=4000), world.enter(rebalance=4000)
    world.sleep(4000)
    world.sync(leader, assignments={follower: b"F"})
    world.sleep(3999)
    assert world.sync(follower).answer.assignment == b"F"
    world.sleep(1)
    assert (world.group().state, len(world.group().members)) == ("Stable", 2)


def test_a_rebalance_timeout_of_minus_one_ends_the_sync_phase_at_once() -> None:
    world = World.make()
    asked = world.enter(rebalance=-1)[1]
    world.sleep(3000)
    assert (asked.error, world.group().state) == (0, "Empty")


@for_each(("quirks", "moved"), [(Quirks(), False), (Quirks(sync_renews_session=True), True)])
def test_whether_a_sync_in_stable_renews_the_session(quirks: Quirks, moved: bool) -> None:
    world = World.make(quirks=quirks)
    (leader,) = world.stable(1)
    before = world.group().members[leader].session.deadline
    world.sleep(1000)
    world.sync(leader)
    assert (world.group().members[leader].session.deadline > before) is moved


@for_each(
    ("version", "quirks", "error"),
    [
        (5, Quirks(), 27),
        (5, Quirks(sync_before_first_generation_inconsistent=True), 23),
        (4, Quirks(sync_before_first_generation_inconsistent=True), 27),
    ],
)
def test_a_sync_during_the_first_initial_delay(version: int, quirks: Quirks, error: int) -> None:
    world = World.make(quirks=quirks)
    member_id, _ = world.enter()
    assert world.sync(member_id, 0, version=version).error == error


@for_each(("protocol_type", "protocol_name"), [(None, "range"), ("consumer", None)])
def test_null_names_in_sync_v5_come_before_everything(protocol_type: str | None, protocol_name: str | None) -> None:
    world = World.make()
    asked = world.sync("ghost", 3, group="", protocol_type=protocol_type, protocol_name=protocol_name)
    assert (asked.error, asked.answer.assignment) == (23, b"")


# -- the vote ----------------------------------------------------------------------------------------------------------


def voted(world: World, *lists: list[str]) -> str | None:
    """Return the protocol that the coordinator chooses for members with these lists."""
    for names in lists:
        world.enter(protocols=[(name, subscription("orders")) for name in names])
    world.finish_phase()
    return world.group().protocol_name


@for_each(
    ("lists", "chosen"),
    [
        ([["range", "sticky"], ["sticky", "range"], ["range", "sticky"]], "range"),
        ([["a", "b"], ["b"], ["a", "b"]], "b"),
        ([["a", "b", "c"], ["c", "b"], ["b", "a", "c"]], "b"),
        ([["range", "sticky"], ["sticky", "range"]], "sticky"),
        ([["roundrobin", "range"], ["range", "roundrobin"]], "range"),
        ([["cooperative-sticky", "roundrobin"], ["roundrobin", "cooperative-sticky"]], "roundrobin"),
        ([["p", "q"], ["q", "p"]], "p"),
    ],
)
def test_votes_and_ties(lists: list[list[str]], chosen: str) -> None:
    assert voted(World.make(), *lists) == chosen


@for_each(
    ("lists", "chosen"),
    [
        ([["range", "sticky"], ["sticky", "range"]], "range"),
        ([["roundrobin", "range"], ["range", "roundrobin"]], "roundrobin"),
        ([["cooperative-sticky", "roundrobin"], ["roundrobin", "cooperative-sticky"]], "cooperative-sticky"),
        ([["p", "q"], ["q", "p"]], "q"),
    ],
)
def test_ties_of_the_old_coordinator(lists: list[list[str]], chosen: str) -> None:
    assert voted(World.make(quirks=Quirks(scala_vote_order=True)), *lists) == chosen


def test_a_tie_within_one_bucket_goes_to_the_first_vote_in_member_order() -> None:
    world = World.make()
    for names in (["default", "compatible"], ["compatible", "default"]):
        world.enter(protocols=[(name, b"") for name in names], protocol_type="connect")
    world.finish_phase()
    assert world.group().protocol_name == world.group().ordered()[0].protocols[0][0]


# -- phases that cannot end (every real release, not groupmock's own profile) --------------------------------------------

TWICE: Protocols = [("range", subscription("orders")), ("range", subscription("orders"))]
HANGS = Quirks(malformed_subscription_hangs=True, doubled_protocol_hangs=True)


@for_each("protocols", [[("range", BROKEN)], TWICE])
def test_groupmock_itself_answers_where_kafka_hangs(protocols: Protocols) -> None:
    world = World.make()
    asked = world.enter(protocols=protocols)[1]
    world.sleep(3000)
    assert asked.error == 0


@for_each("protocols", [[("range", BROKEN)], TWICE])
def test_an_initial_phase_that_fails_is_stuck_for_good(protocols: Protocols) -> None:
    world = World.make(quirks=HANGS)
    member_id, asked = world.enter(protocols=protocols)
    world.sleep(3000)
    assert (asked.parked, world.group().state, world.group().generation) == (True, "PreparingRebalance", 1)
    assert (world.beat(member_id, 1), world.beat(member_id, 0)) == (27, 22)
    world.leave(member_id)
    assert (asked.error, world.group().state) == (25, "PreparingRebalance")
    assert world.enter()[1].parked


def test_a_normal_phase_that_fails_refuses_the_last_join_until_the_culprit_leaves() -> None:
    world = World.make(quirks=HANGS)
    (leader,) = world.stable(1)
    culprit, waiting = world.enter(protocols=[("range", BROKEN)])
    refused = world.join(leader)
    assert (refused.error, refused.answer.member_id, waiting.parked, world.group().generation) == (-1, "", True, 2)
    again = world.join(leader)
    assert (again.error, world.group().generation) == (-1, 3)
    world.leave(culprit)
    assert (world.group().state, world.group().generation) == ("CompletingRebalance", 4)
    answer = world.join(leader)
    assert (answer.error, answer.answer.generation_id) == (0, 4)


def test_the_old_coordinator_leaves_a_retry_unanswered() -> None:
    world = World.make(quirks=Quirks(malformed_subscription_hangs=True, failing_join_unanswered=True))
    (leader,) = world.stable(1)
    world.enter(protocols=[("range", BROKEN)])
    assert world.join(leader).error == -1
    assert world.join(leader).parked


@for_each("harmless", [b"", b"\0", b"\0\1\0\0\0", b"\xff\xff\0\0\0\0\0\0\0\0", subscription("orders") + b"more", b"\0\0\0\0\0\1\0"])
def test_bytes_that_merely_end_are_harmless(harmless: bytes) -> None:
    world = World.make(quirks=HANGS)
    asked = world.enter(protocols=[("range", harmless)])[1]
    world.sleep(3000)
    assert asked.error == 0


def test_other_protocol_types_are_never_parsed() -> None:
    world = World.make(quirks=HANGS)
    asked = world.enter(protocols=[("default", BROKEN)], protocol_type="connect")[1]
    world.sleep(3000)
    assert asked.error == 0


# -- a group record that is too large ----------------------------------------------------------------------------------


def test_an_assignment_too_large_for_the_log_is_refused_everywhere() -> None:
    world = World.make(quirks=Quirks(group_record_limit=True), message_max_bytes=2000)
    (leader, _), (follower, _) = world.enter(), world.enter()
    world.sleep(6000)
    parked = world.sync(follower)
    lead = world.sync(leader, assignments={leader: bytes(2000)})
    for asked in (lead, parked):
        assert (asked.error, asked.answer.assignment, asked.answer.protocol_type) == (-1, b"", None)
    assert world.group().state == "PreparingRebalance"


def test_groupmock_itself_takes_any_assignment() -> None:
    world = World.make(message_max_bytes=2000)
    member_id, _ = world.enter()
    world.sleep(3000)
    assert world.sync(member_id, assignments={member_id: bytes(9000)}).error == 0


def test_a_phase_is_answered_in_the_order_of_the_members_map() -> None:
    # Kafka handles requests that waited for the answered ones in the order of its hash map (differential check, groups seeds 22120 and
    # 23583).
    world = World.make()
    asked = [world.enter() for _ in range(8)]
    answered: list[str] = []

    class Listening(Watch):
        def answered(self, ask: Ask) -> None:
            answered.append(ask.answer.member_id)

    world.rig.watch = Listening()
    world.finish_phase()
    assert answered == [member.member_id for member in world.group().ordered()]
    assert set(answered) == {member_id for member_id, _ in asked}
    assert answered != [member_id for member_id, _ in asked]  # If the eight ids were drawn in hash order, the test would prove nothing.
