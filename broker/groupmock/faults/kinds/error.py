"""The fault `error` answers with an error code of the rule's choice, whether or not the request was applied."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from groupmock_codec import error_codes
from groupmock_codec.declare import Message

from ...text.suggest import hint
from .. import refusals
from ..actions import Answer, Narrow
from ..entities import IN_SESSIONS, Answering, answered
from ..entity_fault import EntityFault
from ..kind import Target


class Error(EntityFault, tag="error", frozen=True, kw_only=True):
    """Answer the call with this error. If `when` names some of several entities in a request (groups, topics, partitions, resources,
    members), only those get the error, and the others are answered normally. Otherwise the error is for the whole request, in the field
    where the API has it in that version, or for each requested entity. At stage request the refused part is not applied. At stage reply it
    was applied, although the client is told that it was not."""

    STAGES: ClassVar[tuple[str, ...]] = ("request", "reply")
    ALTERS: ClassVar[bool] = True
    code: Annotated[str | int, Meta(description="Kafka's name of the error, as `REBALANCE_IN_PROGRESS`, or its number")]

    def __post_init__(self) -> None:
        """Check the error's name or number when the rule is read."""
        number_of(self.code)

    def cannot_wholly(self, stage: str, api: str, version: int) -> str | None:
        """Return why the answer has no field for the error, or None if it has one."""
        if self.level is not None and not refusals.has_whole_error(api, version):
            levels = ", ".join(level.kind for level in answered(api, version)) or "none"
            return f"its answer has no error for the whole request: its levels are {levels}"
        return refusals.cannot(stage, api, version)

    def changed(self, target: Target, response: Message) -> Message:
        """Return the answer with the error for each affected group, topic or other entity."""
        facts, struck, code = target.facts, target.struck, number_of(self.code)
        assert struck is not None
        levels = answered(facts.api, facts.version)
        # The answer to a Fetch may lack partitions of the request, because it has only the changes of its session.
        add = facts.stage == "request" or hasattr(target.request, IN_SESSIONS)
        answering = Answering(struck.kind, target.lookup, lambda element, level: refusals.refused(element, level, code), add)
        message: Message = answering.changed(response, levels, struck.entities)
        return message

    def act(self, target: Target) -> Answer | Narrow:
        if target.struck is not None:
            return self.strike(target)
        # This fault is never applied to a new connection (stage connect), so there is a request.
        assert target.request is not None
        facts = target.facts
        return Answer(refusals.refusal(facts.api, facts.version, target.request, target.response, number_of(self.code)))


def number_of(code: str | int) -> int:
    """Return the number of an error. Raises ValueError for an unknown one, which msgspec turns into a ValidationError with the place in
    the plan."""
    if isinstance(code, int):
        # NONE (0) would tell the client that a request which was not applied has succeeded.
        if code in error_codes.NAMES and code != error_codes.NONE:
            return code
        raise ValueError(f"{code} is no error of Kafka")
    numbers = {name: number for number, name in error_codes.NAMES.items() if number != error_codes.NONE}
    if code in numbers:
        return numbers[code]
    raise ValueError(f"no error {code!r}{hint(code, set(numbers))}")


KIND = Error
