"""DeleteShareGroupOffsets (92) deletes the stored states of topics of a share group without members (KIP-932; SG-102, SG-106)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k92_delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

from ..authorizer.acl import DELETE, DENIED, DENIED_TEXT, READ, TOPIC
from ..budget import Ration, fitting
from ..groups.refused import Refused
from ..groups.share.beat import not_found
from .k91_alter_share_group_offsets import NOT_HOSTED, vacant

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..groups.share.type import ShareGroup
    from ..turn import Turn

TOPIC_COST: Final = 4
NOTHING_STORED: Final = "There is no offset information to delete."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer a code per topic, or refuse the whole request."""
    asked = request.message
    assert isinstance(asked, DeleteShareGroupOffsetsRequest)
    Ration(turn.settings).take_names([topic.topic_name for topic in asked.topics], TOPIC_COST)
    try:
        group = vacant(cluster, turn, request, asked.group_id, DELETE)
        if group is None:
            raise not_found(asked.group_id, exists=False, epoch=0)
        answer = DeleteShareGroupOffsetsResponse(responses=_deleted(cluster, turn, request, asked, group))
    except Refused as refused:
        answer = DeleteShareGroupOffsetsResponse(error_code=refused.code, error_message=fitting(str(refused)) or None)
    turn.reply(request.ticket, answer)


def _deleted(
    cluster: Cluster, turn: Turn, request: Request, asked: DeleteShareGroupOffsetsRequest, group: ShareGroup
) -> list[DeleteShareGroupOffsetsResponseTopic]:
    """Delete what is stored of the topics. Those that the sender may not read come first in the answer. A group that never had anything
    stored has no rows for the others (GroupMetadataManager.sharePartitionsEligibleForOffsetDeletion)."""
    denied = cluster.denied(turn, request, READ, TOPIC, (topic.topic_name for topic in asked.topics))
    names = [topic.topic_name for topic in asked.topics]
    rows = [_refused(name, DENIED[TOPIC], DENIED_TEXT[TOPIC]) for name in names if name in denied]
    for name in names if group.had_states else ():
        topic_id = cluster.topics.topic_id(name)
        if name in denied:
            continue
        if topic_id is None:
            rows.append(_refused(name, error_codes.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED))
        elif topic_id not in group.initialized:
            rows.append(_refused(name, error_codes.UNKNOWN_TOPIC_OR_PARTITION, NOTHING_STORED))
        else:
            cluster.shares.delete(turn, group.group_id, topic_id)
            group.uninitialize(topic_id)
            turn.note("share_offsets_deleted", group=group.group_id, topic=name)
            rows.append(DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id))
    return rows


def _refused(name: str, code: int, text: str) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(topic_name=name, error_code=code, error_message=text)
