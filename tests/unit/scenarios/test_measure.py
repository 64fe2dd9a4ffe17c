"""Figures are measured from handwritten rows that are small enough for mental arithmetic. Times are seconds here."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cases import for_each
from consumer_wire import handed_over

from groupmock.journal.follow import Follower
from groupmock_clients.scenarios.measure import Figures, NotMeasurable, measure
from groupmock_codec.embedded import consumer
from groupmock_codec.embedded.consumer import Assignment, Subscription, TopicPartitions

Rows = list[dict[str, Any]]
A, B, C = (f"m000{number}-00000000-0000-0000-0000-00000000000{number}" for number in (1, 2, 3))
A_AGAIN = A.replace("00000000-", "11111111-", 1)


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def b64(data: bytes) -> str:
    return b64encode(data).decode()


def listed(numbers: Iterable[int]) -> list[TopicPartitions]:
    return [TopicPartitions("orders", list(numbers))]


class Story:
    """Writes journal rows in the order of events. `join` and `sync` are whole exchanges of one moment."""

    def __init__(self, partitions: int = 4) -> None:
        self.rows: Rows = []
        self.ticket = 0
        self.generation = 0
        self.state = ""
        self.topic(0, "orders", partitions)

    def add(self, t: float, kind: str, **fields: Any) -> None:
        self.rows.append({"seq": len(self.rows) + 1, "t": ns(t), "kind": kind, **fields})

    def topic(self, t: float, name: str, partitions: int, what: str = "create") -> None:
        """Write a command that changes a topic and the note about the change."""
        self.add(t, "command", name=f"{what}_topic", arguments={"name": name, "partitions": partitions})
        made = {"create": "topic_created", "grow": "topic_grown"}[what]
        self.add(t, "note", what=made, fields={"topic": name, "partitions": partitions, "topic_id": name})

    def moved(self, t: float, state: str, generation: int) -> None:
        fields = {"before": self.state, "after": state, "generation": generation, "reason": "somebody did something"}
        self.add(t, "moved", group="scenario", **fields)
        self.state = state

    def leaves(self, t: float, member: str, connection: int) -> None:
        self.ask(t, 13, connection, {"members": [{"member_id": member}]})
        self.add(t, "member", group="scenario", member_id=member, what="removed", reason="it left")

    def say(self, t: float, client: str, what: str, **fields: Any) -> None:
        self.add(t, "client", client=client, what=what, fields=fields)

    def begin(self, t: float) -> None:
        self.say(t, "runner", "begin")

    def end(self, t: float) -> Figures:
        self.say(t, "runner", "end")
        return measure(self.rows)

    def ask(self, t: float, key: int, connection: int, message: dict[str, Any]) -> int:
        self.ticket += 1
        said = {"group_id": "scenario", **message}
        self.frame(t, "request", key, self.ticket, said, connection=connection, received=ns(t), handled=ns(t))
        return self.ticket

    def frame(self, t: float, kind: str, key: int, ticket: int, message: dict[str, Any], connection: int = 0, **fields: Any) -> None:
        place = {"connection": connection, "ticket": ticket, "correlation_id": ticket, "api_name": "", "api_version": 0, "size": 1}
        self.add(t, kind, api_key=key, message=message, **place, **fields)

    def join(self, t: float, claims: dict[str, Iterable[int]], protocol: str = "cooperative-sticky", took: float = 0.0) -> None:
        """Let all members join at `t`, with the first as leader. The first one leads."""
        self.generation += 1
        self.moved(t, "PreparingRebalance", self.generation - 1)
        metadata = {
            member: b64(consumer.encode_subscription(Subscription(0 if protocol == "range" else 1, ["orders"], b"", listed(owned))))
            for member, owned in claims.items()
        }
        tickets = {
            member: self.ask(
                t, 11, place,
                {"member_id": member, "protocol_type": "consumer", "protocols": [{"name": protocol, "metadata": metadata[member]}]},
            )
            for place, member in enumerate(claims, 1)
        }  # fmt: skip
        leader = next(iter(claims))
        self.moved(t + took, "CompletingRebalance", self.generation)
        for member, ticket in tickets.items():
            members = [{"member_id": each, "metadata": metadata[each]} for each in claims] if member == leader else []
            message = {"generation_id": self.generation, "protocol_name": protocol, "leader": leader, "member_id": member}
            self.frame(t + took, "reply", 11, ticket, {**message, "members": members})

    def sync(self, t: float, told: dict[str, Iterable[int]], unheard: Iterable[str] = ()) -> None:
        """Write the leader's assignments, which all members except `unheard` receive at once."""
        assignments = [
            {"member_id": member, "assignment": b64(consumer.encode_assignment(Assignment(1, listed(held), None)))}
            for member, held in told.items()
        ]
        tickets = {
            member: self.ask(
                t, 14, place, {"member_id": member, "generation_id": self.generation, "assignments": [] if place > 1 else assignments}
            )
            for place, member in enumerate(told, 1)
        }
        self.moved(t, "Stable", self.generation)
        for place, ticket in enumerate(tickets.values()):
            delivered = assignments[place]["member_id"] not in unheard
            message = {"error_code": 0, "assignment": assignments[place]["assignment"]}
            self.frame(t, "reply", 14, ticket, message, delivered=delivered)


def settled(partitions: int = 4, protocol: str = "cooperative-sticky") -> Story:
    """Return rows in which A owns the lower half and B the upper half; the measurement starts at 10 s."""
    story = Story(partitions)
    story.join(1, {A: (), B: ()}, protocol)
    half = partitions // 2
    story.sync(2, {A: range(half), B: range(half, partitions)})
    story.begin(10)
    return story


def test_a_quiet_group_costs_nothing() -> None:
    assert settled().end(20) == Figures(0, 0, 0, 0, 0.0, 0.0, 0, 0, 0.0)


@for_each("how", ["close", "leave", "expelled"])
def test_what_a_member_had_is_without_owner_from_its_going_until_somebody_heard_of_it(how: str) -> None:
    story = settled()
    if how == "close":
        story.add(11, "close", connection=2, by="client", reason="the client closed")
    elif how == "leave":
        story.leaves(11, B, 2)
    else:
        story.add(11, "member", group="scenario", member_id=B, what="removed", reason="its session ended")
    story.join(13, {A: (0, 1)})
    story.sync(14, {A: range(4)})
    figures = story.end(20)
    assert (figures.unowned_s, figures.moved, figures.rounds) == (6.0, 2, 1)


def test_an_eager_member_gives_up_everything_when_it_joins() -> None:
    story = settled(protocol="range")
    story.join(12, {A: (), B: ()}, "range", took=1)
    story.sync(13, {A: (0, 1), B: (2, 3)})
    figures = story.end(20)
    assert (figures.unowned_s, figures.moved) == (4.0, 0)


def test_a_cooperative_member_gives_up_what_it_is_told_to() -> None:
    story = settled()
    story.join(12, {A: (0, 1), B: (2, 3)}, took=1)
    story.sync(13, {A: (0,), B: (2, 3)})
    story.join(13.5, {A: (0,), B: (2, 3)})
    story.sync(14, {A: (0,), B: (1, 2, 3)})
    figures = story.end(20)
    assert (figures.unowned_s, figures.moved, figures.rounds) == (1.0, 1, 2)


def test_what_nobody_gets_is_without_owner_to_the_end() -> None:
    story = settled()
    story.leaves(15, B, 2)
    assert story.end(20).unowned_s == 10.0


def test_an_answer_that_did_not_arrive_makes_no_owner() -> None:
    story = settled()
    story.leaves(11, B, 2)
    story.join(11, {A: (0, 1)})
    story.sync(12, {A: range(4)}, unheard=[A])
    figures = story.end(20)
    assert (figures.unowned_s, figures.generations) == (18.0, 0)


def test_new_partitions_are_without_owner_from_their_making_on() -> None:
    story = settled()
    story.topic(12, "orders", 6, "grow")
    story.join(14, {A: (0, 1), B: (2, 3)})
    story.sync(15, {A: (0, 1, 4), B: (2, 3, 5)})
    assert story.end(20).unowned_s == 6.0


def test_a_topic_that_nobody_subscribes_to_needs_no_owner() -> None:
    story = settled()
    story.topic(12, "elsewhere", 100)
    assert story.end(20).unowned_s == 0.0


def test_a_process_that_comes_back_under_its_name_is_the_same() -> None:
    story = settled()
    story.add(11, "close", connection=1, by="client", reason="the client closed")
    story.join(12, {B: (2, 3), A_AGAIN: ()})
    story.sync(12, {B: (2, 3), A_AGAIN: (0, 1)})
    figures = story.end(20)
    assert (figures.moved, figures.unowned_s, figures.rounds) == (0, 2.0, 1)


def test_a_join_that_was_thrown_away_makes_a_generation_and_no_round() -> None:
    story = settled()
    story.join(12, {A: (0, 1), B: (2, 3)})
    story.sync(12, {A: (0,), B: (2, 3)})
    # A follows its assignment. B discards the first answer, claims the same partitions as before and gets the same assignment again.
    for t in (13, 14):
        story.join(t, {A: (0,), B: (2, 3)})
        story.sync(t, {A: (0,), B: (1, 2, 3)})
    figures = story.end(20)
    assert (figures.generations, figures.rounds) == (3, 2)


def test_a_round_that_tells_everybody_the_same_again_is_none() -> None:
    story = settled()
    story.join(12, {A: (0, 1), B: (2, 3)})
    story.sync(12, {A: (0, 1), B: (2, 3)})
    figures = story.end(20)
    assert (figures.generations, figures.rounds) == (1, 0)


def test_a_round_that_gives_nobody_anything_new_counts_if_somebody_is_missing() -> None:
    """The cooperative Designs II and III keep B's partitions reserved."""
    story = settled()
    story.leaves(11, B, 2)
    story.join(12, {A: (0, 1)})
    story.sync(12, {A: (0, 1)})
    assert story.end(20).rounds == 1


def test_converging_is_summed_over_the_steps() -> None:
    story = settled()
    story.say(11, "runner", "step", step="stop", member="m0002")
    story.leaves(11, B, 2)
    story.join(12, {A: (0, 1)})
    story.sync(12.5, {A: range(4)})
    story.say(15, "runner", "step", step="nothing", member="")
    story.say(16, "runner", "step", step="start", member="m0002")
    story.join(17, {A: range(4), B: ()})
    story.sync(17, {A: (0, 1, 2), B: ()})
    assert story.end(20).converge_s == 1.5 + 0 + 1


def delivered(story: Story, t: float, client: str, first: int, last: int, partition: int = 0) -> None:
    story.say(t, client, "delivered", topic="orders", partition=partition, first=first, last=last)


def produced(story: Story, t: float, first: int, last: int, partition: int = 0) -> None:
    story.say(t, "producer", "produced", topic="orders", partition=partition, first=first, last=last)


def test_a_record_counts_as_often_as_it_is_delivered_again() -> None:
    story = settled()
    produced(story, 11, 0, 9)
    delivered(story, 11, "m0001", 0, 5)
    delivered(story, 11, "m0002", 4, 9)
    delivered(story, 11, "m0001", 5, 5)
    figures = story.end(20)
    assert (figures.duplicates, figures.lost) == (3, 0)


def test_what_was_delivered_twice_before_the_begin_is_not_counted() -> None:
    story = Story()
    delivered(story, 1, "m0001", 0, 9)
    delivered(story, 2, "m0002", 0, 9)
    story.begin(10)
    delivered(story, 11, "m0001", 8, 9)
    assert story.end(20).duplicates == 2


def test_what_nobody_ever_got_is_lost_in_its_own_partition() -> None:
    story = settled()
    produced(story, 11, 0, 9)
    produced(story, 11, 0, 4, partition=1)
    delivered(story, 11, "m0001", 0, 3)
    delivered(story, 11, "m0001", 6, 9)
    delivered(story, 11, "m0001", 0, 3, partition=1)
    assert story.end(20).lost == 3


def test_a_record_that_comes_after_the_end_is_late_and_not_lost() -> None:
    story = settled()
    produced(story, 19, 0, 0)
    story.say(20, "runner", "end")
    delivered(story, 21, "m0001", 0, 0)
    figures = measure(story.rows)
    assert (figures.lost, figures.undelivered_s) == (0, 1.0)


def test_waits_that_overlap_are_time_without_delivery_once_and_short_ones_are_none() -> None:
    story = settled()
    for number, (made, got) in enumerate([(11, 14), (12, 14), (15, 15.1), (16, 17)]):
        produced(story, made, number, number)
        delivered(story, got, "m0001", number, number)
    produced(story, 11, 0, 0, partition=1)
    delivered(story, 13, "m0001", 0, 0, partition=1)
    assert story.end(20).undelivered_s == 3 + 1 + 2


def test_a_second_delivery_ends_no_wait() -> None:
    story = settled()
    produced(story, 11, 0, 0)
    delivered(story, 12, "m0001", 0, 0)
    delivered(story, 15, "m0002", 0, 0)
    assert story.end(20).undelivered_s == 1.0


def test_where_members_say_what_they_serve_that_is_what_counts() -> None:
    story = Story(2)
    story.say(1, "m0001", "serves", partitions=[["orders", 0], ["orders", 1]])
    story.begin(10)
    story.say(12, "m0001", "serves", partitions=[["orders", 0]])
    story.say(15, "m0002", "serves", partitions=[["orders", 1]])
    story.say(16, "m0001", "serves", partitions=[])
    assert story.end(20).undelivered_s == 3 + 4


@for_each("what", ["begin", "end"])
def test_rows_without_a_whole_run_are_refused(what: str) -> None:
    rows = [row for row in _whole() if row.get("what") != what]
    with pytest.raises(NotMeasurable, match=f"0 rows of the runner say '{what}'"):
        measure(rows)


def test_rows_of_two_runs_are_refused() -> None:
    with pytest.raises(NotMeasurable, match="2 rows of the runner say 'begin'"):
        measure([*_whole(), *_whole()])


def _whole() -> Rows:
    story = settled()
    story.end(20)
    return story.rows


def test_a_round_in_which_somebody_still_claims_what_it_should_have_given_up_is_late() -> None:
    """librdkafka joins again because A does, and still claims what it must revoke, so one more rebalance is needed."""
    story = settled()
    story.join(12, {A: (0, 1), B: (2, 3), C: ()})
    story.sync(12.1, {A: [0], B: [2], C: []})
    story.join(12.3, {A: [0], B: (2, 3), C: ()})
    story.sync(12.4, {A: [0], B: [2], C: [1]})
    story.join(12.6, {A: [0], B: [2], C: [1]})
    story.sync(12.7, {A: [0], B: [2], C: [1, 3]})
    figures = story.end(20)
    assert (figures.rounds, figures.late, figures.moved) == (3, 1, 2)


def test_a_consumer_group_has_rebalances_for_rounds(tmp_path: Path) -> None:
    """From 0.5 s on there are three rebalances that each assign or revoke something, and each moves two partitions. Without an owner
    were two partitions for 0.7 s and 0.1 s, and one for 10 s."""
    follower = Follower(handed_over(tmp_path / "run.jsonl", group="scenario"))
    rows = [dict(row) for row in follower.json_rows()]
    follower.close()
    marks = [
        {"kind": "client", "t": ns(at), "client": "runner", "what": what, "fields": {}}
        for at, what in ((0.5, "begin"), (0.6, "step"), (14.5, "end"))
    ]
    found = measure(sorted([*rows[1:], *marks], key=lambda row: row["t"]))
    assert (found.generations, found.rounds, found.late, found.moved) == (3, 3, 0, 6)
    assert found.unowned_s == pytest.approx(2 * 0.7 + 2 * 0.1 + 10)
    assert found.converge_s == pytest.approx(14 - 0.6)
