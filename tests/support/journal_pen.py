"""Writes journals by hand, with one method per kind of row, times in ns, and only the fields that matter for a rebalance."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final

import msgspec

from groupmock_codec.embedded import consumer
from groupmock_codec.embedded.consumer import TopicPartitions

Row = dict[str, Any]
TOPIC: Final = "orders"


def listed(numbers: list[int]) -> list[TopicPartitions]:
    return [TopicPartitions(TOPIC, numbers)] if numbers else []


class Pen:
    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.t = 0
        self.ticket = 0
        self.open: dict[int, Row] = {}

    def at(self, t: int) -> Pen:
        self.t = t
        return self

    def row(self, kind: str, **fields: Any) -> None:
        self.rows.append({"kind": kind, "seq": len(self.rows) + 1, "t": self.t, **fields})

    def moved(self, group: str, before: str, after: str, generation: int, reason: str, members: int = 0, leader: str | None = None) -> None:
        protocol = {"protocol_name": "range"} if after in ("CompletingRebalance", "Stable") else {}
        self.row(
            "moved", group=group, before=before, after=after, generation=generation, reason=reason, members=members, leader=leader,
            protocol_type="consumer", **protocol,
        )  # fmt: skip

    def request(
        self, api: tuple[int, str], connection: int, message: Row, embedded: Row | None = None, client_id: str | None = None
    ) -> int:
        """Write a request and return its ticket."""
        self.ticket += 1
        place: Row = {"connection": connection, "ticket": self.ticket, "correlation_id": 1, "api_version": 5}
        place |= {"api_key": api[0], "api_name": api[1]}
        self.open[self.ticket] = place
        self.row(
            "request", **place, received=self.t, handled=self.t, size=1, message=message, embedded=embedded,
            **({"client_id": client_id} if client_id is not None else {}),
        )  # fmt: skip
        return self.ticket

    def reply(self, ticket: int, message: Row, embedded: Row | None = None, **more: Any) -> None:
        self.row("reply", **self.open[ticket], size=1, message=message, embedded=embedded, **more)

    def join(self, group: str, member: str, connection: int, client_id: str = "app", owned: list[int] | None = None, **more: Any) -> int:
        """Write a JoinGroup of a member that claims to own the partitions `owned`."""
        metadata = self.subscription(owned or [])
        message = {
            "group_id": group, "member_id": member, "protocol_type": "consumer",
            "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000,
            "protocols": [{"name": "range", "metadata": encoded(consumer.encode_subscription(metadata))}],
        }  # fmt: skip
        return self.request((11, "JoinGroup"), connection, message | more, {"protocols[0].metadata": builtins(metadata)}, client_id)

    def joined(self, ticket: int, member: str, generation: int, leader: str = "", claims: dict[str, list[int]] | None = None) -> None:
        """Write the answer to a JoinGroup. With `claims` (of every member) it is the leader's."""
        subscriptions = {name: self.subscription(owned) for name, owned in (claims or {}).items()}
        members = [{"member_id": name, "metadata": encoded(consumer.encode_subscription(each))} for name, each in subscriptions.items()]
        embedded = {f"members[{place}].metadata": builtins(each) for place, each in enumerate(subscriptions.values())}
        message = {"error_code": 0, "generation_id": generation, "protocol_name": "range", "leader": leader}
        message |= {"member_id": member, "members": members}
        self.reply(ticket, message, embedded or None)

    def sync(self, group: str, member: str, connection: int, generation: int, told: dict[str, list[int]] | None = None) -> int:
        """Write the SyncGroup request of a member. The leader's request has the assignments of all members."""
        assignments = {name: self.assignment(numbers) for name, numbers in (told or {}).items()}
        entries = [{"member_id": name, "assignment": encoded(consumer.encode_assignment(each))} for name, each in assignments.items()]
        embedded = {f"assignments[{place}].assignment": builtins(each) for place, each in enumerate(assignments.values())}
        message = {"group_id": group, "member_id": member, "generation_id": generation, "assignments": entries}
        return self.request((14, "SyncGroup"), connection, message, embedded or None)

    def synced(self, ticket: int, numbers: list[int], **more: Any) -> None:
        assignment = self.assignment(numbers)
        message = {"error_code": 0, "assignment": encoded(consumer.encode_assignment(assignment))}
        self.reply(ticket, message, {"assignment": builtins(assignment)}, **more)

    def produce(self, number: int, offset: int) -> None:
        """Write a Produce request and an answer with the offset."""
        ticket = self.request((0, "Produce"), 90, {})
        parts = [{"index": number, "base_offset": offset, "error_code": 0}]
        self.reply(ticket, {"responses": [{"name": TOPIC, "topic_id": "", "partition_responses": parts}]})

    def fetch(self, client_id: str, number: int, offset: int) -> None:
        """Write a Fetch from that offset, with an answer whose content does not matter."""
        partitions = [{"partition": number, "fetch_offset": offset}]
        self.request((1, "Fetch"), 91, {"topics": [{"topic": TOPIC, "topic_id": "", "partitions": partitions}]}, client_id=client_id)

    @staticmethod
    def subscription(owned: list[int]) -> consumer.Subscription:
        """Return a Subscription of version 1 as stock consumers send it."""
        return consumer.Subscription(1, [TOPIC], b"", listed(owned))

    @staticmethod
    def assignment(numbers: list[int]) -> consumer.Assignment:
        """Return an Assignment of version 1 as stock leaders send it."""
        return consumer.Assignment(1, listed(numbers), b"")

    # -- Whole steps of a group

    def round(self, group: str, generation: int, told: dict[str, list[int]], reason: str, before: str = "Stable", step: int = 10) -> None:
        """Write a whole rebalance of eager members that starts now and has the first member as leader.

        Each member uses the connection with its name's last digit. `step` ns lie between the begin, the last JoinGroup and the assignment.
        """
        members, leader = list(told), next(iter(told))
        self.moved(group, before, "PreparingRebalance", generation - 1, reason, len(members), leader)
        self.t += step
        joins = {name: self.join(group, name, int(name[-1]), client_id=name) for name in members}
        self.moved(group, "PreparingRebalance", "CompletingRebalance", generation, "all members joined", len(members), leader)
        for name, ticket in joins.items():
            self.joined(ticket, name, generation, leader, {each: [] for each in members} if name == leader else None)
        self.t += step
        syncs = {name: self.sync(group, name, int(name[-1]), generation, told if name == leader else None) for name in members}
        self.moved(group, "CompletingRebalance", "Stable", generation, f"leader {leader} brought the assignments", len(members), leader)
        for name, ticket in syncs.items():
            self.synced(ticket, told[name])


def encoded(data: bytes) -> str:
    return b64encode(data).decode()


def builtins(message: Any) -> Row:
    """Convert a decoded message to the JSON data of a journal."""
    found: Row = msgspec.to_builtins(message)
    return {name: value for name, value in found.items() if name != "unknown_tags"}
