"""AlterClientQuotas (49) as Kafka 2.8 has it: of an entity or a key that is listed twice the last one counts, and zero is a quota."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from groupmock_codec.messages.k49_alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse, QuotaOperation

from .. import quotas
from ..apis.k49_alter_client_quotas import check_price, keep, known, result
from ..java.orders import scala_map_order
from ..quotas import IP, Entity, QuotaRefused

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

IP_WITH_OTHERS: Final = "Invalid quota entity combination, IP entity should not be used with user/client ID entity."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """A row per entity."""
    asked = request.message
    assert isinstance(asked, AlterClientQuotasRequest)
    check_price(asked, turn)
    last = {quotas.entity_of((each.entity_type, each.entity_name) for each in entry.entity): entry.ops for entry in asked.entries}
    results = []
    for entity in scala_map_order(last, quotas.hash_of):
        try:
            keep(cluster, entity, _changes(entity, last[entity]), asked.validate_only)
            results.append(result(entity, None))
        except QuotaRefused as refused:
            results.append(result(entity, refused))
    turn.reply(request.ticket, AlterClientQuotasResponse(entries=results))


def _changes(entity: Entity, operations: list[QuotaOperation]) -> Mapping[str, float | None]:
    """What is to be set (None: removed). Raises QuotaRefused."""
    address = dict(entity).get(IP)
    # The name as it would stand in ZooKeeper's path
    if address and len(entity) == 1 and not quotas.ADDRESS.fullmatch(address):
        raise QuotaRefused(f"{quote(address, safe='')} is not a valid IP or resolvable host.")
    kinds = quotas.keys_of(entity, IP_WITH_OTHERS)
    for each in operations:
        kind = known(each.key, kinds)
        if not each.remove and kind.most is not None and not _whole(each.value, kind.most):
            raise QuotaRefused(f"Configuration {each.key} must be a {kind.name} value")
    return {each.key: None if each.remove else each.value for each in operations}


def _whole(value: float, most: int) -> bool:
    return isfinite(value) and value == int(value) and abs(value) <= most
