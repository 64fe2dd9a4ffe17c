"""Checks the content and the sender of a ConsumerGroupHeartbeat before the heartbeat changes anything (CG-10 to CG-22, CG-39, CG-40,
CG-90).

In Kafka: GroupMetadataManager.throwIfConsumerGroupHeartbeatRequestIsInvalid and the throwIf...
and get...MemberOrThrow that follow it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

from .. import reconciling
from ..refused import Refused
from .group import Group, Member
from .orders import Spot
from .states import AWAY, JOINING, LEAVING


class Beat(msgspec.Struct, frozen=True):
    """The values of one ConsumerGroupHeartbeat request. None (and -1 for the timeout) means unchanged. `listed` has the topic names as they
    were sent, with duplicates, and `names` the same as a set. `owned` has the partitions that the member claims to own, or None if the
    request has no such list. `claimed` has the topics of that list, some of which may have no partitions there."""

    group_id: str
    member_id: str
    epoch: int
    group_instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    listed: list[str] | None
    names: frozenset[str] | None
    regex: str | None
    assignor: str | None
    owned: frozenset[Spot] | None
    client_id: str
    client_host: str
    claimed: frozenset[bytes] = frozenset()

    @property
    def is_full(self) -> bool:
        """True if the heartbeat sends all fields, so that its answer has all fields, too (CG-33)."""
        return self.rebalance_timeout_ms != -1 and not (self.names is None and self.regex is None) and self.owned is not None


def read(message: ConsumerGroupHeartbeatRequest, client_id: str | None, client_host: str) -> Beat:
    listed, owned = message.subscribed_topic_names, message.topic_partitions
    return Beat(
        group_id=message.group_id,
        member_id=message.member_id,
        epoch=message.member_epoch,
        group_instance_id=message.instance_id,
        rack_id=message.rack_id,
        rebalance_timeout_ms=message.rebalance_timeout_ms,
        listed=listed,
        names=None if listed is None else frozenset(listed),
        regex=message.subscribed_topic_regex,
        assignor=message.server_assignor,
        owned=None if owned is None else frozenset([(topic.topic_id, index) for topic in owned for index in topic.partitions]),
        client_id=client_id or "",
        client_host=client_host,
        claimed=frozenset([topic.topic_id for topic in owned or ()]),
    )


def check(beat: Beat, version: int, assignors: Sequence[str]) -> None:
    """Check the fields of a heartbeat before its group is looked up, in Kafka's order (CG-16). Raises Refused."""
    # A member that joins with v0 may lack an id, because the coordinator assigns one (CG-30).
    may_lack_id = version == 0 and beat.epoch in (JOINING, AWAY)
    if not (may_lack_id or beat.member_id.strip()):
        raise _invalid("MemberId can't be empty.")
    if not beat.group_id.strip():
        raise _invalid("GroupId can't be empty.")
    if beat.group_instance_id is not None and not beat.group_instance_id.strip():
        raise _invalid("InstanceId can't be empty.")
    if beat.rack_id is not None and not beat.rack_id.strip():
        raise _invalid("RackId can't be empty.")
    if beat.epoch == JOINING:
        _check_join(beat)
    elif beat.epoch == AWAY and beat.group_instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif beat.epoch < LEAVING and beat.epoch != AWAY:
        raise _invalid("MemberEpoch is invalid.")
    if beat.assignor is not None and beat.assignor not in assignors:
        text = f"ServerAssignor {beat.assignor} is not supported. Supported assignors: {', '.join(assignors)}."
        raise Refused(error_codes.UNSUPPORTED_ASSIGNOR, text)


def _check_join(beat: Beat) -> None:
    if beat.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if beat.owned is None or beat.claimed:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if beat.names is None and beat.regex is None:
        raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def _invalid(text: str) -> Refused:
    return Refused(error_codes.INVALID_REQUEST, text)


def sender(group: Group, beat: Beat) -> Member | None:
    """Return the member that sent the heartbeat, or None for a new member that joins. Raises Refused (`reconciling.sender`)."""
    return reconciling.sender(group, beat, _owns_no_more)


def _owns_no_more(beat: Beat, member: Member) -> bool:
    """True if the member says what it owns, and was assigned all of it. A topic without partitions counts, too."""
    if beat.owned is None or not beat.owned <= member.assigned.keys():
        return False
    return beat.claimed <= {topic for topic, _ in member.assigned}
