"""The assignor `coop-d2-literal` sends the messages of Design II byte for byte as the cooperative-rebalancing document prints them. No
stock client can read it, so scripts on raw sockets play it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from doc_vectors import T1_MS, Example, Held, examples, held
from waiting import until

from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.versions import newest
from groupmock.rig.wire import Client, read_response
from groupmock_clients.cooperative import policy
from groupmock_clients.cooperative.member import flat, listed
from groupmock_clients.cooperative.policy import Claim, LeaderMemory, Rules, name_of
from groupmock_codec.api_keys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from groupmock_codec.embedded import designs
from groupmock_codec.embedded.designs import DesignAssignment, DesignSubscription
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS

NAME: Final = "coop-d2-literal"
TOPICS: Final = frozenset({"T"})
DESIGN_TWO = [each for each in examples() if each.design == 2]


class Script(ClassicMember):
    """A member on a raw socket that the test moves step by step."""

    def __init__(self, bootstrap: str, name: str, claims: Held = frozenset()) -> None:
        host, port = bootstrap.split(":")
        super().__init__("g", topics=["T"], session_ms=30_000, rebalance_ms=30_000)
        self.name, self.owned, self.heard = name, claims, b""
        self.client = Client(host, int(port), name)

    def ask(self, key: int, request: Any) -> Any:
        return self.client.ask(key, newest(key, request), request)

    def send(self, key: int, request: Any) -> None:
        """Send a request whose answer `read` returns."""
        self.version = newest(key, request)
        self.client.send(key, self.version, request)

    def join(self) -> None:
        """Send a JoinGroup with the document's Subscription, whose PartitionAssignorData is empty."""
        if not self.member_id:
            assert self.joined(self.ask(JOIN_GROUP, self.join_request())) == MEMBER_ID_REQUIRED
        self.send(JOIN_GROUP, self.join_request())

    def offers(self) -> list[tuple[str, bytes]]:
        return [(NAME, designs.encode_subscription(DesignSubscription(1, self.topics, b"", listed(self.owned))))]

    def read(self, key: int) -> Any:
        return read_response(key, self.version, self.client.receive())[1]

    def is_in(self) -> Any:
        answer = self.read(JOIN_GROUP)
        assert not self.joined(answer)
        return answer

    def obey(self, data: bytes) -> None:
        """Set the owned partitions to (owned - revoked) | assigned, as the document demands."""
        self.heard = data
        told = designs.decode_assignment(data)
        self.owned = (self.owned - flat(told.revoke_topic_partitions)) | flat(told.assigned_topic_partitions)

    def leave(self) -> None:
        self.ask(LEAVE_GROUP, self.leave_request())
        self.client.close()


class Scripts:
    """The group of scripted members, in which A leads by the cooperative policy. A leads with the policy and the document's literal
    Assignment; t1 is a constant of its configuration."""

    def __init__(self, house: Any, example: Example) -> None:
        self.broker = house.broker
        self.members = {name: Script(self.broker.bootstrap, name, held(text)) for name, text in example.initial.items()}
        self.memory: LeaderMemory | None = None

    def round(self, now: int) -> dict[str, bytes]:
        """Play one rebalance with A as leader and return the bytes that each member received, by name."""
        first, *others = sorted(self.members.values(), key=lambda each: each.generation >= 0)
        # A new member joins first, or the other members would complete the rebalance alone. In other cases A joins first, because the first
        # member becomes the leader.
        first.join()
        # The test waits for the leader's JoinGroup, because a follower that joins before it would get its old assignment again.
        self.broker.wait_for("g", state="PreparingRebalance")
        for member in others:
            member.join()
        answers = {name: member.is_in() for name, member in self.members.items()}
        assert name_of(answers["A"].leader) == "A"
        claims = {
            each.member_id: Claim(TOPICS, flat(designs.decode_subscription(each.metadata).assigned_topic_partitions))
            for each in answers["A"].members
        }
        planned = policy.plan(Rules(2, delay_ms=T1_MS), {"T": 4}, claims, self.members["A"].member_id, self.memory, None, now)
        self.memory = planned.memory
        brought = {member: literal(one) for member, one in planned.decisions.items()}
        for member in self.members.values():
            member.send(SYNC_GROUP, member.sync_request(brought if member.name == "A" else None))
        for member in self.members.values():
            member.obey(member.read(SYNC_GROUP).assignment)
        return {name: member.heard for name, member in self.members.items()}

    def become(self, names: set[str]) -> None:
        """Change the group to these members: some leave, new ones join, and the others learn of the change by a heartbeat."""
        for name in set(self.members) - names:
            self.members.pop(name).leave()
        for name in names - set(self.members):
            self.members[name] = Script(self.broker.bootstrap, name.rstrip("'"))


def literal(one: policy.Decision) -> bytes:
    """Encode the leader's decision without unchanged partitions, as the document's examples do."""
    return designs.encode_assignment(DesignAssignment(2, listed(one.listed), listed(one.revoked), one.timeout_ms))


def told_to_join_again(member: Script) -> bool:
    return bool(member.ask(HEARTBEAT, member.heartbeat_request()).error_code == REBALANCE_IN_PROGRESS)


@pytest.mark.parametrize("house", [{"group_initial_rebalance_delay_ms": 300}], indirect=True)
@pytest.mark.parametrize("example", DESIGN_TWO, ids=lambda example: example.name)
def test_scripts_hear_the_documents_bytes(example: Example, house: Any) -> None:
    group = Scripts(house, example)
    group.round(0)
    for one in example.rounds:
        before = set(group.members)
        group.become(set(one.claims))
        if set(group.members) < before:
            assert told_to_join_again(group.members["A"])
        now = T1_MS if one.when == "after" else 0 if one.when is None else T1_MS // 2
        assert {name: member.owned for name, member in group.members.items()} == {name: held(text) for name, text in one.claims.items()}
        assert group.round(now) == one.assignment_delta
    for member in group.members.values():
        member.leave()
    shown = timeouts_in(house.broker.journal)
    assert T1_MS in shown and 0 in shown


def timeouts_in(journal: str) -> set[int]:
    """Return the ScheduledRebalanceTimeout of every decoded Assignment of a leader, once the last one is written."""
    found: set[int] = set()

    def read() -> bool:
        lines = Path(journal).read_text().splitlines(keepends=True)
        rows = [json.loads(line) for line in lines if line.endswith("\n")]
        brought = [row["embedded"] for row in rows if row.get("api_key") == SYNC_GROUP and row["kind"] == "request" and row.get("embedded")]
        found.update(each.get("scheduled_rebalance_timeout", 0) for embedded in brought for each in embedded.values())
        return len(found) > 1

    until("decoded timeouts", read, lambda: found)
    return found
