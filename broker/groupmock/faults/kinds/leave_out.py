"""The fault `leave_out` removes from the answer a group, topic, partition, resource or member that the request names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from groupmock_codec import APIS
from groupmock_codec.declare import Message

from ..actions import Answer, Narrow
from ..entities import OUTERMOST, answered, present, with_outermost, without
from ..entity_fault import SELECTS, EntityFault
from ..kind import Struck, Target

if TYPE_CHECKING:
    from ..facts import Facts
    from ..plan import When

BROKER: Final = "broker"
BROKERS: Final = "brokers"
"""The field of an answer, such as that of Metadata, that names the nodes."""


def _names_brokers(api: str, version: int) -> bool:
    return BROKERS in present(APIS[api].response.message, version)


class LeaveOut(EntityFault, tag="leave_out", frozen=True, kw_only=True):
    """Leave out of the answer the groups, topics, partitions, resources or members that `when` names; the others are answered normally. At
    stage reply the request was applied to them, at stage request it was not. A group (OffsetFetch since v8) stays without its partitions,
    and so does a topic with an error of its own (Metadata)."""

    level: Annotated[
        str | None,
        Meta(
            description="what is left out: group, topic, partition, resource, member, transaction; broker: all nodes that Metadata or "
            "DescribeCluster name; default: what `when` names"
        ),
    ] = None

    STAGES: ClassVar[tuple[str, ...]] = ("reply", "request")
    ALTERS: ClassVar[bool] = True
    LEVELS: ClassVar[tuple[str, ...]] = (*SELECTS, BROKER)

    def struck(self, when: When, facts: Facts) -> Struck | None:
        """Return None for brokers, because no request names them."""
        return None if self.level == BROKER else super().struck(when, facts)

    def cannot(self, stage: str, api: str, version: int, when: When) -> str | None:
        """Refuse to leave out brokers of a message that names no brokers, as every request and most answers do."""
        if self.level != BROKER:
            return super().cannot(stage, api, version, when)
        if not _names_brokers(api, version):
            return "its answer names no brokers: Metadata and DescribeCluster do"
        return None if stage == "reply" else "its request names no broker, only its answer does: use stage = 'reply'"

    def cannot_wholly(self, stage: str, api: str, version: int) -> str:
        """Refuse to leave out the whole answer, for which other kinds of faults exist."""
        levels = [level.kind for level in answered(api, version)] + [BROKER] * _names_brokers(api, version)
        if levels:
            return f"it leaves out some of what is answered: name them in `when`, or say level = {', '.join(levels)}"
        return "its answer has no parts to leave out: say another API, or do = swallow"

    def changed(self, target: Target, response: Message) -> Message:
        """Return the answer without the affected groups, topics or other entities."""
        facts, struck = target.facts, target.struck
        assert struck is not None
        levels = answered(facts.api, facts.version)
        rest: Message | None = without(response, levels, struck.kind, struck.entities, target.lookup)
        if rest is None:
            rest = msgspec.structs.replace(response, **{levels[0].field: []})
        if levels[0].kind in OUTERMOST and struck.kind != levels[0].kind:
            rest = with_outermost(rest, levels, struck.entities, target.lookup)
        return rest

    def act(self, target: Target) -> Answer | Narrow:
        """Return the answer without the affected groups, topics or other entities, or without its brokers."""
        if self.level == BROKER:
            assert target.response is not None
            return Answer(msgspec.structs.replace(target.response, **{BROKERS: []}))
        return self.strike(target)


KIND = LeaveOut
