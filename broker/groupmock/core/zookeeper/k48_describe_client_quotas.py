"""DescribeClientQuotas (48) as Kafka 2.8 has it: other words, and filters that later releases refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k48_describe_client_quotas import QuotaFilterComponent

from ..apis.k48_describe_client_quotas import ANY, EXACT, answer
from ..budget import fitting
from ..log.refusal import TopicRefused
from ..quotas import CLIENT, IP, USER

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """A name beside a match that needs none is not looked at; a match that is none is a failure of the broker."""
    answer(cluster, request, turn, _check)


def _check(components: list[QuotaFilterComponent]) -> None:
    if any(not EXACT <= each.match_type <= ANY or (each.match_type == EXACT and each.match is None) for each in components):
        raise TopicRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "")
    seen: set[str] = set()
    for each in components:
        if not each.entity_type:
            raise TopicRefused(ErrorCode.INVALID_REQUEST, "Unexpected empty filter component entity type")
        if each.entity_type not in (USER, CLIENT, IP):
            raise TopicRefused(ErrorCode.UNSUPPORTED_VERSION, fitting(f"Custom entity type '{each.entity_type}' not supported"))
        if each.entity_type in seen:
            raise TopicRefused(ErrorCode.INVALID_REQUEST, f"Duplicate {each.entity_type} filter component entity type")
        seen.add(each.entity_type)
    if IP in seen and len(seen) > 1:
        raise TopicRefused(
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination, IP filter component should not be used with user or clientId filter component.",
        )
