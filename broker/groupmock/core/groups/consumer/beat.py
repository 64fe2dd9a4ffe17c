"""What a heartbeat says, checked by itself: all that is refused before a group is looked for (CG-10 to CG-17)."""

from __future__ import annotations

from typing import NamedTuple

from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

from ...settings import Settings
from .. import codes
from .group import Spot
from .refusal import Refused
from .states import AWAY, JOINING, LEAVING


class Beat(NamedTuple):
    """One heartbeat. None (and -1 for the timeout): as before. `listed`: topics by name, as it gives them, doubles too; `owned`: partitions
    that it says to own; None: it does not say."""

    group_id: str
    member_id: str
    epoch: int
    group_instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    listed: list[str] | None
    regex: str | None
    assignor: str | None
    owned: frozenset[Spot] | None
    client_id: str
    client_host: str

    @property
    def names(self) -> frozenset[str] | None:
        """Topics that it subscribes to by name, whatever their order."""
        return None if self.listed is None else frozenset(self.listed)

    @property
    def joins(self) -> bool:
        """Does it join, for the first time or again?"""
        return self.epoch == JOINING

    @property
    def is_full(self) -> bool:
        """Does it say everything, so that it is told everything (CG-33)?"""
        return self.rebalance_timeout_ms != -1 and not (self.names is None and self.regex is None) and self.owned is not None


def read(message: ConsumerGroupHeartbeatRequest, client_id: str | None, client_host: str) -> Beat:
    """The request as values."""
    names, owned = message.subscribed_topic_names, message.topic_partitions
    return Beat(
        message.group_id, message.member_id, message.member_epoch, message.instance_id, message.rack_id, message.rebalance_timeout_ms,
        names, message.subscribed_topic_regex, message.server_assignor,
        None if owned is None else _spots(owned), client_id or "", client_host,
    )  # fmt: skip


def _spots(owned: list[TopicPartitions]) -> frozenset[Spot]:
    return frozenset([(topic.topic_id, partition) for topic in owned for partition in topic.partitions])


def check(beat: Beat, version: int, settings: Settings) -> None:
    """In the order of Kafka's throwIfConsumerGroupHeartbeatRequestIsInvalid (CG-16). Raises Refused."""
    may_lack_id = version == 0 and beat.epoch in (JOINING, AWAY)  # who joins by v0 is given one (CG-30)
    _require(may_lack_id or bool(beat.member_id.strip()), "MemberId can't be empty.")
    _require(bool(beat.group_id.strip()), "GroupId can't be empty.")
    _require(beat.group_instance_id is None or bool(beat.group_instance_id.strip()), "InstanceId can't be empty.")
    _require(beat.rack_id is None or bool(beat.rack_id.strip()), "RackId can't be empty.")
    if beat.joins:
        _require(beat.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        _require(beat.owned is not None and not beat.owned, "TopicPartitions must be empty when (re-)joining.")
        subscribed = beat.names is not None or beat.regex is not None
        _require(subscribed, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    elif beat.epoch == AWAY:
        _require(beat.group_instance_id is not None, "InstanceId can't be null.")
    else:
        _require(beat.epoch >= LEAVING, "MemberEpoch is invalid.")
    there_are = settings.consumer_assignors
    if beat.assignor is not None and beat.assignor not in there_are:
        text = f"ServerAssignor {beat.assignor} is not supported. Supported assignors: {', '.join(there_are)}."
        raise Refused(codes.UNSUPPORTED_ASSIGNOR, text)


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise Refused(codes.INVALID_REQUEST, text)
