"""One member of a group, in the part that does not depend on the library: its Subscription, its decisions as leader, and the effect of an
Assignment.

`aiokafka` and `kafka_python` have a Membership each and add what only the library knows: the owned partitions, how to rejoin, the listener.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupmock_codec.embedded import designs
from groupmock_codec.embedded.consumer import TopicPartitions
from groupmock_codec.embedded.designs import AssignorData, DesignAssignment, DesignSubscription

from . import policy
from .balance import Partition
from .errors import UnreadableSubscription
from .policy import Claim, Decision, LeaderMemory, Received, Rules

log = logging.getLogger("groupmock.cooperative")
PROBLEMS_KEPT: Final = 100


def listed(partitions: Iterable[Partition]) -> list[TopicPartitions]:
    """Return the partitions as the codec's messages have them, topics and numbers in order."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        by_topic.setdefault(topic, []).append(number)
    return [TopicPartitions(topic, numbers) for topic, numbers in by_topic.items()]


def flat(found: Iterable[TopicPartitions] | None) -> frozenset[Partition]:
    """Return the partitions of a message of the codec as a set, which is empty for None."""
    return frozenset((each.topic, number) for each in found or () for number in each.partitions)


@dataclass(frozen=True, slots=True)
class PeerSubscription:
    """The Subscription of a member as the leader's library shows it. `owned` is None if the library does not show OwnedPartitions."""

    topics: Iterable[str]
    user_data: bytes | None
    owned: frozenset[Partition] | None = None


def counted(cluster: Any, peers: Iterable[PeerSubscription]) -> dict[str, int]:
    """Return topic -> number of partitions for the peers' topics in `cluster`, the library's metadata."""
    counts = {}
    for topic in {topic for peer in peers for topic in peer.topics}:
        numbers = cluster.partitions_for_topic(topic)
        if numbers:
            counts[topic] = max(numbers) + 1
    return counts


@dataclass(frozen=True, slots=True)
class AssignmentEffect:
    """The effect of an Assignment: the partitions `held` now, those `added` and `revoked`, and whether to rejoin at once or in
    `timeout_ms` (0: not at all)."""

    held: frozenset[Partition]
    added: frozenset[Partition]
    revoked: frozenset[Partition]
    rejoin: bool
    timeout_ms: int


class Membership:
    """The membership of one consumer in one group. `clock` returns monotonic seconds. `nonce` is the first nonce, for reproducible runs,
    else it is random.

    With `strict` a peer that cannot be read makes `assign` raise UnreadableSubscription. Otherwise it is logged and kept in `problems`.
    """

    def __init__(
        self, rules: Rules, *, strict: bool = False, clock: Callable[[], float] = time.monotonic, nonce: int | None = None
    ) -> None:
        self.rules, self.strict = rules, strict
        self.name = f"coop-d{rules.design}"
        self.problems: list[UnreadableSubscription] = []
        self._clock = clock
        self._nonce = secrets.randbits(31) if nonce is None else nonce
        self._memory: LeaderMemory | None = None
        self._received: Received | None = None
        self._planned = self._again = False

    def now(self) -> int:
        """Return the member's clock in ms."""
        return int(self._clock() * 1000)

    def subscription(self, topics: Iterable[str], owned: Iterable[Partition]) -> bytes:
        """Return the Subscription with which the member joins. Every call has a nonce of its own, because Kafka would answer an
        unchanged follower with the last round."""
        # The nonce changes with every join, because a follower that joins unchanged starts no round
        # (docs/kafka/group-protocol.md#jg-same-stable-follower). It has 31 bits, so that it is never negative as an int32.
        self._nonce = (self._nonce + 1) & 0x7FFFFFFF
        self._planned = self._again = False
        held, design = listed(owned), self.rules.design
        if design == 1:
            # The owned partitions are sent twice, because an aiokafka leader shows user data alone
            # (docs/kafka/clients.md#what-a-custom-assignor-can-do) and other leaders show OwnedPartitions.
            data = designs.encode_assignor_data(AssignorData(held, self._nonce))
            return designs.encode_subscription(DesignSubscription(1, sorted(topics), data, held))
        # The design's own fields go into the user data, because stock decoders drop bytes that follow it
        # (docs/kafka/clients.md#assignor-plug-in-of-aiokafka).
        return designs.carry_subscription(DesignSubscription(design, sorted(topics), self._nonce.to_bytes(4), held))

    # -- the member as leader

    def assign(self, counts: Mapping[str, int], peers: Mapping[str, PeerSubscription], me: str | None = None) -> dict[str, bytes]:
        """Return the Assignment of every member, as the leader of the round. `counts` are partitions per topic. `me` is the own id if the
        library knows it; else the nonce identifies it.

        Raises UnreadableSubscription if `strict`, and LookupError if this member is not among `peers`.
        """
        claims = {member: Claim(frozenset(peer.topics), self._owned_by(member, peer)) for member, peer in peers.items()}
        found = me if me is not None and me in peers else self._by_nonce(peers)
        plan = policy.plan(self.rules, counts, claims, found, self._memory, self._received, self.now())
        self._memory, self._planned, self._again = plan.memory, True, plan.again
        return {member: self._encoded(decision) for member, decision in plan.decisions.items()}

    def speaks_ours(self, peer: PeerSubscription) -> bool:
        """Tell whether another member uses a cooperative assignor of this package with the same design."""
        return self._nonce_of(peer) is not None

    def forget(self) -> None:
        """Forget the last cooperative round, because a round of another assignor has made it void."""
        self._memory = self._received = None
        self._planned = self._again = False

    def _owned_by(self, member: str, peer: PeerSubscription) -> frozenset[Partition]:
        if peer.owned is not None:
            return peer.owned
        if self.rules.design > 1:
            carried = designs.carried_subscription(peer.user_data)
            return self._assumed(member, peer) if carried is None else flat(carried.assigned_topic_partitions)
        told = designs.read_assignor_data(peer.user_data)
        if told is None and peer.user_data:
            return self._assumed(member, peer)
        return frozenset() if told is None else flat(told.owned)  # A new member may leave out the field of owned partitions.

    def _assumed(self, member: str, peer: PeerSubscription) -> frozenset[Partition]:
        """Assume that an unreadable member owns its last assignment, so that no other member gets its partitions meanwhile."""
        holdings = self._memory.holdings if self._memory is not None else {}
        owned = frozenset(partition for partition, holder in holdings.items() if holder == member)
        assumed = f"it holds what it was given last: {', '.join(f'{t}-{n}' for t, n in sorted(owned))}" if owned else "it holds nothing"
        problem = UnreadableSubscription(member, peer.user_data, assumed)
        if self.strict:
            raise problem
        log.error("%s", problem)
        self.problems = [*self.problems, problem][-PROBLEMS_KEPT:]
        return owned

    def _by_nonce(self, peers: Mapping[str, PeerSubscription]) -> str:
        found = next((member for member, peer in peers.items() if self._nonce_of(peer) == self._nonce), None)
        if found is None:
            raise LookupError(f"{self.name}: no member joined with this one's last Subscription; pass `me`, the own member id")
        return found

    def _nonce_of(self, peer: PeerSubscription) -> int | None:
        data = peer.user_data
        if self.rules.design > 1:
            carried = designs.carried_subscription(data)
            data = None if carried is None else carried.partition_assignor_data
        told = designs.read_assignor_data(data)
        return None if told is None else told.nonce

    def _encoded(self, decision: Decision) -> bytes:
        design, full, revoked = self.rules.design, listed(decision.assigned), listed(decision.revoked)
        if design == 1:
            # A stock decoder takes the number of revoked topics for the length of the user data, and ignores the rest
            # (docs/kafka/seed-documents.md). So the stock field carries the full list.
            return designs.encode_assignment(DesignAssignment(1, full, revoked))
        return designs.carry_assignment(DesignAssignment(design, listed(decision.listed), revoked, decision.timeout_ms), full)

    # -- the member as follower

    def received(
        self, owned: frozenset[Partition], assigned: frozenset[Partition], user_data: bytes | None, me: str, topics: Iterable[str],
        universe: Iterable[Partition],
    ) -> AssignmentEffect:  # fmt: skip
        """Process the Assignment that this member has got. `owned` are the partitions until now, `assigned` is the stock list, `me` the
        own id, `universe` all partitions of the own topics."""
        carried = designs.carried_assignment(user_data) if self.rules.design > 1 else None
        revoked = owned - assigned
        # A member that gives up partitions rejoins at once (docs/kafka/cooperative-designs.md#member-rule-2). The document leaves negative
        # timeouts undefined (docs/kafka/seed-documents.md): they count as 0.
        timeout = 0 if carried is None or revoked else max(0, carried.scheduled_rebalance_timeout)
        deadline = self.now() + timeout if timeout else None
        self._received = Received(me, deadline, frozenset(topics), frozenset(universe))
        if not self._planned:
            self._memory = None  # Another member leads now, so what this member knew as a leader is void.
        rejoin = bool(revoked) or (self._planned and self._again)
        return AssignmentEffect(assigned, assigned - owned, revoked, rejoin, timeout)
