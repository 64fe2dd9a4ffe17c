"""The settings of share groups, which are part of `core.settings.Settings`."""

from __future__ import annotations

from typing import Annotated

from .setting_declarations import setting
from .streams_settings import StreamsSettings


class ShareSettings(StreamsSettings, frozen=True, kw_only=True):
    """The settings of a broker for share groups (KIP-932)."""

    group_share_session_timeout_ms: Annotated[
        int, setting("group.share.session.timeout.ms", "after how long without a heartbeat a member of a share group is removed", 1)
    ] = 45_000
    group_share_heartbeat_interval_ms: Annotated[
        int, setting("group.share.heartbeat.interval.ms", "how often members of a share group are told to send a heartbeat", 1)
    ] = 5_000
    group_share_assignment_interval_ms: Annotated[
        int, setting("group.share.assignment.interval.ms", "least time between two target assignments of a share group", 0)
    ] = 1_000
    group_share_max_size: Annotated[int, setting("group.share.max.size", "most members one share group may have", 1)] = 200

    group_share_record_lock_duration_ms: Annotated[
        int, setting("group.share.record.lock.duration.ms", "how long a member of a share group has for a record that it got", 1)
    ] = 30_000
    group_share_delivery_count_limit: Annotated[
        int, setting("group.share.delivery.count.limit", "how often a record is delivered to a share group before it is archived", 2)
    ] = 5
    group_share_partition_max_record_locks: Annotated[
        int,
        setting("group.share.partition.max.record.locks", "most records of one partition that a share group may have in flight", 1),
    ] = 2_000
    group_share_max_share_sessions: Annotated[
        int, setting("group.share.max.share.sessions", "most share sessions on one node; further ones are refused (133)", 1)
    ] = 2_000
    errors_deadletterqueue_auto_create_topics_enable: Annotated[
        bool,
        setting("errors.deadletterqueue.auto.create.topics.enable", "create the dead letter topic of a share group if it does not exist"),
    ] = False
    errors_deadletterqueue_topic_name_prefix: Annotated[
        str, setting("errors.deadletterqueue.topic.name.prefix", "how the name of a dead letter topic of a share group has to begin")
    ] = "dlq."
