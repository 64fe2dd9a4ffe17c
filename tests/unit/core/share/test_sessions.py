"""Share sessions and what their end does (docs/kafka/share-groups.md, SG-150 to SG-169), and lives of states (SG-290 to SG-301)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from share_rig import GROUP, LOCK_MS, ShareRig

from groupmock.core.effects import Effects
from groupmock.core.share import acknowledging, causes, stored
from groupmock.core.work import Work
from groupmock.rig.share_session import ShareSession
from groupmock_codec import error_codes
from groupmock_codec.acknowledge_types import ACCEPT, RELEASE

P0, P1 = ("orders", 0), ("orders", 1)
NO_SESSION, WRONG_EPOCH = error_codes.SHARE_SESSION_NOT_FOUND, error_codes.INVALID_SHARE_SESSION_EPOCH
INVALID, INVALID_STATE = error_codes.INVALID_REQUEST, error_codes.INVALID_RECORD_STATE
WHOLE = ("", -1)


def test_requests_without_a_session_are_refused(share: ShareRig) -> None:
    alice = share.session("alice")
    for epoch in 4, -1, -2:
        assert alice.fetch(epoch=epoch).error_code == NO_SESSION
        assert alice.acknowledge({}, epoch=epoch) == {WHOLE: (NO_SESSION, None)}
    assert alice.acknowledge({}, epoch=0) == {WHOLE: (WRONG_EPOCH, None)}
    assert alice.fetch(P0, epoch=0, acknowledge={P0: [(0, 0, ACCEPT)]}).error_code == INVALID


def test_a_wrong_epoch_is_refused_and_the_session_lives_on(share: ShareRig) -> None:
    alice = share.session("alice")
    answer = alice.fetch(P0, max_wait_ms=0)
    assert (answer.error_code, answer.acquisition_lock_timeout_ms, answer.node_endpoints) == (0, LOCK_MS, [])
    for epoch in 0x7FFFFFFF, 2, -2:
        assert alice.fetch(epoch=epoch).error_code == WRONG_EPOCH
    alice.epoch = 1
    assert alice.fetch(max_wait_ms=0).error_code == 0


def test_requests_must_name_a_member_and_a_group(share: ShareRig) -> None:
    for member in "", "m" * 37:
        assert share.session(member).fetch(P0).error_code == INVALID
    nameless = share.session("alice")
    nameless.group = None  # type: ignore[assignment]
    assert nameless.fetch(P0).error_code == INVALID


def test_an_unknown_acquire_mode_fails_the_request(share: ShareRig) -> None:
    assert share.session("alice").fetch(P0, mode=2).error_code == -1


def test_partitions_join_and_leave_a_session(share: ShareRig) -> None:
    share.produce(2)
    share.produce(3, partition=1)
    alice = share.session("alice")
    assert alice.acquired(alice.fetch(P0)) == {P0: [(0, 1, 1)]}
    assert alice.acquired(alice.fetch(P1, forget=[P0])) == {P1: [(0, 2, 1)]}
    share.produce(2)
    assert alice.take(max_wait_ms=10) == []
    assert alice.acknowledge({P0: [(0, 1, ACCEPT)]}) == {P0: (0, None)}


def test_errors_of_partitions_leave_the_others_alone(share: ShareRig) -> None:
    share.produce(1)
    alice = share.session("alice")
    answer = alice.fetch(("nowhere", 0), ("orders", 9), P0)
    assert sorted((row.error_code, row.partition_index) for topic in answer.responses for row in topic.partitions) == [
        (0, 0), (3, 9), (100, 0),
    ]  # fmt: skip
    assert share.session("alice", group="unknown").fetch(P0).responses[0].partitions[0].error_code == -1


def test_the_end_of_a_session_releases_its_records(share: ShareRig) -> None:
    share.produce(3)
    alice, bob = share.session("alice"), share.session("bob")
    alice.fetch(P0)
    assert bob.take(P0) == []
    assert alice.close({P0: [(0, 0, ACCEPT)]}) == {P0: (0, None)}
    assert alice.fetch(epoch=2).error_code == NO_SESSION
    assert bob.take() == [(1, 2, 2)]
    assert share.notes("records_released")[0]["cause"] == "session_closed"


def test_a_fetch_may_end_its_session(share: ShareRig) -> None:
    share.produce(3)
    alice = share.session("alice")
    alice.fetch(P0)
    answer = alice.send(epoch=-1, acknowledge={P0: [(0, 0, ACCEPT)]}).answer
    assert [(row.acknowledge_error_code, row.acquired_records) for row in answer.responses[0].partitions] == [(0, [])]
    assert share.session("bob").take(P0) == [(1, 2, 2)]


def test_the_connection_that_opened_a_session_ends_it(share: ShareRig) -> None:
    share.produce(3)
    alice, bob = share.session("alice", connection="a"), share.session("bob")
    alice.fetch(P0)
    bob.fetch(P0)
    alice.connection = "elsewhere"
    alice.fetch()
    alice.hang_up()
    assert bob.take() == []
    share.rig.hang_up("a")
    assert bob.take() == [(0, 2, 2)]


def test_a_new_session_keeps_what_the_member_has(share: ShareRig) -> None:
    share.produce(3)
    alice = share.session("alice")
    alice.fetch(P0)
    assert alice.take(P0, epoch=0) == []
    assert alice.acknowledge({P0: [(0, 2, ACCEPT)]}) == {P0: (0, None)}


def test_there_are_only_so_many_sessions(make_share: Callable[..., ShareRig]) -> None:
    share = make_share()
    share.shares.sessions(1).most = 2
    members = [share.session(name) for name in ("a", "b", "c")]
    assert [member.fetch(P0, max_wait_ms=0).error_code for member in members[:2]] == [0, 0]
    refused = members[2].send(P0, max_wait_ms=300)
    assert refused.answer is None
    share.rig.sleep(300)
    assert refused.answer.error_code == 133
    members[0].close()
    assert members[2].fetch(P0, epoch=0, max_wait_ms=0).error_code == 0


def test_a_partition_without_sessions_is_read_from_its_stored_state(share: ShareRig) -> None:
    share.produce(3, 3)
    alice = share.session("alice")
    alice.fetch(P0)
    alice.acknowledge({P0: [(1, 1, ACCEPT), (3, 3, RELEASE)]})
    alice.close()
    assert share.shares.partitions, "a closed session leaves the share partition in memory"
    alice.hang_up()
    assert not share.shares.partitions
    bob = share.session("bob")
    assert bob.take(P0) == [(0, 0, 2), (2, 5, 2)]


def test_a_fetch_waits_while_many_idle_records_are_dropped(share: ShareRig, monkeypatch: pytest.MonkeyPatch) -> None:
    share.produce(600)
    alice, bob = share.session("alice"), share.session("bob")
    alice.fetch(P0, P1)
    alice.acknowledge({P0: [(offset, offset, RELEASE if offset % 2 else ACCEPT) for offset in range(1, 600)]})
    alice.close()
    core = share.rig.core
    go_on = core.go_on
    asked: list[Any] = []

    def step(work: Work, now: int) -> Effects | None:
        if not asked:
            asked.append(bob.send(P0, max_wait_ms=0))
            assert len(share.shares.partitions) == 2
            assert asked[0].answer is None
        return go_on(work, now)

    monkeypatch.setattr(core, "go_on", step)
    alice.hang_up()
    assert list(share.shares.partitions) == [(GROUP, share.topic_id, 0)], "the fetch has loaded it anew, as the last step came before"
    assert bob.acquired(asked[0].answer)[P0][:2] == [(0, 1, 2), (3, 3, 2)]


def test_a_connection_forgets_the_group_of_its_former_session(share: ShareRig) -> None:
    share.initialize([0], group="others")
    alice, other = share.session("alice", connection="c"), share.session("alice", group="others", connection="c")
    alice.fetch(P0, max_wait_ms=0)
    alice.close()
    other.fetch(P0, max_wait_ms=0)
    assert [key[0] for key in share.shares.partitions] == ["others"]
    share.rig.hang_up("c")
    assert not share.shares.partitions


def test_records_that_were_never_written_are_delivered_as_new(share: ShareRig) -> None:
    share = ShareRig(nodes=2)
    share.produce(2, 2, 2)
    leader = share.cluster.topics.leader_of("orders", 0)
    alice = share.session("alice", node=leader)
    for _ in range(3):
        alice.fetch(P0, max_records=1)
    alice.acknowledge({P0: [(2, 3, ACCEPT)]})
    share.rig.command("move_leader", topic="orders", partition=0, node=3 - leader)
    text = "This server does not host this topic-partition."
    assert alice.acknowledge({P0: [(0, 1, ACCEPT)]}) == {P0: (3, text)}
    answer = alice.fetch()
    row = answer.responses[0].partitions[0]
    assert (row.error_code, row.current_leader.leader_id, [each.node_id for each in answer.node_endpoints]) == (6, 3 - leader, [3 - leader])
    there = share.session("alice", node=3 - leader)
    assert there.fetch(epoch=3).error_code == NO_SESSION
    assert there.take(P0, epoch=0) == [(0, 1, 1), (4, 5, 1)]


def test_a_waiting_fetch_gets_nothing_of_a_partition_whose_leader_has_moved(share: ShareRig) -> None:
    share = ShareRig(nodes=2)
    leader = share.cluster.topics.leader_of("orders", 0)
    alice = share.session("alice", node=leader)
    waiting = alice.send(P0, max_wait_ms=60_000)
    share.rig.command("move_leader", topic="orders", partition=0, node=3 - leader)
    share.produce(2)
    assert waiting.answer is None
    share.rig.sleep(60_000)
    assert waiting.answer.responses == []
    assert [row.error_code for row in alice.fetch(epoch=1).responses[0].partitions] == [6]


def test_partitions_that_are_not_initialized_are_refused_after_max_wait(share: ShareRig) -> None:
    waiting = share.session("alice", group="others").send(P0, max_wait_ms=3000)
    share.rig.sleep(2999)
    assert waiting.answer is None
    share.rig.sleep(1)
    assert [row.error_code for row in waiting.answer.responses[0].partitions] == [-1]


def test_partitions_that_are_not_initialized_are_not_named_by_an_answer_that_is_given_at_once(share: ShareRig) -> None:
    """SharePartitionManager.processShareFetch of Kafka 4.4.0 answers before SharePartition.maybeInitialize has read the state."""
    other = share.session("alice", group="others")
    assert other.fetch(P0, max_wait_ms=0).responses == []
    assert other.fetch(max_wait_ms=0).responses == []
    share.initialize([0], group="others")
    assert other.take() == []
    share.produce(1)
    asked = share.session("bob", group="others").send(P0, ("orders", 1), max_wait_ms=3000)
    assert [row.partition_index for row in asked.answer.responses[0].partitions] == [0]


def test_offsets_altered_under_a_session_are_noticed_by_its_next_write(share: ShareRig) -> None:
    share.produce(6)
    alice = share.session("alice")
    alice.fetch(P0)
    share.initialize([0], start=2, epoch=5)
    assert (share.start(), share.lag()) == (2, 4)
    assert alice.acknowledge({P0: [(0, 5, ACCEPT)]}) == {P0: (6, stored.FENCED)}
    assert alice.take() == [(2, 5, 1)]


def test_states_of_a_group_that_was_made_anew_are_written_by_older_share_partitions(share: ShareRig) -> None:
    share.produce(6)
    alice = share.session("alice")
    alice.fetch(P0)
    share.shares.delete(share.rig.turn(), GROUP)
    share.initialize([0], start=0, epoch=share.shares.partitions[GROUP, share.topic_id, 0].state_epoch - 1)
    assert alice.acknowledge({P0: [(0, 1, ACCEPT)]}) == {P0: (0, None)}
    assert (share.start(), share.lag()) == (0, 4)


def test_records_between_stored_ones_are_cut_where_produced_batches_begin(share: ShareRig) -> None:
    share.produce(4, 4, 4, 4)
    alice = share.session("alice")
    alice.fetch(P0)
    alice.acknowledge({P0: [(12, 13, ACCEPT)]})
    _load_anew(share, alice)
    assert alice.take(P0, batch_size=5) == [(0, 7, 1), (8, 11, 1), (14, 15, 1)]
    alice.acknowledge({P0: [(12, 13, ACCEPT)]})
    _load_anew(share, alice)
    assert alice.take(P0, max_records=5) == [(0, 7, 1)]
    assert alice.take(mode=1, max_records=3) == [(8, 10, 1)]
    assert alice.take() == [(11, 11, 1), (14, 15, 1)]


def test_locks_at_a_former_leader_end_and_are_read_by_the_next_one(share: ShareRig) -> None:
    share = ShareRig(nodes=2)
    share.produce(2, 2)
    leader = share.cluster.topics.leader_of("orders", 0)
    share.session("alice", node=leader).fetch(P0, max_records=1)
    share.rig.command("move_leader", topic="orders", partition=0, node=3 - leader)
    share.rig.sleep(LOCK_MS)
    bob = share.session("bob", node=3 - leader)
    assert bob.take(P0) == [(0, 1, 2), (2, 3, 1)]
    share.rig.command("move_leader", topic="orders", partition=0, node=leader)
    assert share.session("carl", node=leader).take(P0) == [(0, 1, 2), (2, 3, 1)]
    share.rig.sleep(LOCK_MS)  # The former leader cannot write any more, because the next one has read the stored state.
    assert not share.shares._dropped
    assert share.session("dora", node=leader).take(P0) == [(0, 1, 3), (2, 3, 2)]


def test_the_start_stays_where_stored_states_may_have_a_gap(share: ShareRig) -> None:
    share.produce(1, 2, 1)
    alice = share.session("alice")
    alice.fetch(P0)
    alice.acknowledge({P0: [(1, 2, ACCEPT)]})
    _load_anew(share, alice)
    assert alice.take(P0, max_records=1) == [(0, 0, 1)]
    alice.acknowledge({P0: [(0, 0, ACCEPT)]})
    assert alice.acknowledge({P0: [(1, 2, ACCEPT)]}) == {P0: (INVALID_STATE, acknowledging.BATCH_NOT_ACQUIRED)}
    assert alice.take() == [(3, 3, 1)]
    alice.acknowledge({P0: [(3, 3, ACCEPT)]})
    assert alice.acknowledge({P0: [(1, 2, ACCEPT)]}) == {P0: (0, None)}


def _with_a_gap(share: ShareRig) -> ShareSession:
    """Return the session of a member that fetches from stored states of the offsets 0 and 2 to 4; nothing of offset 1 is stored."""
    share.produce(5)
    alice = share.session("alice")
    alice.fetch(P0)
    alice.acknowledge({P0: [(0, 0, ACCEPT), (2, 2, ACCEPT), (3, 4, RELEASE)]})
    _load_anew(share, alice)
    return alice


def test_a_gap_that_was_deleted_from_the_log_keeps_fetches_from_what_is_behind_it(share: ShareRig) -> None:
    """SharePartition.nextFetchOffset of Kafka 4.4.0 returns the begin of the gap also if it lies before the start offset, and
    updateCacheAndOffsets does nothing if the start offset is the log's already."""
    alice = _with_a_gap(share)
    share.delete_records_before(4)
    assert alice.take(P0) == []  # The log has not got offset 1, so that the start moves to 4.
    share.produce(1)
    assert alice.take() == []
    assert alice.acknowledge({P0: [(4, 4, ACCEPT)]})[P0][0] == INVALID_STATE
    share.rig.sleep(LOCK_MS)
    assert alice.take() == []
    _load_anew(share, alice)
    assert alice.take(P0) == []
    assert alice.take() == []


def test_a_gap_is_forgotten_when_all_stored_records_were_deleted_from_the_log(share: ShareRig) -> None:
    """SharePartition.updateCacheAndOffsets of Kafka 4.4.0 moves the end offset too, so that the gap window is not active any more."""
    alice = _with_a_gap(share)
    share.produce(2)
    share.delete_records_before(5)
    assert alice.take(P0) == []
    assert alice.take() == [(5, 6, 1)]


def _load_anew(share: ShareRig, member: ShareSession) -> None:
    """Drop the share partition as a broker that ends suddenly does, so that the next fetch reads what was stored."""
    share.shares.drop(share.rig.turn(), share.shares.partitions[GROUP, share.topic_id, 0], causes.MOVED)
    member.hang_up()


def test_offsets_deleted_under_a_session_refuse_its_writes(share: ShareRig) -> None:
    share.produce(2)
    alice = share.session("alice")
    alice.fetch(P0)
    share.shares.delete(share.rig.turn(), GROUP)
    assert alice.acknowledge({P0: [(0, 1, ACCEPT)]}) == {P0: (-1, stored.DELETED)}
    assert alice.take() == []


def test_a_deleted_topic_takes_its_states_along(share: ShareRig) -> None:
    share.produce(2)
    alice = share.session("alice")
    alice.fetch(P0)
    topic_id = share.topic_id
    share.rig.command("delete_topic", name="orders")
    assert share.shares.stored(GROUP, topic_id, 0) is None
    assert not share.shares.partitions
    assert [row.error_code for row in alice.fetch().responses[0].partitions] == [3]


def test_records_that_were_deleted_never_come_again(share: ShareRig) -> None:
    share.produce(2, 4, 2)
    alice = share.session("alice")
    assert alice.take(P0, max_records=5) == [(0, 5, 1)]
    alice.acknowledge({P0: [(2, 3, RELEASE)]})
    share.delete_records_before(3)
    assert alice.take() == []  # The fetch learns that the log has not got the offset any more.
    assert alice.take() == [(3, 3, 2), (6, 7, 1)]
    assert alice.acknowledge({P0: [(0, 1, ACCEPT), (4, 5, ACCEPT)]}) == {P0: (0, None)}
    share.rig.sleep(LOCK_MS)
    assert alice.take() == [(3, 3, 3), (6, 7, 2)]


def test_a_start_that_deleted_records_have_moved_is_not_stored_until_the_next_write(share: ShareRig) -> None:
    share.produce(3, 4, 2)
    alice = share.session("alice")
    assert alice.take(P0, max_records=1) == [(0, 2, 1)]
    alice.acknowledge({P0: [(0, 2, ACCEPT)]})
    share.delete_records_before(5)
    assert alice.take() == []
    _load_anew(share, alice)
    assert alice.take(P0) == []  # The share partition begins at the record 3 again, which the log has not got.
    assert alice.take() == [(5, 8, 1)]


def test_locks_of_deleted_records_move_the_start_back_as_on_kafka(share: ShareRig) -> None:
    share.produce(2, 4)
    alice = share.session("alice")
    assert alice.take(P0, max_records=1) == [(0, 1, 1)]
    share.delete_records_before(4)
    assert alice.take() == []
    share.rig.sleep(LOCK_MS)
    assert share.shares.partitions[GROUP, share.topic_id, 0].states.start == 2
    assert alice.take() == []
    assert alice.take() == [(4, 5, 1)]


def test_a_start_within_a_batch_is_fetched_from_the_begin_of_the_batch(share: ShareRig) -> None:
    share.produce(2, 8)
    alice = share.session("alice")
    assert alice.take(P0, max_records=1) == [(0, 1, 1)]
    alice.acknowledge({P0: [(0, 1, RELEASE)]})
    share.delete_records_before(5)
    assert alice.take() == []
    assert alice.take() == [(2, 9, 1)]  # Kafka takes the first offset of the batch, because an archived batch lies before it.


def test_two_sessions_of_one_member_do_not_mix(share: ShareRig) -> None:
    share.produce(1)
    one, other = share.session("alice", group=GROUP), ShareSession(share.rig, "others", "alice")
    assert one.take(P0) == [(0, 0, 1)]
    assert other.fetch(P0).responses[0].partitions[0].error_code == -1


def test_kafka_4_3_fails_the_whole_fetch_of_an_unknown_topic(make_share: Callable[..., ShareRig]) -> None:
    share = make_share(profile="kafka-4.3")
    share.produce(1)
    alice = share.session("alice")
    assert alice.fetch(P0, ("nowhere", 0)).error_code == -1
    assert alice.take(forget=[("nowhere", 0)]) == [(0, 0, 1)]  # The epoch has counted on.


def test_a_cluster_without_share_groups_refuses_and_forgets(share: ShareRig) -> None:
    share.produce(2)
    alice = share.session("alice")
    alice.fetch(P0)
    share.rig.core.environment.levels["share.version"] = 0
    assert alice.fetch().error_code == error_codes.UNSUPPORTED_VERSION
    share.rig.core.environment.levels["share.version"] = 2
    assert alice.fetch(epoch=3).error_code == NO_SESSION
    assert alice.take(P0, epoch=0) == [(0, 1, 1)]
