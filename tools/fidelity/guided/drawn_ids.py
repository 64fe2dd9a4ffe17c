"""Tell which requests make a broker draw ids, such as member ids, and find the ids in its answers."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode
from typing import Any

from groupmock_codec.api_keys import CREATE_TOPICS, FETCH, INIT_PRODUCER_ID, JOIN_GROUP

from ..generated.memory import Request

SHORT = 22  # The number of characters of a UUID in base64.


def asks_for_member_id(asked: Request) -> bool:
    """Tell whether this JoinGroup makes the broker draw a member id."""
    return asked.key == JOIN_GROUP and not asked.message.member_id  # type: ignore[attr-defined]  # JoinGroup's


def must_answer(asked: Request) -> bool:
    """Tell whether a JoinGroup that makes the broker draw a member id is answered at once in every state of the group, with
    MEMBER_ID_REQUIRED (79) or another error."""
    return asked.version >= 4 and asked.message.group_instance_id is None  # type: ignore[attr-defined]  # JoinGroup's


def answer_tells_ids(asked: Request) -> bool:
    """Tell whether the broker's answer has to be read before the core handles the request, because it contains the drawn ids."""
    opens = asked.key == FETCH and asked.version >= 7 and asked.message.session_epoch == 0  # type: ignore[attr-defined]  # Fetch's
    return asked.key in (CREATE_TOPICS, INIT_PRODUCER_ID) or opens


def ids_in(key: int, answer: dict[str, Any] | None) -> list[str]:
    """Return the ids that the broker drew, in the order in which `CorePlayer.play` expects them."""
    if answer is None:
        return []
    if key == JOIN_GROUP:
        return drawn_member_id(answer["member_id"])
    if key == CREATE_TOPICS:
        return [topic["topic_id"]["bytes"] for topic in answer["topics"] if "topic_id" in topic]
    if key == INIT_PRODUCER_ID and answer["producer_id"] >= 0:
        return [str(answer["producer_id"])]
    if key == FETCH and answer.get("session_id"):
        return [str(answer["session_id"] - 1)]
    return []


def drawn_member_id(told: str) -> list[str]:
    """Return the drawn part of a member id: the UUID after the client id, or all 22 characters in a consumer group (KIP-848)."""
    if len(told) == SHORT:
        return [b64encode(urlsafe_b64decode(told + "==")).decode()]
    return [told[-36:]] if len(told) >= 36 else []
