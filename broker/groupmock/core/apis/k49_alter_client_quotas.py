"""AlterClientQuotas (49) sets and removes quotas of users, client ids and addresses (KIP-546). They are kept, and not enforced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredQuotaEntity,
    QuotaAlterationResult,
    QuotaOperation,
)

from .. import quotas
from ..authorizer.acl import ALTER_CONFIGS, CLUSTER, DENIED_TEXT
from ..authorizer.right import Right
from ..budget import Ration, fitting
from ..java.orders import java_order
from ..quotas import Entity, Kind, QuotaRefused

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

ENTRY_COST: Final = 10
PART_COST: Final = 3
IP_WITH_OTHERS: Final = "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"

RIGHTS: Final = (Right(ALTER_CONFIGS),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Change the quotas of each entity or refuse the entity, and answer a row for each, in the order of Kafka's hash map of entities.
    Each is changed or refused as a whole."""
    asked = request.message
    assert isinstance(asked, AlterClientQuotasRequest)
    _check_price(asked, turn)
    listed = [(quotas.entity_of((each.entity_type, each.entity_name) for each in entry.entity), entry.ops) for entry in asked.entries]
    times = Counter(entity for entity, _ in listed)
    last = dict(listed)
    results = []
    for entity in java_order(times, quotas.hash_of):
        try:
            changes = _changes(entity, last[entity], times[entity])
            _keep(cluster, entity, changes, asked.validate_only)
            results.append(_result(entity, None))
        except QuotaRefused as refused:
            results.append(_result(entity, refused))
    turn.reply(request.ticket, AlterClientQuotasResponse(entries=results))


def _check_price(asked: AlterClientQuotasRequest, turn: Turn) -> None:
    """Count every entity, name and change in the request against the work limit of the request. Raises OverBudget."""
    ration = Ration(turn.settings)
    ration.take(len(asked.entries), ENTRY_COST)
    for entry in asked.entries:
        ration.take_names([text for each in entry.entity for text in (each.entity_type, each.entity_name or "")], PART_COST)
        ration.take_names([each.key for each in entry.ops], PART_COST)


def _changes(entity: Entity, operations: list[QuotaOperation], times: int) -> Mapping[str, float | None]:
    """Return the quota values to set, with None for a value to remove. Raises QuotaRefused."""
    # Kafka collects all changes of the request in one map, and so finds quota keys that are listed twice.
    if times > 1 or len({each.key for each in operations}) < len(operations):
        raise QuotaRefused(f"Ignoring duplicate entity {quotas.printed(entity)}")
    kinds = quotas.keys_of(entity, IP_WITH_OTHERS)
    for each in operations:
        kind = _known(each.key, kinds)
        if not each.remove:
            quotas.check_value(each.key, each.value, kind)
    return {each.key: None if each.remove else each.value for each in operations}


def _known(key: str, kinds: Mapping[str, Kind]) -> Kind:
    """Return the type of a quota's values. Raises QuotaRefused for an unknown quota."""
    found = kinds.get(key)
    if found is None:
        raise QuotaRefused(f"Invalid configuration key {key}")
    return found


def _keep(cluster: Cluster, entity: Entity, changes: Mapping[str, float | None], validate_only: bool) -> None:
    """Store quota changes that were checked. Raises QuotaRefused if there is no room for another entity."""
    if not cluster.quotas.has_room(entity):
        raise QuotaRefused(quotas.TOO_MANY)
    if not validate_only:
        cluster.quotas.change(entity, changes)


def _result(entity: Entity, refused: QuotaRefused | None) -> QuotaAlterationResult:
    named = [AlteredQuotaEntity(entity_type=kind, entity_name=name) for kind, name in entity]
    if refused is None:
        return QuotaAlterationResult(error_message=None, entity=named)
    return QuotaAlterationResult(error_code=error_codes.INVALID_REQUEST, error_message=fitting(str(refused)), entity=named)


def refused(request: Request, code: int, text: str) -> AlterClientQuotasResponse:
    asked = request.message
    assert isinstance(asked, AlterClientQuotasRequest)
    entries = [
        QuotaAlterationResult(error_code=code, error_message=DENIED_TEXT[CLUSTER], entity=entry.entity) for entry in asked.entries
    ]
    return AlterClientQuotasResponse(entries=entries)
