"""StreamsGroupTopologyDescriptionUpdate (93) stores a description of a topology in a plug-in of the broker, which a stock broker does not
have (KIP-1331; ST-230 to ST-232)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k93_streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)

from ..authorizer.acl import GROUP, READ
from ..budget import OverBudget, Ration, fitting, within
from ..groups.refused import Refused

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

NODE_COST: Final = 4
NAME_COST: Final = 1
NO_PLUGIN: Final = "The broker has no streams group topology description plugin configured."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Store the description, or refuse it. The right to read the group is checked first (ST-300)."""
    message, code, text = request.message, error_codes.NONE, None
    assert isinstance(message, StreamsGroupTopologyDescriptionUpdateRequest)
    _price(turn, message)
    if not turn.environment.streams_groups:
        code = error_codes.UNSUPPORTED_VERSION
    elif cluster.denied(turn, request, READ, GROUP, (message.group_id,)):
        code = error_codes.GROUP_AUTHORIZATION_FAILED
    elif not turn.settings.group_streams_topology_description_plugin_class:
        code, text = error_codes.UNSUPPORTED_VERSION, NO_PLUGIN
    else:
        try:
            _store(cluster, request, message)
        except Refused as refused:
            code, text = refused.code, fitting(str(refused)) or None
    turn.reply(request.ticket, StreamsGroupTopologyDescriptionUpdateResponse(error_code=code, error_message=text))


def _price(turn: Turn, message: StreamsGroupTopologyDescriptionUpdateRequest) -> None:
    """Refuse a description that would cost too much, or that exceeds the bytes which a group may keep."""
    described, ration, most = message.topology_description, Ration(turn.settings), turn.settings.group_max_bytes
    stores = [node for each in described.global_stores for node in (each.source, each.processor)]
    nodes = [*stores, *[node for each in described.subtopologies for node in each.nodes]]
    ration.take(len(nodes) + len(described.subtopologies), NODE_COST)
    names = [(node.name, node.sink_topic or "", *node.source_topics, *node.stores, *node.successors) for node in nodes]
    ration.take(within(names), NAME_COST)
    size = sum(len(name) for each in names for name in each) + sum(len(each.subtopology_id) for each in described.subtopologies)
    if size > most:
        raise OverBudget(f"a description of {size} bytes where groupmock.group.max.bytes allows {most}: raise that setting")


def _store(cluster: Cluster, request: Request, message: StreamsGroupTopologyDescriptionUpdateRequest) -> None:
    # This import is late, because a stock broker does not need it.
    from ..groups.streams import descriptions
    from ..groups.streams.type import StreamsGroup

    for value, name in ((message.member_id, "MemberId"), (message.group_id, "GroupId")):
        if not value.strip():
            raise Refused(error_codes.INVALID_REQUEST, f"{name} can't be empty.")
    error, group = cluster.groups.reach(message.group_id, request.node)
    if error:
        raise Refused(error, "")
    if not isinstance(group, StreamsGroup):
        why = "not found" if group is None else "is not a streams group"
        raise Refused(error_codes.GROUP_ID_NOT_FOUND, f"Group {message.group_id} {why}.")
    descriptions.store(group, message)
