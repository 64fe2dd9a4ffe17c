"""ConsumerGroupHeartbeat (68) is the whole protocol of consumer groups in one request (KIP-848; docs/kafka/consumer-groups.md).

With group.coordinator.rebalance.protocols=classic (3.9 by default) it is advertised nevertheless, but answered UNSUPPORTED_VERSION (35)
before anything is checked (CG-02; P1-c10). Clients treat that error as final.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

from ..authorizer.acl import DESCRIBE, GROUP, READ, TOPIC
from ..budget import OverBudget, Ration, fitting
from ..groups import causes, reconciling, timing
from ..groups.classic.type import ClassicGroup
from ..groups.consumer import beat, heartbeat, subscription
from ..groups.consumer.beat import Beat
from ..groups.consumer.states import JOINING
from ..groups.consumer.type import ConsumerGroup
from ..groups.refused import Refused
from ..settings import listed

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..groups.consumer.group import Group
    from ..groups.timing import Timing
    from ..groups.type import GroupType
    from ..re2j.matching import Matcher
    from ..turn import Turn

NAME_COST: Final = 2
PARTITION_COST: Final = 1


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer a heartbeat of a consumer group's member. A refused heartbeat creates neither a group nor a member."""
    message = request.message
    assert isinstance(message, ConsumerGroupHeartbeatRequest)
    if not turn.environment.consumer_groups:
        turn.note("consumer_protocol_is_off", group=message.group_id, remedy="set group.protocol=classic")
        turn.reply(request.ticket, ConsumerGroupHeartbeatResponse(error_code=error_codes.UNSUPPORTED_VERSION))
        return
    ration = Ration(turn.settings)
    ration.take_names(message.subscribed_topic_names or (), NAME_COST)
    if message.topic_partitions:
        ration.take(sum([len(topic.partitions) for topic in message.topic_partitions]), PARTITION_COST)
    if cluster.authorizer is not None and (code := _denied(cluster, turn, request, message)):
        turn.reply(request.ticket, ConsumerGroupHeartbeatResponse(error_code=code, error_message=None))
        return
    try:
        _answer(cluster, turn, request, message)
    except Refused as refused:
        text = fitting(str(refused)) or None
        turn.reply(request.ticket, ConsumerGroupHeartbeatResponse(error_code=refused.code, error_message=text))


def _denied(cluster: Cluster, turn: Turn, request: Request, message: ConsumerGroupHeartbeatRequest) -> int:
    """Return the error of a right that the member lacks, or 0. Topics need one only in a heartbeat that names them (SEC-116)."""
    if cluster.denied(turn, request, READ, GROUP, (message.group_id,)):
        return error_codes.GROUP_AUTHORIZATION_FAILED
    hidden = cluster.denied(turn, request, DESCRIBE, TOPIC, message.subscribed_topic_names or ())
    return error_codes.TOPIC_AUTHORIZATION_FAILED if hidden else error_codes.NONE


def _answer(cluster: Cluster, turn: Turn, request: Request, message: ConsumerGroupHeartbeatRequest) -> None:
    said = beat.read(message, request.client_id, request.client_host)
    beat.check(said, request.version, listed(turn.settings.group_consumer_assignors))
    error, found = cluster.groups.reach(said.group_id, request.node)
    if error:
        raise Refused(error, "")
    group, untrue = _consumer_group(turn, said, found)
    if said.epoch < 0:
        assert group is not None
        turn.reply(request.ticket, heartbeat.leave(turn, group, said))
        cluster.groups.convert(turn, group)
        return
    if not said.member_id:  # Only in v0 may a member lack an id, because the coordinator assigns one then (CG-30).
        said = msgspec.structs.replace(said, member_id=turn.environment.dice.short_id())
    if isinstance(found, ConsumerGroup | ClassicGroup):
        instances = () if turn.quirks.full_group_refuses_known_instances else found.static_members
        members = found.members
        reconciling.check_room("consumer", len(members), members, instances, said, turn.settings.group_consumer_max_size)
    known = None if group is None else beat.sender(group, said)
    matcher = subscription.matcher_of(turn, group, cluster.topics, said.regex) if said.regex else None
    _check_size(turn, group, said)
    upgrades = isinstance(found, ClassicGroup) and not found.is_empty()
    settings = timing.of(cluster.groups.configs, said.group_id, request.node)
    if untrue and not (group is not None and known is not None and _changes_nothing(group, said)):
        _rehearse(cluster, turn, found, said, settings, matcher)
    if isinstance(found, ClassicGroup) and upgrades:
        group = cluster.groups.upgrade(turn, found, request.client_id)
        known = beat.sender(group, said)
    group = group or cluster.groups.claim(turn, said.group_id, ConsumerGroup, causes.first_heartbeat(request.client_id))
    assert group is not None, "there is none, or an empty one that gave way"
    if cluster.authorizer is not None and ("regex", group.group_id) not in turn.timers:
        # The topics that this member may describe are those that a resolution finds which its heartbeat starts (SEC-117).
        group.may_describe = lambda name: cluster.allows(request, DESCRIBE, TOPIC, name)
    heartbeat.answer(turn, request.ticket, group, cluster.topics, settings, said, known, matcher, upgrades)


def _changes_nothing(group: ConsumerGroup, said: Beat) -> bool:
    """Return whether a heartbeat of a member certainly leaves the group's target as it is."""
    settled = group.generation == group.assignment_epoch and not (group.stale or group.votes or any(group.expressions.values()))
    says_nothing = all(each is None for each in (said.listed, said.regex, said.assignor, said.rack_id))
    return settled and says_nothing and said.epoch != JOINING


def _rehearse(cluster: Cluster, turn: Turn, found: GroupType | None, said: Beat, settings: Timing, matcher: Matcher | None) -> None:
    """Handle the heartbeat with a copy of the group, or with what the classic group becomes, because Kafka undoes everything if its
    assignor fails. Raises Refused then."""
    # These imports are late, because most clusters have no classic group that is upgraded.
    from ..groups.consumer import migration, rehearsal

    def act(turn: Turn, group: Group) -> None:
        if isinstance(found, ClassicGroup):
            migration.upgrade(turn, found, group, causes.upgraded(said.client_id))
        known = beat.sender(group, said)
        heartbeat.answer(turn, 0, group, cluster.topics, settings, said, known, matcher, isinstance(found, ClassicGroup))

    if isinstance(found, ClassicGroup):
        group: Group = ConsumerGroup.begin(turn, cluster.groups.hosting, found.group_id, found.partition)
    else:
        assert isinstance(found, ConsumerGroup)
        group = found
    if rehearsal.fails(turn, group, act):
        raise Refused(error_codes.UNKNOWN_SERVER_ERROR, "")


def _consumer_group(turn: Turn, said: Beat, found: GroupType | None) -> tuple[ConsumerGroup | None, bool]:
    """Return the consumer group of the heartbeat, or None if the group does not exist or is a classic group that the member may convert.
    Return also whether its targets have, or would have, partitions that do not exist. Raises Refused."""
    if isinstance(found, ConsumerGroup):
        return found, found.untrue
    if said.epoch != JOINING or not (found is None or found.gives_way_to(ConsumerGroup)):
        if found is not None:
            raise Refused(error_codes.GROUP_ID_NOT_FOUND, f"Group {said.group_id} is not a consumer group.")
        kind = "Consumer group" if said.epoch > 0 else "Group"
        raise Refused(error_codes.GROUP_ID_NOT_FOUND, f"{kind} {said.group_id} not found.")
    if isinstance(found, ClassicGroup) and not found.is_empty():
        from ..groups.consumer.migration import check_upgrade  # This import is late, because a server that only listens does not need it.

        return None, check_upgrade(turn, found)
    return None, False


def _check_size(turn: Turn, group: ConsumerGroup | None, said: Beat) -> None:
    """Refuse a subscription with which the group would exceed its limit of bytes, because subscriptions are kept for each member
    (core.budget)."""
    listed, most = 0 if group is None else group.listed_bytes, turn.settings.group_max_bytes
    wanted = sum(map(len, said.names or ())) + len(said.regex or "")
    if listed + wanted > most:
        raise OverBudget(
            f"members of this group subscribe to {listed} bytes of names, with {wanted} more it would be more than "
            f"groupmock.group.max.bytes allows ({most}): subscribe to less, use fewer members, or raise that setting"
        )
