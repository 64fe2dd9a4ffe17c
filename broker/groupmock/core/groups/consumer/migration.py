"""A group can change between the classic and the consumer protocol while its members stay (KIP-848, online migration; CG-170 to CG-172,
CG-180 to CG-189).

Upgrade: a member of the consumer protocol joins a classic group. No member stops: every classic member keeps the partitions that its leader
assigned, and its generation becomes its epoch. Parked requests are answered REBALANCE_IN_PROGRESS (27), and so are Heartbeats as soon as
the new member needs another target. From then on `classic_members` has the answers to classic members.

Downgrade: the last member of the consumer protocol leaves, and classic ones remain. A consumer group of classic members does not change by
itself: only that departure counts, and only if the policy allows it (`membership.left_to_classics`).

In Kafka: GroupMetadataManager.validateOnlineUpgrade, convertToConsumerGroup, ConsumerGroup.fromClassicGroup; validateOnlineDowngrade...,
ClassicGroup.fromConsumerGroup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.embedded.consumer import Assignment, Subscription, decode_assignment, decode_subscription
from groupmock_codec.errors import DecodeError
from groupmock_codec.group_states import EMPTY

from ...turn import Turn
from .. import causes, timing
from ..causes import Why
from ..classic import answers, rebalance, sessions, storage
from ..classic.group import Member as ClassicMember
from ..classic.group import StoredGroup, lists
from ..classic.subscription import Subscribed
from ..classic.vote import select_protocol
from ..modern import settle
from ..refused import Refused
from .classic_members import HIGHEST_SUBSCRIPTION, assignment_bytes
from .group import ClassicSide, Group, Member
from .orders import Held, Spot

if TYPE_CHECKING:
    from ...log.topics import Topics
    from ..classic.type import ClassicGroup
    from .assignors import Target

ALLOW_UPGRADES: Final = ("upgrade", "bidirectional")
CUSTOM: Final = (
    "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor "
    "before re-attempting the upgrade"
)


def check_upgrade(turn: Turn, group: ClassicGroup) -> bool:
    """Check whether the classic group may become a consumer group, in Kafka's order (CG-170, CG-180). Once the size check has passed,
    all parked requests are answered. Return whether the leader assigned partitions that do not exist. Raises Refused."""
    taken: set[Spot] = set()
    why = _why_not(turn, group, taken)
    if why is not None:
        text = f"Cannot upgrade classic group {group.group_id} to consumer group because {why}."
        raise Refused(error_codes.GROUP_ID_NOT_FOUND, text)
    return group.home.topics.lack(taken)


def _why_not(turn: Turn, group: ClassicGroup, taken: set[Spot]) -> str | None:
    """Return why the group may not be upgraded, or None after adding all assigned partitions to `taken`. Raises Refused."""
    if turn.settings.group_consumer_migration_policy not in ALLOW_UPGRADES:
        return "online upgrade is disabled"
    if group.protocol_type != "consumer":
        return "the group does not use the consumer embedded protocol"
    if len(group.members) > turn.settings.group_consumer_max_size:
        return "the group size exceeds the consumer group maximum size"
    # The parked requests are answered before the checks that may still refuse the new member, for instance for lack of room (CG-181).
    for member in group.members.values():
        _send_back(turn, group, member)
    chosen = group.protocol_name or ""
    for member in group.ordered():
        if not lists(member.protocols, chosen):
            # Kafka throws if a member does not list the protocol of the last generation, or if the group has had no generation yet
            # (ConsumerGroup.fromClassicGroup, seen on 4.3.0).
            raise Refused(error_codes.UNKNOWN_SERVER_ERROR, "")
        try:
            given = _read(member, chosen)[1]
        except DecodeError as malformed:
            # Before 4.4 Kafka handles metadata that ends inside a number, but throws on a false count or length (ConsumerProtocol).
            ends = malformed.path == "version" or malformed.reason.startswith("stream read less")
            if turn.quirks.malformed_metadata_fails and not ends:
                raise Refused(error_codes.UNKNOWN_SERVER_ERROR, "") from None
            return "the embedded consumer protocol is malformed"
        if given.user_data:
            return CUSTOM
        spots = _spots(group.home.topics, given)
        if not taken.isdisjoint(spots):
            # Kafka throws if the leader assigned a partition to two members (ConsumerGroup.addPartitionEpochs, seen on 4.4.0).
            raise Refused(error_codes.UNKNOWN_SERVER_ERROR, "")
        taken.update(spots)
    return None


def _send_back(turn: Turn, group: ClassicGroup, member: ClassicMember) -> None:
    """Answer the member's parked requests with REBALANCE_IN_PROGRESS (27), so that the member joins again."""
    join = group.park_join(member, None)
    if join is not None and not join.answered:
        turn.reply(join.ticket, answers.join_refused(error_codes.REBALANCE_IN_PROGRESS, join.version, member.member_id))
    sync, member.sync = member.sync, None
    if sync is not None:
        turn.reply(sync.ticket, answers.sync_refused(error_codes.REBALANCE_IN_PROGRESS))


def _read(member: ClassicMember, chosen: str) -> tuple[Subscription, Assignment]:
    given = decode_assignment(member.assignment) if member.assignment else Assignment()
    return decode_subscription(member.metadata(chosen)), given


def _spots(topics: Topics, given: Assignment) -> list[Spot]:
    """Return the partitions of existing topics. If the leader listed a topic twice, the last entry counts (seen on 4.4.0)."""
    last = {topics.topic_id(topic.topic): topic.partitions for topic in given.assigned_partitions}
    return [(topic_id, index) for topic_id, indexes in last.items() if topic_id is not None for index in indexes]


def upgrade(turn: Turn, old: ClassicGroup, new: Group, why: Why) -> None:
    generation, chosen = old.generation, old.protocol_name or ""
    for name in ("join", "sync"):
        turn.timers.cancel((name, old.group_id))
    found = [_as_consumer(new, each, generation, chosen) for each in old.ordered()]
    new.topics = new.as_they_are(sorted({name for member in found for name in member.names}))
    new.refill(generation, generation, found, {member.member_id: _target(member.assigned) for member in found})
    for member in found:
        assert member.classic is not None
        timing.renew(turn, new, member, member.classic.session_timeout_ms)
    settle(turn, new, why)


def _as_consumer(group: Group, old: ClassicMember, generation: int, chosen: str) -> Member:
    said, given = _read(old, chosen)
    return Member(
        member_id=old.member_id,
        group_instance_id=old.group_instance_id,
        client_id=old.client_id,
        client_host=old.client_host,
        rack_id=said.rack_id,
        rebalance_timeout_ms=old.rebalance_timeout_ms,
        names=frozenset(said.topics),
        epoch=generation,
        previous_epoch=generation,
        assigned=dict.fromkeys(_spots(group.home.topics, given), generation),
        classic=ClassicSide(old.protocols, old.session_timeout_ms, min(said.version, HIGHEST_SUBSCRIPTION)),
    )


def _target(assigned: Held) -> Target:
    found: dict[bytes, list[int]] = {}
    for topic, index in assigned:
        found.setdefault(topic, []).append(index)
    return {topic: tuple(indexes) for topic, indexes in found.items()}


def downgrade(turn: Turn, old: Group, remaining: Sequence[Member], new: ClassicGroup) -> None:
    """Move the remaining members to a classic group, with the group epoch as generation and their targets as assignments, reached or
    not. They have to join again, unless the last of the others was only replaced (CG-187): then its successor is put last."""
    assert old.lost is not None
    rebalances, successor = old.lost
    in_order = sorted(remaining, key=lambda member: member.member_id == successor)
    members = [_as_classic(turn, new, member, assignment_bytes(old, member, old.target_of(member))) for member in in_order]
    leader = in_order[0].member_id
    new.refill(StoredGroup(old.generation, "consumer", None, leader, turn.wall_ms, (), (), (), (), ()), members)
    new.protocol_name = select_protocol(new)
    new.subscribed = Subscribed([member.protocols[0][1] for member in members])
    turn.group_moved(new, EMPTY, causes.DOWNGRADED)
    if rebalances:
        rebalance.prepare(turn, new, causes.DOWNGRADED)
    else:
        storage.store(turn, new)


def _as_classic(turn: Turn, group: ClassicGroup, old: Member, assignment: bytes) -> ClassicMember:
    assert old.classic is not None
    return ClassicMember(
        member_id=old.member_id,
        group_instance_id=old.group_instance_id,
        client_id=old.client_id,
        client_host=old.client_host,
        session_timeout_ms=old.classic.session_timeout_ms,
        rebalance_timeout_ms=old.rebalance_timeout_ms,
        protocols=old.classic.protocols,
        session=turn.timers.set(sessions.key(group, old.member_id), turn.after(old.classic.session_timeout_ms)),
        is_new=False,
        assignment=assignment,
    )
