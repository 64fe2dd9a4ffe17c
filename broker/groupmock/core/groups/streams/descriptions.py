"""Asks members of a streams group for a description of their topology, and stores it, as a broker with a plug-in does (KIP-1331; ST-230 to
ST-235). A stock broker has no plug-in.

In Kafka: StreamsGroupTopologyDescriptionBackoff and InMemoryTopologyDescriptionPlugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages import k89_streams_group_describe as k89
from groupmock_codec.units import NS_PER_MS

from ..refused import Refused
from .group import Group

if TYPE_CHECKING:
    from groupmock_codec.messages import k93_streams_group_topology_description_update as k93

    from ...turn import Turn

SINCE: Final = 1
"""The first version of StreamsGroupHeartbeat whose answer can ask."""
SOURCE, PROCESSOR, SINK = 1, 2, 3
FIRST_PAUSE_MS: Final = 30_000
LONGEST_PAUSE_MS: Final = 3_600_000


def ask(turn: Turn, group: Group, version: int, stale: bool) -> bool:
    """Return whether the answer to a heartbeat asks for a description. After that no member is asked for a pause, which doubles each time.
    (Kafka varies the pause by a fifth.)"""
    description = group.description
    if not turn.settings.group_streams_topology_description_plugin_class or version < SINCE or stale or description.stored is not None:
        return False
    if turn.now < description.asks_from:
        return False
    pause = min(FIRST_PAUSE_MS << min(description.asked, 20), LONGEST_PAUSE_MS)
    description.asked, description.asks_from = description.asked + 1, turn.now + pause * NS_PER_MS
    return True


def asks_until(turn: Turn, group: Group) -> int | None:
    """Return the time (ns of the run) at which a heartbeat may be answered otherwise because of a description, or None for never."""
    if not turn.settings.group_streams_topology_description_plugin_class or group.description.stored is not None:
        return None
    return group.description.asks_from


def store(group: Group, message: k93.StreamsGroupTopologyDescriptionUpdateRequest) -> None:
    """Store the description that a member has sent. Raises Refused (ST-232)."""
    if message.member_id not in group.members:
        text = f"Member {message.member_id} is not a member of group {message.group_id}."
        raise Refused(error_codes.UNKNOWN_MEMBER_ID, text)
    assert group.topology is not None, "a group with members has a topology"
    sent, own = message.topology_epoch, group.topology.epoch
    if sent != own:
        raise Refused(error_codes.INVALID_REQUEST, f"Topology epoch {sent} does not match the group's current topology epoch {own}.")
    described = message.topology_description
    group.description.stored = k89.TopologyDescription(
        subtopologies=[
            k89.TopologyDescriptionSubtopology(subtopology_id=each.subtopology_id, nodes=[_node(node) for node in each.nodes])
            for each in described.subtopologies
        ],
        global_stores=[
            k89.TopologyDescriptionGlobalStore(source=_node(each.source), processor=_node(each.processor))
            for each in described.global_stores
        ],
    )
    group.end_leases()


def _node(node: k93.TopologyDescriptionNode) -> k89.TopologyDescriptionNode:
    if node.node_type not in (SOURCE, PROCESSOR, SINK):
        raise Refused(error_codes.INVALID_REQUEST, "")
    return k89.TopologyDescriptionNode(
        name=node.name,
        node_type=node.node_type,
        source_topics=node.source_topics,
        sink_topic=node.sink_topic,
        stores=node.stores,
        successors=node.successors,
    )
