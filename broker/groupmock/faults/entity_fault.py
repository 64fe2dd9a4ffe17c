"""The base of faults that can affect some of the groups, topics, partitions, resources or members in a call while the others are answered
normally.

At stage request an affected entity is removed from the request, and its result is put into the answer to the rest. Two requests cannot lose
entities, so they are served whole and at once, and only the answer is changed. A fetch defines the content of its session (KIP-227), so a
removed partition would not be fetched any more after the rule ends. A Metadata without topics must still be answered with the nodes, and
means all topics in v0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from groupmock_codec import APIS

from ..text.suggest import hint
from . import refusals
from .actions import Answer, Narrow
from .entities import IN_SESSIONS, answered, asked, without
from .kind import Fault, Struck, Target

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from .facts import Facts
    from .plan import When

WHOLE: Final = "request"
SELECTS: Final = {
    "group": ("group",),
    "topic": ("topic", "topic_id"),
    "partition": ("partition",),
    "resource": ("resource",),
    "member": ("member_id", "instance_id"),
    "transaction": ("transactional_id",),
}
"""Maps each kind of entity (a group, a topic, ...) to the conditions of a rule that select it."""


class EntityFault(Fault, frozen=True, kw_only=True):
    """The base of fault kinds that affect only the groups, topics, partitions, resources or members of a request that `when` names."""

    level: Annotated[
        str | None,
        Meta(
            description="what is struck: request (as a whole), group, topic, partition, resource, member, transaction; "
            "default: what `when` names"
        ),
    ] = None

    LEVELS: ClassVar[tuple[str, ...]] = (WHOLE, *SELECTS)
    """The possible values of a fault's field `level`: the whole request, or a kind of entity in it."""

    def level_at(self, when: When, api: str, version: int) -> str:
        """Return the kind of entity (a group, a topic, ...) that is affected in this API version: `level`, or the innermost kind that
        `when` names."""
        if self.level is not None:
            return self.level
        kinds = [level.kind for level in answered(api, version)]
        named = [kind for kind in kinds if any(getattr(when, each) is not None for each in SELECTS.get(kind, ()))]
        return named[-1] if named else WHOLE

    def struck(self, when: When, facts: Facts) -> Struck | None:
        """Return the groups, topics or other entities of the call that the rule's `when` names. If `level` is an outer kind, all
        entities inside are included."""
        from .decide import picks

        kind = self.level_at(when, facts.api, facts.version)
        if kind == WHOLE:
            return None
        entities = [each for each in facts.entities.all if each.key(kind) is not None]
        places = {each.at(kind) for each in entities if picks(when, each)}
        return Struck(kind, tuple(each for each in entities if each.at(kind) in places))

    def cannot(self, stage: str, api: str, version: int, when: When) -> str | None:
        """Refuse an API version that has no entities of the affected kind (groups, topics, ...), and a stage at which they are unknown."""
        kind = self.level_at(when, api, version)
        if kind == WHOLE:
            return self.cannot_wholly(stage, api, version)
        kinds = [level.kind for level in answered(api, version)]
        if kind not in SELECTS:
            return f"no level {kind!r}{hint(kind, self.LEVELS)}: there are {', '.join(self.LEVELS)}"
        if kind not in kinds:
            levels = ", ".join([*kinds] or ["request"])
            return f"its answer has nothing for each {kind}: what can be said is level = {levels}"
        if stage == "request" and kind not in [level.kind for level in asked(api, version)]:
            return f"its request names no {kind}, only its answer does: use stage = 'reply'"
        return None

    def cannot_wholly(self, stage: str, api: str, version: int) -> str | None:
        """Return why the fault cannot affect the call as a whole, or None if it can."""
        raise NotImplementedError

    def changed(self, target: Target, response: Message) -> Message:
        """Return the answer with the results of the affected groups, topics or other entities changed."""
        raise NotImplementedError

    def strike(self, target: Target) -> Answer | Narrow:
        """Apply the fault to the affected groups, topics or other entities of a call."""
        facts, request, struck = target.facts, target.request, target.struck
        assert request is not None and struck is not None
        if facts.stage == "reply":
            assert target.response is not None
            return Answer(self._fitting(target, target.response))
        if hasattr(request, IN_SESSIONS):
            return Narrow(msgspec.structs.replace(request, max_wait_ms=0), lambda real: self._fitting(target, real))
        levels = asked(facts.api, facts.version)
        rest = without(request, levels, struck.kind, struck.entities, target.lookup)
        if rest is not None:
            return Narrow(rest, lambda real: self._fitting(target, real))
        if facts.api in refusals.ASKS_FOR_ALL:
            nothing = msgspec.structs.replace(request, **{levels[0].field: []})
            return Narrow(nothing, lambda real: self._fitting(target, _emptied(facts, real)))
        return Answer(self._fitting(target, APIS[facts.api].response.message()))

    def _fitting(self, target: Target, response: Message) -> Message:
        # An answer that refuses the whole request has no results of single topics, groups or partitions to change.
        return response if refusals.whole_error(target.facts.api, target.facts.version, response) else self.changed(target, response)


def _emptied(facts: Facts, response: Any) -> Any:
    return msgspec.structs.replace(response, **{answered(facts.api, facts.version)[0].field: []})
