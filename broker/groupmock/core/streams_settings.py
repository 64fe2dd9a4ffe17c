"""The settings of streams groups, which are part of `core.settings.Settings`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from .setting_declarations import INT_MAX, setting


class StreamsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a broker for streams groups (KIP-1071)."""

    group_streams_session_timeout_ms: Annotated[
        int, setting("group.streams.session.timeout.ms", "after how long without a heartbeat a member of a streams group is removed", 1)
    ] = 45_000
    group_streams_heartbeat_interval_ms: Annotated[
        int, setting("group.streams.heartbeat.interval.ms", "how often members of a streams group are told to send a heartbeat", 1)
    ] = 5_000
    group_streams_assignment_interval_ms: Annotated[
        int, setting("group.streams.assignment.interval.ms", "least time between two target assignments of a streams group", 0)
    ] = 1_000
    group_streams_initial_rebalance_delay_ms: Annotated[
        int,
        setting(
            "group.streams.initial.rebalance.delay.ms", "how long the first target of an empty streams group waits for more members", 0
        ),
    ] = 100
    group_streams_num_standby_replicas: Annotated[
        int, setting("group.streams.num.standby.replicas", "standby tasks for each task of a streams group that has state", 0)
    ] = 0
    group_streams_topology_description_plugin_class: Annotated[
        str,
        setting(
            "group.streams.topology.description.plugin.class",
            "with any class, members of streams groups are asked to describe their topology, and StreamsGroupDescribe shows it (KIP-1331)",
        ),
    ] = ""
    group_streams_max_size: Annotated[int, setting("group.streams.max.size", "most members one streams group may have", 1)] = INT_MAX
