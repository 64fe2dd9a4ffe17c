"""Ids that a broker draws: which requests make it draw, and where its answers tell. The core is fed the same (core_player)."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode
from typing import Any

from groupmock_codec.api_keys import CREATE_TOPICS, FETCH, INIT_PRODUCER_ID, JOIN_GROUP

from ..generated.memory import Request

SHORT = 22  # characters


def asks_for_member_id(asked: Request) -> bool:
    """Does this JoinGroup make the broker draw a member id?"""
    return asked.key == JOIN_GROUP and not asked.message.member_id  # type: ignore[attr-defined]  # JoinGroup's


def must_answer(asked: Request) -> bool:
    """... and is it answered at once whatever the group's state: with the id (79) or with an error?"""
    return asked.version >= 4 and asked.message.group_instance_id is None  # type: ignore[attr-defined]  # JoinGroup's


def answer_tells_ids(asked: Request) -> bool:
    """Is the answer to be seen before the core is asked, as it tells what the broker drew?"""
    opens = asked.key == FETCH and asked.version >= 7 and asked.message.session_epoch == 0  # type: ignore[attr-defined]  # Fetch's
    return asked.key in (CREATE_TOPICS, INIT_PRODUCER_ID) or opens


def ids_in(key: int, answer: dict[str, Any] | None) -> list[str]:
    """What the broker drew, in order, as `CorePlayer.play` takes it."""
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
    """A classic group's has a client id in front; a consumer group's (KIP-848) is 16 bytes alone, in 22 characters."""
    if len(told) == SHORT:
        return [b64encode(urlsafe_b64decode(told + "==")).decode()]
    return [told[-36:]] if len(told) >= 36 else []
