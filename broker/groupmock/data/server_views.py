"""Make the view of a group that stands at the beginning of its story."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..story.head import ServerView
from .lag import lag_of, lag_of_markers

if TYPE_CHECKING:
    from ..core.cluster import Cluster
    from ..core.groups.type import GroupType


def server_view(cluster: Cluster, group: GroupType) -> ServerView:
    """Return the group's state, its members, its committed offsets and its lag."""
    view = group.view()
    lag = lag_of(cluster, view)
    markers = sum(part.lag or 0 for part in lag_of_markers(cluster, lag))
    return ServerView(
        state=view.state,
        generation=view.generation,
        protocol=view.protocol_name,
        leader=view.leader,
        members=len(view.members),
        committed={at: commit.offset for at, commit in group.offsets.items()},
        lag=lag.lag,
        only_markers=markers == lag.lag,
    )
