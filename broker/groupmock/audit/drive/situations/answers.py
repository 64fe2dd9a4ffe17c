"""Situations for the APIs of a group: the connection closes before the answer, the answer is lost, or the answer is an error."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from groupmock_codec.api_keys import JOIN_GROUP

from ..situation import CLASSIC, CONSUMER, PROTOCOL_OF, Situation, declare, rule, situation
from ..situation_stage import Stage

GROUP_APIS: Final = (
    "FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetFetch", "OffsetCommit", "LeaveGroup", "ConsumerGroupHeartbeat",
)  # fmt: skip
ERRORS: Final[dict[str, tuple[str, ...]]] = {
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE"),
    "JoinGroup": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"),
    "SyncGroup": ("NOT_COORDINATOR", "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"),
    "Heartbeat": ("NOT_COORDINATOR", "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"),
    "ConsumerGroupHeartbeat": (
        "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID",
    ),
    "OffsetFetch": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"),
    "OffsetCommit": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"),
}
"""Maps each API to the errors that a real coordinator may answer; a situation gives them one after another."""


def _strikes(api: str, *names: str) -> Callable[[Stage], Awaitable[None]]:
    """Return a script that waits until each of these fault rules has fired. The group rebalances as often as a request needs that comes
    once in a rebalance."""

    async def script(stage: Stage) -> None:
        for name in names:
            await (stage.strikes_in_rounds(name) if api in ("JoinGroup", "SyncGroup") else stage.strikes(name))

    return script


def _at_leaving(script: Callable[[Stage], Awaitable[None]]) -> Callable[[Stage], Awaitable[None]]:
    """Return a script that first asks a copy to stop, because LeaveGroup is only sent then, and then does what `script` does."""

    async def stopping(stage: Stage) -> None:
        stage.stop(stage.newest)
        await script(stage)

    return stopping


def _declare(name: str, does: str, api: str, made: dict[str, Any]) -> None:
    script = _strikes(api, made["name"])
    waits = f"the fault to strike a {api}, and the group Stable"
    leaving = _at_leaving(script) if api == "LeaveGroup" else script
    declare(Situation(name, does, waits, leaving, rules=(made,), protocol=PROTOCOL_OF.get(api, "")))


for _api in GROUP_APIS:
    _declare(
        f"closed-at-{_api}", f"The connection is closed in the place of the first {_api}, which is not applied.", _api,
        rule(_api, "close", stage="request", nth=1),
    )  # fmt: skip
    _declare(
        f"answer-lost-{_api}", f"The first {_api} is applied, and the connection ends before its answer.", _api,
        rule(_api, "close", stage="reply", nth=1),
    )  # fmt: skip


def _later(made: dict[str, Any]) -> Callable[[Stage], Awaitable[None]]:
    """Return a script that adds a fault rule to a working group and then rebalances the group. A copy that was held back joins then."""

    async def script(stage: Stage) -> None:
        stage.break_by(made)
        if stage.rest:
            await stage.start()
        else:
            await stage.rebalance()
        await stage.strikes(made["name"])
        await stage.mute_noticed()

    return script


for _api in ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit"):
    declare(
        Situation(
            f"answer-lost-{_api}-later",
            f"A group that works rebalances, and the connection ends before the answer to a {_api}.",
            f"the fault to strike a {_api}, and the group Stable",
            _later(rule(_api, "close", stage="reply", nth=1)),
            protocol=CLASSIC,
        )
    )
for _api in ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch"):
    declare(
        Situation(
            f"silence-at-{_api}",
            f"A group that works rebalances; a {_api} is applied, its answer is lost, and its connection is mute from then on.",
            "the end of that connection, and the group Stable",
            _later(rule(_api, "drop", stage="reply", nth=1)),
            # The copy that starts late gets partitions that belonged to another member, so it has to fetch their offsets.
            late=int(_api == "OffsetFetch"),
            protocol="" if _api == "OffsetFetch" else CLASSIC,
        )
    )
for _api, _codes in ERRORS.items():
    _rules = tuple(rule(_api, "error", f"{code} {place}", "request", nth=1 + place, code=code) for place, code in enumerate(_codes))
    declare(
        Situation(
            f"errors-of-{_api}",
            f"{_api} is refused every other time, with {', '.join(dict.fromkeys(_codes))}.",
            "every one of the errors, and the group Stable",
            _strikes(_api, *(each["name"] for each in _rules)),
            rules=_rules,
            protocol=CLASSIC if _api == "OffsetCommit" else PROTOCOL_OF.get(_api, ""),
        )
    )


@situation(
    "silence-at-ConsumerGroupHeartbeat",
    "A copy joins a group that works; a ConsumerGroupHeartbeat is applied, its answer is lost, and its connection is mute from then on.",
    "the end of that connection, and the group Stable",
    late=1,
    protocol=CONSUMER,
)
async def silence_at_a_heartbeat(stage: Stage) -> None:
    """Lose an answer with an assignment, so that the member must ask for the assignment again."""
    await _later(rule("ConsumerGroupHeartbeat", "drop", stage="reply", nth=2))(stage)


@situation(
    "stale-commits", "Every other commit is refused with STALE_MEMBER_EPOCH, then with UNKNOWN_MEMBER_ID.",
    "both errors, and the group Stable", protocol=CONSUMER,
)  # fmt: skip
async def stale_commits(stage: Stage) -> None:
    """Refuse commits as stale, as if they had been sent before the member epoch changed."""
    for place, code in enumerate(("STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID")):
        stage.break_by(rule("OffsetCommit", "error", code, "request", nth=1 + place, code=code))
    for code in ("STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"):
        await stage.strikes(code)


@situation(
    "group-full", "The last copy is told that the group is full (GROUP_MAX_SIZE_REACHED).", "the refusal of a JoinGroup",
    late=1, comes_back=False,
    protocol=CLASSIC,
)  # fmt: skip
async def group_full(stage: Stage) -> None:
    """Refuse a copy because the group is full, so that it must give up or try again with pauses. It is watched for a while."""
    await _refused(stage, "GROUP_MAX_SIZE_REACHED")


@situation(
    "not-allowed", "A copy may not join the group (GROUP_AUTHORIZATION_FAILED).", "the refusal of a JoinGroup", late=1, comes_back=False,
    protocol=CLASSIC,
)
async def not_allowed(stage: Stage) -> None:
    """Refuse a copy for good, so that it must give up and say so. It is watched for a while."""
    await _refused(stage, "GROUP_AUTHORIZATION_FAILED")


async def _refused(stage: Stage, code: str) -> None:
    stage.break_by(rule("JoinGroup", "error", code, "request", client_id=stage.next_name, code=code))
    asked = stage.asks(JOIN_GROUP, stage.next_name)
    await stage.start()
    await stage.happens(asked)
    await stage.watches(3)
