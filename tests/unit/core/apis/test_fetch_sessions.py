"""Incremental fetch sessions (KIP-227) work like those of Apache Kafka 4.3.0, recorded on 2026-11-21, including the limits of the cache."""

from __future__ import annotations

from typing import Any

from cases import for_each
from log_world import LogWorld, batch, fetch_request

from groupmock_codec.messages.k01_fetch import FetchRequest, FetchResponse, FetchTopic, ForgottenTopic

Row = tuple[int, int, int]  # A row has the partition, error code and number of bytes.


def filled(**settings: Any) -> LogWorld:
    world = LogWorld(**settings)
    world.topic("t", partitions=3)
    world.append(batch(b"x" * 100))
    return world


def rows(answer: FetchResponse) -> list[Row]:
    return [(each.partition_index, each.error_code, len(each.records or b"")) for topic in answer.responses for each in topic.partitions]


class Session:
    """A consumer that keeps the epoch of its fetch session."""

    def __init__(self, world: LogWorld, *wanted: tuple[str, int, int], version: int = 11) -> None:
        self.world, self.version = world, version
        self.first = self._send(fetch_request(*wanted, version=version, world=world, session_epoch=0))
        self.session_id, self.epoch = self.first.session_id, 0

    def next(self, *wanted: tuple[str, int, int], forget: dict[str, list[int]] | None = None) -> FetchResponse:
        self.epoch += 1
        return self.with_epoch(self.epoch, *wanted, forget=forget)

    def with_epoch(
        self, epoch: int, *wanted: tuple[str, int, int], forget: dict[str, list[int]] | None = None, version: int = 0
    ) -> FetchResponse:
        """Send a Fetch of this session with the given epoch."""
        request = fetch_request(*wanted, version=version or self.version, world=self.world, session_id=self.session_id, session_epoch=epoch)
        request.forgotten_topics_data = [ForgottenTopic(topic=name, partitions=gone) for name, gone in (forget or {}).items()]
        return self._send(request, version)

    def _send(self, request: FetchRequest, version: int = 0) -> FetchResponse:
        answer = self.world.ask(1, version or self.version, request)
        assert isinstance(answer, FetchResponse)
        return answer


def test_a_dialogue_tells_only_news() -> None:
    world = filled()
    session = Session(world, ("t", 0, 0))
    assert session.session_id > 0 and rows(session.first) == [(0, 0, 170)]
    assert rows(session.next()) == [(0, 0, 170)]  # The same records are sent again, because the fetch offset did not advance.
    # The answer contains a newly added partition even without records.
    assert rows(session.next(("t", 1, 0))) == [(1, 0, 0), (0, 0, 170)][::-1]
    assert rows(session.next(("t", 0, 1))) == []
    world.append(batch())
    assert rows(session.next()) == [(0, 0, 69)]
    assert rows(session.next(forget={"t": [0]})) == []
    world.append(batch())
    assert rows(session.next(forget={"t": [0, 7]})) == []
    assert rows(session.next(("t", 9, 0))) == [(9, 3, 0)]
    assert rows(session.next()) == [(9, 3, 0)]  # The answer always contains a partition with an error.
    assert rows(session.next(forget={"t": [9]})) == []
    last = session.next(forget={"t": [1]})
    assert (last.error_code, last.session_id, rows(last)) == (0, 0, [])  # A Fetch session ends when its last partition is removed.
    assert session.next().error_code == 70


def test_a_log_start_that_moved_is_news() -> None:
    world = filled()
    session = Session(world, ("t", 0, 1))
    assert rows(session.next()) == []
    found = world.topics.find("t", 0)
    assert found is not None
    found.delete_before(1)
    assert rows(session.next()) == [(0, 0, 0)]


def test_the_end_of_an_error_is_news() -> None:
    session = Session(filled(), ("t", 0, 1))
    assert rows(session.next(("t", 0, 9))) == [(0, 1, 0)]
    assert rows(session.next(("t", 0, 1))) == [(0, 0, 0)]
    assert rows(session.next()) == []


def test_a_partition_with_records_goes_to_the_end() -> None:
    world = filled()
    world.append(batch(b"y" * 100), partition=1)
    session = Session(world, ("t", 0, 0), ("t", 1, 0), ("t", 2, 0))
    assert [row[0] for row in rows(session.next())] == [0, 1]
    world.append(batch(), partition=2)
    assert [row[0] for row in rows(session.next())] == [2, 0, 1]


def test_an_incremental_fetch_waits_like_any_other() -> None:
    world = filled()
    session = Session(world, ("t", 0, 1))
    ticket = world.send(1, 11, FetchRequest(session_id=session.session_id, session_epoch=1, max_wait_ms=200, min_bytes=1))
    assert world.outcome(ticket) == "parked"
    world.append(batch())
    assert rows(world.answers[ticket]) == [(0, 0, 69)]


@for_each(("session_id", "epoch", "code"), [(123456, 1, 70), (0, 1, 70), (123456, -1, 0), (123456, 0, 0)])
def test_unknown_sessions(session_id: int, epoch: int, code: int) -> None:
    world = filled()
    answer = world.ask(1, 11, fetch_request(("t", 0, 0), session_id=session_id, session_epoch=epoch))
    assert (answer.error_code, answer.session_id > 0) == (code, epoch == 0)


def test_a_wrong_epoch_is_refused_and_changes_nothing() -> None:
    session = Session(filled(), ("t", 0, 0))
    session.next()
    for epoch in (1, 3, 99):
        refused = session.with_epoch(epoch)
        assert (refused.error_code, refused.session_id, rows(refused)) == (71, 0, [])
    assert session.next().error_code == 0


@for_each("epoch", [-1, 0])
def test_a_final_or_a_full_fetch_ends_the_session(epoch: int) -> None:
    world = filled()
    session = Session(world, ("t", 0, 0))
    answer = session.with_epoch(epoch, ("t", 0, 0))
    assert (answer.error_code, answer.session_id != session.session_id) == (0, True)
    assert session.with_epoch(1).error_code == 70


def test_names_and_ids_do_not_mix() -> None:
    session = Session(filled(), ("t", 0, 0), version=12)
    assert session.with_epoch(1, version=13).error_code == 106
    assert session.with_epoch(1, version=12).error_code == 0


def test_a_session_keeps_what_a_higher_version_told_it() -> None:
    world = filled()
    first = world.ask(1, 12, fetch_request(("t", 0, 0), session_epoch=0, partition={"last_fetched_epoch": 1}))
    again = world.ask(1, 10, FetchRequest(session_id=first.session_id, session_epoch=1))
    assert (rows(first), rows(again)) == ([(0, 1, 0)], [(0, 1, 0)])


def test_a_divergence_that_the_version_cannot_say() -> None:
    """The session began with a higher version, and Kafka cannot encode DivergingEpoch for this one, because the field is not ignorable.
    The epoch is spent."""
    world = filled()
    first = world.ask(1, 12, fetch_request(("t", 0, 9), session_epoch=0, partition={"last_fetched_epoch": 0}))
    assert rows(first) == [(0, 0, 0)]
    named = fetch_request(("t", 1, 0)).topics
    again = world.ask(1, 11, FetchRequest(session_id=first.session_id, session_epoch=1, topics=named))
    assert (again.error_code, again.session_id, rows(again)) == (35, first.session_id, [(1, 35, 0)])
    last = world.ask(1, 12, FetchRequest(session_id=first.session_id, session_epoch=2))
    assert (last.error_code, rows(last)) == (0, [(0, 0, 0)])


def test_an_empty_full_fetch_gets_a_session() -> None:
    assert Session(filled()).session_id > 0


def test_a_topic_that_is_deleted_and_made_again() -> None:
    world = filled()
    by_name, by_id = Session(world, ("t", 0, 1)), Session(world, ("t", 0, 1), version=13)
    world.command("delete_topic", name="t")
    assert (rows(by_name.next()), rows(by_id.next())) == ([(0, 3, 0)], [(0, 3, 0)])
    world.topic("t")
    world.append(batch(), batch())
    assert (rows(by_name.next()), rows(by_id.next())) == ([(0, 0, 69)], [(0, 103, 0)])


def test_an_id_becomes_known() -> None:
    world = filled()
    request = fetch_request(version=13, session_epoch=0)
    unknown = b"\6" * 16
    partitions = fetch_request(("t", 0, 0)).topics[0].partitions
    request.topics = [FetchTopic(topic_id=unknown, partitions=partitions)]
    first = world.ask(1, 13, request)
    again = world.ask(1, 13, FetchRequest(session_id=first.session_id, session_epoch=1))
    assert (rows(first), rows(again)) == ([(0, 100, 0)], [(0, 100, 0)])


# -- the cache


def test_without_slots_there_are_no_sessions() -> None:
    assert Session(filled(max_incremental_fetch_session_cache_slots=0), ("t", 0, 0)).session_id == 0


def test_a_full_cache_keeps_what_is_in_use() -> None:
    world = filled(max_incremental_fetch_session_cache_slots=2)
    old, young = Session(world, ("t", 0, 0)), Session(world, ("t", 1, 0))
    assert Session(world, ("t", 0, 0)).session_id == 0
    world.sleep(120_000)
    assert old.next().error_code == 0
    assert Session(world, ("t", 0, 0)).session_id == 0  # The full cache evicts a Fetch session only after more than two idle minutes.
    world.sleep(1)
    assert Session(world, ("t", 0, 0)).session_id > 0
    assert (old.next().error_code, young.next().error_code) == (0, 70)


def test_a_larger_session_may_push_out_a_smaller_one_that_had_its_time() -> None:
    world = filled(max_incremental_fetch_session_cache_slots=1)
    small = Session(world, ("t", 0, 0))
    assert Session(world, ("t", 0, 0), ("t", 1, 0)).session_id == 0
    for _ in range(2):
        world.sleep(100_000)
        assert small.next().error_code == 0
    assert Session(world, ("t", 0, 0)).session_id == 0
    assert Session(world, ("t", 0, 0), ("t", 1, 0)).session_id > 0
    assert small.next().error_code == 70


def test_each_node_has_its_own_cache() -> None:
    world = filled(nodes=2, max_incremental_fetch_session_cache_slots=1)
    session = Session(world, ("t", 0, 0))
    other = world.ask(1, 11, FetchRequest(session_id=session.session_id, session_epoch=1), node=2)
    assert (other.error_code, session.next().error_code) == (70, 0)


def test_fetch_session_moves_partitions_with_records_to_its_end() -> None:
    world = filled()
    session = Session(world, ("t", 0, 0), ("t", 1, 9), ("t", 2, 9))
    assert [row[0] for row in rows(session.next())] == [0, 1, 2]
    assert [row[0] for row in rows(session.next())] == [1, 2, 0]
