"""DescribeClientQuotas (48) lists the quotas of the entities that match a filter (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k48_describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    QuotaEntity,
    QuotaEntry,
    QuotaFilterComponent,
    QuotaValue,
)

from ..authorizer.acl import DESCRIBE_CONFIGS
from ..authorizer.right import Right
from ..budget import Ration, fitting
from ..log.refusal import TopicRefused
from ..quotas import CLIENT, IP, USER, Entity

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

EXACT: Final = 0
DEFAULT: Final = 1
ANY: Final = 2
ENTITY_COST: Final = 4
COMPONENT_COST: Final = 2

RIGHTS: Final = (Right(DESCRIBE_CONFIGS),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """List the quotas of the entities that match the filter. `strict`: an entity may have no types but those of the filter. Without
    components all match, or strictly none."""
    asked = request.message
    assert isinstance(asked, DescribeClientQuotasRequest)
    ration = Ration(turn.settings)
    ration.take_names([each.entity_type for each in asked.components], COMPONENT_COST)
    ration.take(len(cluster.quotas), ENTITY_COST, cluster.quotas.text)
    try:
        _check(asked.components)
    except TopicRefused as refused:
        text = refused.message or None
        turn.reply(request.ticket, DescribeClientQuotasResponse(error_code=refused.code, error_message=text, entries=None))
        return
    wanted = {each.entity_type: each for each in asked.components}
    entries = [_entry(entity, values) for entity, values in cluster.quotas.items() if _matches(entity, wanted, asked.strict)]
    turn.reply(request.ticket, DescribeClientQuotasResponse(entries=entries))


def _check(components: list[QuotaFilterComponent]) -> None:
    """Check the filter's components one after the other, as ClientQuotasImage.describe does. Raises TopicRefused."""
    seen: set[str] = set()
    for each in components:
        if not each.entity_type:
            raise TopicRefused(error_codes.INVALID_REQUEST, "Invalid empty entity type.")
        if each.entity_type in seen:
            raise TopicRefused(error_codes.INVALID_REQUEST, f"Entity type {each.entity_type} cannot appear more than once in the filter.")
        if each.entity_type not in (USER, CLIENT, IP):
            raise TopicRefused(error_codes.UNSUPPORTED_VERSION, fitting(f"Unsupported entity type {each.entity_type}"))
        _check_match(each)
        seen.add(each.entity_type)
    if IP in seen and len(seen) > 1:
        raise TopicRefused(
            error_codes.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.",
        )


def _check_match(component: QuotaFilterComponent) -> None:
    named = component.match is not None
    if component.match_type == EXACT and not named:
        why = "Request specified MATCH_TYPE_EXACT, but set match string to null."
    elif component.match_type == DEFAULT and named:
        why = "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."
    elif component.match_type == ANY and named:
        why = "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."
    elif component.match_type not in (EXACT, DEFAULT, ANY):
        why = f"Unknown match type {component.match_type}"
    else:
        return
    raise TopicRefused(error_codes.INVALID_REQUEST, why)


def _matches(entity: Entity, wanted: Mapping[str, QuotaFilterComponent], strict: bool) -> bool:
    """True if every component of the filter matches the entity: by name, by the default name, or by ANY."""
    named = dict(entity)
    if strict and named.keys() != wanted.keys():
        return False
    return all(kind in named and _fits(named[kind], component) for kind, component in wanted.items())


def _fits(name: str | None, component: QuotaFilterComponent) -> bool:
    if component.match_type == EXACT:
        return name == component.match
    return component.match_type == ANY or name is None


def _entry(entity: Entity, values: Mapping[str, float]) -> QuotaEntry:
    return QuotaEntry(
        entity=[QuotaEntity(entity_type=kind, entity_name=name) for kind, name in entity],
        values=[QuotaValue(key=key, value=value) for key, value in values.items()],
    )


def refused(request: Request, code: int, text: str) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=code, error_message=None, entries=None)
