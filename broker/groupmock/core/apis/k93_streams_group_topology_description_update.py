"""StreamsGroupTopologyDescriptionUpdate (93) stores a description of a topology in a plug-in of the broker (KIP-1331). A stock broker has
none, and neither has groupmock (ST-230)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k93_streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)

from ..authorizer.acl import GROUP, READ

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

NO_PLUGIN: Final = "The broker has no streams group topology description plugin configured."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Refuse the description of a topology. The right to read the group is checked before (ST-300)."""
    message, code, text = request.message, error_codes.UNSUPPORTED_VERSION, None
    assert isinstance(message, StreamsGroupTopologyDescriptionUpdateRequest)
    if turn.environment.streams_groups:
        if cluster.denied(turn, request, READ, GROUP, (message.group_id,)):
            code = error_codes.GROUP_AUTHORIZATION_FAILED
        else:
            text = NO_PLUGIN
    turn.reply(request.ticket, StreamsGroupTopologyDescriptionUpdateResponse(error_code=code, error_message=text))
