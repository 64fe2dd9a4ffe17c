"""DescribeConfigs (32): topics and brokers; v1 sources and synonyms (KIP-226), v3 types and documentation (KIP-569)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

from ..log import names
from ..log.altering import BROKER, TOPIC
from ..log.altering_brokers import check_broker_name
from ..log.broker_configs import CLUSTER_WIDE, started
from ..log.described import Described, as_answered, cluster_configs, node_configs, topic_configs
from ..log.refusal import TopicRefused

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
KINDS: Final = frozenset((2, 4, 8, 16, 32))
"""Topics, brokers, brokers' loggers, client metrics, groups."""
WrongName = Callable[[str], str | None]


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """One result per resource, in request order; null or no keys mean all of them. A kind of resource that is not known spoils all."""
    describe(cluster, request, turn, _wrong_name)


def describe(cluster: Cluster, request: Request, turn: Turn, wrong_name: WrongName) -> None:
    """Answer; `wrong_name` says what is wrong with the name of a topic."""
    asked = request.message
    assert isinstance(asked, DescribeConfigsRequest)
    # Good resources beside it get no configs either:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if any(resource.resource_type not in KINDS for resource in asked.resources):
        refused = [
            DescribeConfigsResult(
                error_code=ErrorCode.INVALID_REQUEST,
                error_message=MALFORMED,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in asked.resources
        ]
        turn.reply(request.ticket, DescribeConfigsResponse(results=refused))
        return
    results = [_result(cluster, request.node, asked, resource, wrong_name) for resource in asked.resources]
    turn.reply(request.ticket, DescribeConfigsResponse(results=results))


def _result(
    cluster: Cluster, node: int, asked: DescribeConfigsRequest, resource: DescribeConfigsResource, wrong_name: WrongName
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
    try:
        found = _describe(cluster, node, resource, wrong_name)
    except TopicRefused as refused:
        result.error_code, result.error_message = refused.code, refused.message
        return result
    shown = as_answered(found, resource.configuration_keys or (), cluster.environment.settings.quirks)
    result.configs = [_config(each, asked) for each in shown]
    return result


def _describe(cluster: Cluster, node: int, resource: DescribeConfigsResource, wrong_name: WrongName) -> list[Described]:
    settings, name, overrides = cluster.environment.settings, resource.resource_name, cluster.topics.broker_overrides(node)
    if resource.resource_type == TOPIC:
        reason = wrong_name(name)
        if reason is not None:
            raise TopicRefused(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
        topic = cluster.topics.get(name)
        if topic is None:
            raise TopicRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return topic_configs(topic.configs, overrides, settings)
    if resource.resource_type != BROKER:
        raise TopicRefused(ErrorCode.INVALID_REQUEST, MALFORMED)
    check_broker_name(name, node, f"expected {node} or empty string")
    if name == CLUSTER_WIDE:
        return cluster_configs(overrides, settings.quirks)
    return node_configs(started(settings, cluster.environment.identity, node), overrides, settings.quirks)


def _wrong_name(name: str) -> str | None:
    reason = names.why_invalid(name)
    return None if reason is None else f"Topic name is invalid: {reason}"


def _config(found: Described, asked: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = found.synonyms if asked.include_synonyms else []
    return DescribeConfigsResourceResult(
        name=found.name,
        value=found.value,
        read_only=found.read_only,
        config_source=found.source,
        is_sensitive=found.sensitive,
        synonyms=[DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source) for each in synonyms],
        config_type=found.kind,
        documentation=found.about if asked.include_documentation else None,
    )
