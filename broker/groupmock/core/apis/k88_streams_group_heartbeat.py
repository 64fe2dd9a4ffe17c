"""StreamsGroupHeartbeat (88) is the whole protocol of streams groups in one request (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse

from ..authorizer.acl import CLUSTER, CLUSTER_NAME, CREATE, DESCRIBE, GROUP, READ, TOPIC
from ..budget import OverBudget, Ration, fitting, within
from ..groups import causes, reconciling
from ..groups.consumer.states import JOINING
from ..groups.refused import Refused
from ..groups.streams import beat, endpoints, heartbeat, readiness
from ..groups.streams.topology import task_count
from ..groups.streams.type import StreamsGroup

if TYPE_CHECKING:
    from groupmock_codec.messages.k88_streams_group_heartbeat import Topology

    from ..cluster import Cluster
    from ..events import Request
    from ..groups.streams.beat import Beat
    from ..groups.streams.readiness import Prospect
    from ..groups.type import GroupType
    from ..turn import Turn

PAIR_COST: Final = 2
NAME_COST: Final = 16
SUBTOPOLOGY_COST: Final = 20
TASK_COST: Final = 1
"""The prices are such that the topology that costs most is configured within 20 ms."""


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer a heartbeat of a streams group's member. A refused heartbeat creates neither a group nor a member (ST-11)."""
    message = request.message
    assert isinstance(message, StreamsGroupHeartbeatRequest)
    ration = _price(turn, message)
    if not turn.environment.streams_groups:
        turn.reply(request.ticket, StreamsGroupHeartbeatResponse(error_code=error_codes.UNSUPPORTED_VERSION))
        return
    try:
        _check_rights(cluster, turn, request, message)
        _answer(cluster, turn, request, message, ration)
    except Refused as refused:
        text = fitting(str(refused)) or None
        turn.reply(request.ticket, StreamsGroupHeartbeatResponse(error_code=refused.code, error_message=text))


def _price(turn: Turn, message: StreamsGroupHeartbeatRequest) -> Ration:
    """Count the tasks and the topology of a request against its work limit, and return the rest of that limit."""
    ration = Ration(turn.settings)
    for tasks in (message.active_tasks, message.standby_tasks, message.warmup_tasks):
        ration.take(len(tasks or ()) + within([each.partitions for each in tasks or ()]), TASK_COST)
    ration.take(len(message.task_offsets or ()) + len(message.task_end_offsets or ()), TASK_COST)
    ration.take(len(message.client_tags or ()), PAIR_COST)
    if message.topology is not None:
        ration.take(len(message.topology.subtopologies), SUBTOPOLOGY_COST)
        for each in message.topology.subtopologies:
            infos = (*each.state_changelog_topics, *each.repartition_source_topics)
            names = (*each.source_topics, *each.source_topic_regex, *each.repartition_sink_topics, *[topic.name for topic in infos])
            ration.take_names(names, NAME_COST)
            ration.take(within([topic.topic_configs for topic in infos]), PAIR_COST)
            indexes = [(*group.source_topics, *group.repartition_source_topics) for group in each.copartition_groups]
            ration.take(len(indexes) + within(indexes), NAME_COST // 2)
    return ration


def _check_rights(cluster: Cluster, turn: Turn, request: Request, message: StreamsGroupHeartbeatRequest) -> None:
    """Check what Kafka's request handler checks: the right to read the group, the names of topics, and the right to describe them (ST-13,
    ST-300, ST-302). Raises Refused."""
    if cluster.denied(turn, request, READ, GROUP, (message.group_id,)):
        raise Refused(error_codes.GROUP_AUTHORIZATION_FAILED, "")
    if message.topology is not None:
        beat.check_names(message.topology)
        if cluster.authorizer is not None and cluster.denied(turn, request, DESCRIBE, TOPIC, beat.topics_of(message.topology)):
            raise Refused(error_codes.TOPIC_AUTHORIZATION_FAILED, "")


def _answer(cluster: Cluster, turn: Turn, request: Request, message: StreamsGroupHeartbeatRequest, ration: Ration) -> None:
    before_4_4 = turn.quirks.streams_fields_not_served
    beat.check(message, before_4_4)
    error, found = cluster.groups.reach(message.group_id, request.node)
    if error:
        raise Refused(error, "")
    group = _streams_group(message, found)
    said = beat.read(message, request.client_id, request.client_host)
    if said.epoch < 0:
        assert group is not None, "a member of no group cannot leave"
        turn.reply(request.ticket, heartbeat.leave(turn, group, said))
        return
    if group is not None and said.epoch == JOINING:
        _check_room(turn, group, said)
    known = None if group is None else beat.sender(group, said)
    beat.check_tags(message)
    prospect = _prospect(cluster, turn, ration, group, said)
    if group is not None:
        group.shown = prospect.configured
    if said.owned is not None and prospect.configured.status is None:
        beat.check_owned((message.active_tasks, message.standby_tasks, message.warmup_tasks), prospect.configured)
    beat.check_offsets(message)
    uncreatable = _uncreatable(cluster, turn, request, prospect)
    terms = heartbeat.terms_of(cluster.groups.configs, said.group_id, request.node, before_4_4)
    unready = prospect.configured.status is not None
    delayed = group is not None and unready and heartbeat.is_delayed(turn, group, terms, said, known, prospect)
    if endpoints.fails(turn, group, said, known, prospect, delayed, terms.timing.session_ms):
        if group is None:
            _delay_early(cluster, turn, said.group_id, terms)
        else:
            if not group.members:
                heartbeat.start_delay(turn, said.group_id, terms)
            heartbeat.note_failure(turn, group, terms, said, known, prospect)
        raise Refused(error_codes.UNKNOWN_SERVER_ERROR, "")
    made, converted = group is None, group is None and found is not None
    group = group or cluster.groups.claim(turn, said.group_id, StreamsGroup, causes.first_heartbeat(request.client_id))
    assert group is not None, "there is none, or an empty classic one that gave way"
    if made:
        heartbeat.start_delay(turn, said.group_id, terms, cluster.early_delays.get(said.group_id, turn.now))
    heartbeat.answer(turn, request.ticket, request.version, group, terms, said, known, prospect, uncreatable, made, converted)


def _delay_early(cluster: Cluster, turn: Turn, group_id: str, terms: heartbeat.Terms) -> None:
    """Note when the initial delay ends of a group that a failed join has not made (ST-137)."""
    if cluster.early_delays.get(group_id, turn.now) is None:
        end = turn.after(terms.initial_delay_ms)
        cluster.early_delays.note(group_id, end, end)


def _streams_group(message: StreamsGroupHeartbeatRequest, found: GroupType | None) -> StreamsGroup | None:
    """Return the streams group of the heartbeat, or None if a join may create it. Raises Refused (ST-20, ST-196 to ST-198)."""
    if isinstance(found, StreamsGroup):
        return found
    group_id, epoch = message.group_id, message.member_epoch
    if found is not None and not (epoch == JOINING and found.is_empty() and found.gives_way_to(StreamsGroup)):
        raise Refused(error_codes.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a streams group.")
    if found is None and epoch != JOINING:
        kind = "Streams group" if epoch > 0 else "Group"
        raise Refused(error_codes.GROUP_ID_NOT_FOUND, f"{kind} {group_id} not found.")
    return None


def _check_room(turn: Turn, group: StreamsGroup, said: Beat) -> None:
    """Refuse a new member if the group is full. Kafka 4.3 refuses known ones, too (ST-150)."""
    strict = turn.quirks.full_group_refuses_known_instances
    known = () if strict else group.members.keys()
    instances = () if strict else group.static_members
    reconciling.check_room("streams", len(group.members), known, instances, said, turn.settings.group_streams_max_size)


def _prospect(cluster: Cluster, turn: Turn, ration: Ration, group: StreamsGroup | None, said: Beat) -> Prospect:
    """Return what the topology makes of the present topics, after checks that cost little. Raises Refused."""
    if group is None or group.topology is None:
        assert said.topology is not None, "the fields of a join were checked"
        _check_size(turn, said.topology)
    prospect = readiness.examine(group, cluster.topics, said.topology)
    if prospect.is_new:
        ration.take(task_count(prospect.configured), TASK_COST)
    return prospect


def _check_size(turn: Turn, topology: Topology) -> None:
    """Refuse a topology that exceeds the limit of bytes that a group may keep (core.budget)."""
    size, most = 0, turn.settings.group_max_bytes
    for each in topology.subtopologies:
        infos = (*each.state_changelog_topics, *each.repartition_source_topics)
        size += len(each.subtopology_id) + sum(map(len, (*each.source_topics, *each.repartition_sink_topics)))
        size += sum(len(topic.name) + sum(len(pair.key) + len(pair.value) for pair in topic.topic_configs) for topic in infos)
    if size > most:
        raise OverBudget(
            f"the topology has {size} bytes of names and configs where groupmock.group.max.bytes allows {most}: "
            "use a smaller topology, or raise that setting"
        )


def _uncreatable(cluster: Cluster, turn: Turn, request: Request, prospect: Prospect) -> list[str]:
    """Return the missing internal topics that the member may not create. The broker creates them with the rights of the member
    (ST-304)."""
    missing = prospect.configured.missing
    if not missing or cluster.authorizer is None or cluster.allows(request, CREATE, CLUSTER, CLUSTER_NAME):
        return []
    denied = cluster.denied(turn, request, CREATE, TOPIC, missing)
    return [name for name in missing if name in denied]
