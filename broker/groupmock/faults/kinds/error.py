"""The answer is an error code of the rule's choice, whether or not the request was applied."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from groupmock_codec.errors import ErrorCode

from ...suggest import hint
from .. import refusals
from ..actions import Answer
from ..kind import Fault, Target


class Error(Fault, tag="error", frozen=True, kw_only=True):
    """The answer is this error, in the field where the API has it in that version: for the whole request, else for each group, topic or
    partition asked for. At stage request nothing is applied; at stage reply it was, and the client is told that it was not."""

    STAGES: ClassVar[tuple[str, ...]] = ("request", "reply")
    ALTERS: ClassVar[bool] = True
    code: Annotated[str | int, Meta(description="Kafka's name of the error, as `REBALANCE_IN_PROGRESS`, or its number")]

    def __post_init__(self) -> None:
        """Know the error when the rule is read."""
        number_of(self.code)

    def cannot(self, stage: str, api: str, version: int) -> str | None:
        """Where is the error in the answer?"""
        return refusals.cannot(stage, api, version)

    def act(self, target: Target) -> Answer:
        """Answer with the error."""
        # Connect is none of its stages, so there is a request.
        assert target.request is not None
        facts = target.facts
        return Answer(refusals.refusal(facts.api, facts.version, target.request, target.response, number_of(self.code)))


def number_of(code: str | int) -> int:
    """Kafka's number. Raises ValueError for what is none of its errors; msgspec makes that a ValidationError with the place in the plan."""
    names = ErrorCode.__members__
    if isinstance(code, int):
        # 0 would tell the client that a request which was not applied has succeeded.
        if code in set(map(int, ErrorCode)) and code != ErrorCode.NONE:
            return code
        raise ValueError(f"{code} is no error of Kafka")
    if code in names and code != "NONE":
        return int(names[code])
    raise ValueError(f"no error {code!r}{hint(code, set(names) - {'NONE'})}")


KIND = Error
