"""Ids that a broker draws: which requests make it draw, and where its answers tell. The core is fed the same (core_player)."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode
from typing import Any

from groupmock_codec.api_keys import CREATE_TOPICS, FETCH, INIT_PRODUCER_ID, JOIN_GROUP
from groupmock_codec.declare import Message

from ..script.message_json import unbinary
from ..script.script import Json, Send
from ..script.transcript import Json as Answer

SHORT = 22  # characters


def asks_for_member_id(step: Send, message: Message) -> bool:
    """Does this JoinGroup make the broker draw a member id?"""
    return step.key == JOIN_GROUP and not message.member_id  # type: ignore[attr-defined]  # JoinGroup's


def must_answer(step: Send, message: Message) -> bool:
    """... and is it answered at once whatever the group's state: with the id (79) or with an error?"""
    return step.version >= 4 and message.group_instance_id is None  # type: ignore[attr-defined]  # JoinGroup's


def answer_tells_ids(step: Send, message: Message) -> bool:
    """Is the answer to be seen before the core is asked, as it tells what the broker drew?"""
    opens_session = step.key == FETCH and step.version >= 7 and message.session_epoch == 0  # type: ignore[attr-defined]  # Fetch's
    return step.key in (CREATE_TOPICS, INIT_PRODUCER_ID) or opens_session


def ids_in(step: Send, answer: dict[str, Answer] | None) -> list[str]:
    """What the broker drew, in order, as `CorePlayer.play` takes it."""
    if answer is None:
        return []
    if step.key == JOIN_GROUP:
        return drawn_member_id(answer["member_id"])
    if step.key == CREATE_TOPICS:
        return [_id(topic) for topic in answer["topics"] if "topic_id" in topic]
    if step.key == INIT_PRODUCER_ID and answer["producer_id"] >= 0:
        return [str(answer["producer_id"])]
    if step.key == FETCH and answer.get("session_id"):
        return [str(answer["session_id"] - 1)]
    return []


def drawn_member_id(told: str) -> list[str]:
    """A classic group's has a client id in front; a consumer group's (KIP-848) is 16 bytes alone, in 22 characters."""
    if len(told) == SHORT:
        return [b64encode(urlsafe_b64decode(told + "==")).decode()]
    return [told[-36:]] if len(told) >= 36 else []


def _id(topic: dict[str, Any]) -> str:
    found: Json = topic["topic_id"]
    assert isinstance(unbinary(found), bytes)
    text: str = found["bytes"]
    return text
