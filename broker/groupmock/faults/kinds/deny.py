"""The fault `deny` withdraws a right from the principal that calls, while its group runs."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from groupmock_codec.units import MS_PER_S

from ..actions import CallOff, Steer
from ..kind import Fault, Target


class Deny(Fault, tag="deny", frozen=True, kw_only=True):
    """Deny an operation on the group, topic or transactional id of the call to the principal that calls, just before the request is
    applied, by a rule of the authorizer. The rule is taken back after `seconds`, or by `remove_acls`. The cluster needs an authorizer,
    and super users pass every rule."""

    STAGES: ClassVar[tuple[str, ...]] = ("request",)
    CAUSES: ClassVar[bool] = True
    SECURED: ClassVar[bool] = True
    operation: Annotated[str, Meta(description="Kafka's name of the operation")] = "READ"
    on: Annotated[Literal["group", "topic", "transactional_id"], Meta(description="what the call names, the first of several")] = "group"
    seconds: Annotated[Annotated[float, Meta(gt=0, le=86_400)] | None, Meta(description="for how long; left out: until removed")] = None

    def needs(self) -> tuple[str, ...]:
        return (self.on,)

    def act(self, target: Target) -> Steer | CallOff:
        facts = target.facts
        named = {"group": facts.groups, "topic": facts.topics, "transactional_id": facts.transactional_ids}[self.on]
        if not named:
            return CallOff(f"the request names no {self.on.replace('_', ' ')}")
        arguments: dict[str, Any] = {"principal": facts.principal, "operations": [self.operation], self.on: named[0]}
        if self.seconds is not None:
            arguments["ms"] = int(self.seconds * MS_PER_S)
        return Steer([("deny", arguments)])


KIND = Deny
