"""ListGroups (16) lists the groups that this node coordinates (docs/kafka/admin.md#listgroups)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.group_states import NOT_READY
from groupmock_codec.messages.k16_list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

from ..authorizer.acl import CLUSTER, CLUSTER_NAME, DESCRIBE, GROUP
from ..budget import Ration

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

FILTER_COST: Final = 1
GROUP_COST: Final = 4


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """List the groups that match both filters: states (since v4) and types (since v5). While a partition is loading, the whole answer is
    COORDINATOR_LOAD_IN_PROGRESS (14)."""
    message = request.message
    assert isinstance(message, ListGroupsRequest)
    Ration(turn.settings).take_names([*message.states_filter, *message.types_filter], FILTER_COST)
    loading = cluster.groups.hosting.loading(request.node)
    # Kafka 3.9 lists the groups loaded so far besides COORDINATOR_LOAD_IN_PROGRESS (14) (P2-c2).
    hidden = loading and not turn.quirks.list_while_loading_shows_groups
    groups = [] if hidden else _listed(cluster, turn, request, message)
    error = error_codes.COORDINATOR_LOAD_IN_PROGRESS if loading else error_codes.NONE
    turn.reply(request.ticket, ListGroupsResponse(error_code=error, groups=groups))


def _listed(cluster: Cluster, turn: Turn, request: Request, message: ListGroupsRequest) -> list[ListedGroup]:
    # The groups are sorted only after the cost is charged to the budget, because sorting is the expensive part of ListGroups.
    ration = Ration(turn.settings)
    ids = [group.group_id for group in cluster.groups.all()]
    ration.take_names(ids, GROUP_COST)
    ration.take(0, size=sum(map(len, ids)))
    normal = _state_reader(turn)
    states = {normal(state) for state in message.states_filter}
    # Unlike in filters of states, blanks around a group type count, so that " classic" matches nothing (P2-b9).
    types = {kind.lower() for kind in message.types_filter}
    may_see_all = cluster.allows(request, DESCRIBE, CLUSTER, CLUSTER_NAME)
    return [
        ListedGroup(
            group_id=group.group_id,
            # Groups that only store offsets are listed too, with an empty protocol type (SERVER-51).
            protocol_type=group.protocol_type or "",
            group_state=str(group.state),
            group_type=group.group_type,
        )
        for group in cluster.groups.groups_on(request.node)
        if (not states or normal(_filtered(str(group.state))) in states)
        and (not types or group.group_type in types)
        and (may_see_all or cluster.allows(request, DESCRIBE, GROUP, group.group_id))
    ]


def _state_reader(turn: Turn) -> Callable[[str], str]:
    """Return the function that normalizes state names before they are compared with the filter."""
    # In state filters Kafka 3.9 ignores case but not surrounding blanks (P2-c9).
    return str.lower if turn.quirks.state_filter_keeps_blanks else lambda name: name.strip().lower()


def _filtered(state: str) -> str:
    """Return the name of a state in filters. Kafka shows NotReady, but looks for its constant's name, not_ready (ST-57)."""
    return "not_ready" if state == NOT_READY else state
