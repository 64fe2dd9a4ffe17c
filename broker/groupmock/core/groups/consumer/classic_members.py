"""A consumer group answers the JoinGroup, SyncGroup and Heartbeat of members that use the classic protocol (CG-172 to CG-192).

There are no barriers. A JoinGroup is answered at once, with the member's epoch as generation, and without a leader or a member list,
because the coordinator assigns. REBALANCE_IN_PROGRESS (27) to a Heartbeat tells such a member to join again, with its owned partitions. An
eager member owns none and gets the new epoch. A cooperative member that has to revoke partitions stays at its epoch, gets by SyncGroup the
partitions that it may keep, and joins once more without the others. In Kafka: GroupMetadataManager.classicGroupJoinToConsumerGroup and
similar methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from groupmock_codec import error_codes
from groupmock_codec.embedded.consumer import Assignment, Subscription, TopicPartitions, decode_subscription, encode_assignment
from groupmock_codec.errors import DecodeError
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse

from ...effects import Lease
from ...turn import Turn
from ...work import at_once
from .. import causes, timing
from ..modern import settle
from . import membership, reconciliation, subscription, targets
from .beat import Beat
from .group import ClassicSide, Departure, Group, Member
from .orders import Spot, by_topic
from .reconciliation import Owned
from .states import JOINING, Progress

if TYPE_CHECKING:
    from ..timing import Timing
    from .assignors import Steps

NULL_NAME_SINCE = 7
KNOWN_ID_SINCE = 4
HIGHEST_SUBSCRIPTION = 3


class JoinRefused(Exception):
    """A JoinGroup is refused with the error `code`. The answer has no member id, except the new id with MEMBER_ID_REQUIRED (79)."""

    def __init__(self, code: int, member_id: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.member_id = member_id


def join(
    turn: Turn,
    group: Group,
    message: JoinGroupRequest,
    version: int,
    client: tuple[str, str],
    settings: Timing,
    done: Callable[[Turn, JoinGroupResponse], None],
) -> None:
    """Add a member that uses the classic protocol to the group, or update it. `client` is its id and host. `done` is called with the
    answer, after the target if one is computed, which may take long. JoinRefused is raised before anything has changed."""
    _check(turn, group, message, version)
    _check_instance(group, message)
    said = _subscription(turn, message)
    beat = _as_beat(turn, group, message, version, said, client)
    known, before, resolved = group.members.get(beat.member_id), group.alike(), group.last_resolved()
    protocols = tuple([(each.name, each.metadata) for each in message.protocols])
    classic = ClassicSide(protocols, message.session_timeout_ms, min(said.version, HIGHEST_SUBSCRIPTION))
    instance = group.static_members.get(beat.group_instance_id or "")
    steps_over = instance is not None and group.members[instance].classic is None
    member, replaced, why = membership.admit(turn, group, beat, known)
    group.speak(member, classic)
    resubscribed = beat.names != member.names or bool(member.regex)
    if resubscribed:
        group.subscribe(member, frozenset(said.topics), "")
        why = why or causes.resubscribed(member.member_id)
    if group.expressions:
        subscription.resolve_soon(turn, group, group.home.topics, resolved)
    looks = resubscribed or group.stale
    bumped = looks and (group.refresh_topics() or resubscribed)
    if steps_over:
        group.lost = Departure(bumped or group.generation > group.assignment_epoch, member.member_id)
    if membership.left_to_classics(turn, group):
        done(turn, _goes_back(turn, group, member, replaced, beat.owned))
        return
    if bumped:
        group.bump()
        why = why or causes.TOPICS_CHANGED

    may_compute = targets.may_compute(turn, group, settings)

    def placing(turn: Turn) -> Steps[None]:
        cause = why
        if may_compute:
            yield from targets.compute(turn, group, member, beat.listed, replaced, None if looks else before)
            cause = why or causes.TARGET_COMPUTED
        if known is None:
            group.seat(member.member_id, replaced)
        stood = (member.epoch, member.previous_epoch, member.progress)
        changed = yield from membership.advance(turn, group, member, beat.owned, resubscribed)
        group.judge_anew(settled=changed or stood != (member.epoch, member.previous_epoch, member.progress))
        timing.renew(turn, group, member, classic.session_timeout_ms)
        timing.await_sync(turn, group, member)
        if bumped or group.state != group.present():
            settle(turn, group, cause or causes.member_arrived(member.member_id, member.epoch), bumped)
        done(turn, _joined(member, member.epoch))

    turn.begin(placing, group)


def _goes_back(turn: Turn, group: Group, member: Member, replaced: str | None, owned: Owned) -> JoinGroupResponse:
    """Answer the JoinGroup with which the last member of the consumer protocol changes to the classic protocol, before the group becomes
    classic. No member has to move unless another target is needed (CG-187). The member does not even move to the last target: it gets
    its own epoch, or 0 with another id, whatever the group's is, so its next Heartbeat may be 22 (seen on 4.3.0)."""
    if replaced is not None:
        group.seat(member.member_id, replaced)
    assert group.lost is not None
    if not group.lost.rebalances:
        at_once(membership.advance(turn, group, member, owned, resubscribed=False))
    return _joined(member, member.epoch)


def _joined(member: Member, generation: int) -> JoinGroupResponse:
    assert member.classic is not None
    name = member.classic.name
    return JoinGroupResponse(generation_id=generation, protocol_type="consumer", protocol_name=name, leader="", member_id=member.member_id)


def _check(turn: Turn, group: Group, message: JoinGroupRequest, version: int) -> None:
    """Check a JoinGroup in Kafka's order (CG-177, CG-178)."""
    settings, quirks = turn.settings, turn.quirks
    if settings.group_consumer_migration_policy == "disabled" and not quirks.disabled_migration_admits_classic_members:
        raise JoinRefused(error_codes.INCONSISTENT_GROUP_PROTOCOL)
    known = message.group_instance_id in group.static_members and not quirks.full_group_refuses_known_instances
    if len(group.members) >= settings.group_consumer_max_size and message.member_id not in group.members and not known:
        raise JoinRefused(error_codes.GROUP_MAX_SIZE_REACHED)
    if message.protocol_type != "consumer" or not message.protocols or not _fits(group, message):
        raise JoinRefused(error_codes.INCONSISTENT_GROUP_PROTOCOL)
    if version >= KNOWN_ID_SINCE and not message.member_id and message.group_instance_id is None:
        raise JoinRefused(error_codes.MEMBER_ID_REQUIRED, turn.environment.dice.short_id())


def _fits(group: Group, message: JoinGroupRequest) -> bool:
    """True if the JoinGroup lists a protocol that all classic members list, including the sender's own former list."""
    return any(group.spoken[each.name] == group.classics for each in message.protocols)


def _subscription(turn: Turn, message: JoinGroupRequest) -> Subscription:
    try:
        return decode_subscription(message.protocols[0].metadata)
    except DecodeError:
        fails = turn.quirks.malformed_metadata_fails
        raise JoinRefused(error_codes.UNKNOWN_SERVER_ERROR if fails else error_codes.INCONSISTENT_GROUP_PROTOCOL) from None


def _as_beat(turn: Turn, group: Group, message: JoinGroupRequest, version: int, said: Subscription, client: tuple[str, str]) -> Beat:
    """Convert the JoinGroup to a heartbeat that joins, with the partitions that the member owns."""
    timeout = message.rebalance_timeout_ms if version else message.session_timeout_ms
    ids = {each.topic: group.home.topics.topic_id(each.topic) for each in said.owned_partitions}
    owned = frozenset(
        [(topic, index) for each in said.owned_partitions if (topic := ids[each.topic]) is not None for index in each.partitions]
    )
    member_id = message.member_id or turn.environment.dice.short_id()
    return Beat(
        group_id=message.group_id,
        member_id=member_id,
        epoch=JOINING,
        group_instance_id=message.group_instance_id,
        rack_id=said.rack_id,
        rebalance_timeout_ms=timeout,
        listed=said.topics,
        names=frozenset(said.topics),
        regex=None,
        assignor=None,
        owned=owned,
        client_id=client[0],
        client_host=client[1],
    )


def _check_instance(group: Group, message: JoinGroupRequest) -> None:
    """Check the instance id of a JoinGroup (CG-191). With a member id, it must be that member's. Without one, the sender takes the place
    of the instance's member."""
    if message.group_instance_id is None or not message.member_id:
        return
    holder = group.static_members.get(message.group_instance_id)
    if holder is None:
        raise JoinRefused(error_codes.UNKNOWN_MEMBER_ID)
    if holder != message.member_id:
        raise JoinRefused(error_codes.FENCED_INSTANCE_ID)


def _validated(group: Group, member_id: str, instance: str | None) -> Member | int:
    """Return the classic member with these ids, or the error code with which its request is refused."""
    if instance is not None:
        holder = group.static_members.get(instance)
        if holder is None:
            return error_codes.UNKNOWN_MEMBER_ID
        if holder != member_id:
            return error_codes.FENCED_INSTANCE_ID
    member = group.members.get(member_id)
    return error_codes.UNKNOWN_MEMBER_ID if member is None or member.classic is None else member


def sync(turn: Turn, group: Group, message: SyncGroupRequest, version: int) -> SyncGroupResponse:
    """Answer a SyncGroup with the member's partitions, encoded in the version of the member's own subscription. Assignments that a
    client sends are ignored (CG-173, CG-175)."""
    member = _validated(group, message.member_id, message.group_instance_id)
    if isinstance(member, int):
        return SyncGroupResponse(error_code=member)
    assert member.classic is not None
    if message.generation_id != member.epoch:
        return SyncGroupResponse(error_code=error_codes.ILLEGAL_GENERATION)
    if version >= 5 and (message.protocol_type, message.protocol_name) != ("consumer", member.classic.name):
        return SyncGroupResponse(error_code=error_codes.INCONSISTENT_GROUP_PROTOCOL)
    if member.epoch < group.assignment_epoch and member.progress is not Progress.UNREVOKED:
        return SyncGroupResponse(error_code=error_codes.REBALANCE_IN_PROGRESS)
    timing.stop_classic(turn, group, member.member_id)
    timing.renew(turn, group, member, member.classic.session_timeout_ms)
    given = assignment_bytes(group, member, member.assigned)
    return SyncGroupResponse(protocol_type="consumer", protocol_name=member.classic.name, assignment=given)


def assignment_bytes(group: Group, member: Member, spots: Iterable[Spot]) -> bytes:
    assert member.classic is not None
    named = ((group.home.topics.name_of(topic), indexes) for topic, indexes in by_topic(spots))
    parts = [TopicPartitions(name, indexes) for name, indexes in named if name is not None]
    return encode_assignment(Assignment(member.classic.version, parts, None))


def beat(turn: Turn, group: Group, member_id: str, instance: str | None, generation: int) -> tuple[int, Lease | None]:
    """Return the error code of a Heartbeat, and the permission to repeat the answer if the next Heartbeat would be answered alike
    (CG-172, CG-175, CG-177, CG-185)."""
    member = _validated(group, member_id, instance)
    if isinstance(member, int):
        return member, None
    assert member.classic is not None
    if generation != member.epoch:
        return error_codes.ILLEGAL_GENERATION, None
    timing.renew(turn, group, member, member.classic.session_timeout_ms)
    if _must_join(group, member):
        timing.await_join(turn, group, member)
        return error_codes.REBALANCE_IN_PROGRESS, None
    return error_codes.NONE, Lease(group, member, group.epoch) if group.at_rest(member) else None


def _must_join(group: Group, member: Member) -> bool:
    if member.epoch < group.assignment_epoch or member.progress is Progress.UNREVOKED:
        return True
    return member.progress is Progress.UNRELEASED and not _held_by_others(group, reconciliation.missing(group, member))


def _held_by_others(group: Group, spots: list[Spot]) -> bool:
    return any(spot in group.holders for spot in spots)
