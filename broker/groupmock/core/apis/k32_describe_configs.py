"""DescribeConfigs (32) describes the configs of topics, brokers and groups. v1 adds sources and synonyms (KIP-226), and v3 types and
documentation (KIP-569)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

from ..authorizer.acl import DESCRIBE_CONFIGS
from ..budget import Ration
from ..groups.configs import GROUP
from ..log import names
from ..log.altering import BROKER, TOPIC
from ..log.altering_brokers import check_broker_name
from ..log.broker_configs import CLUSTER_WIDE, started
from ..log.described import Described, TopicConfigs, as_answered, cluster_configs, node_configs
from ..log.refusal import TopicRefused
from .k33_alter_configs import config_refusal

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

MALFORMED: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
RESOURCE_COST: Final = 4
TOPIC_COST: Final = 80  # This amount of work covers more than thirty configs of a topic, with their synonyms.
BROKER_COST: Final = 2500  # This amount of work covers more than three hundred configs of a broker.
GROUP_COST: Final = 100  # This amount of work covers seventeen configs of a group, most of which have a broker config as synonym.
CHANGED_COST: Final = 5
COPIES: Final = 2  # A config's value is sent twice: as its own value and as that of its first synonym.
KINDS: Final = frozenset((2, 4, 8, 16, 32))
"""The resource types that Kafka knows: topics, brokers, brokers' loggers, client metrics and groups."""


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer one result per resource, in request order. An unknown type of resource fails the whole request."""
    asked = request.message
    assert isinstance(asked, DescribeConfigsRequest)
    _check_price(cluster, request.node, asked, turn)
    # One unknown resource type refuses all resources, even the valid ones:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    kinds = KINDS - {GROUP} if turn.quirks.no_group_configs else KINDS
    if any(resource.resource_type not in kinds for resource in asked.resources):
        refused = [_refused(resource, TopicRefused(error_codes.INVALID_REQUEST, MALFORMED)) for resource in asked.resources]
        turn.reply(request.ticket, DescribeConfigsResponse(results=refused))
        return
    telling = _Telling(cluster, request.node, asked)
    refusals = [
        config_refusal(cluster, turn, request, DESCRIBE_CONFIGS, each.resource_type, each.resource_name) for each in asked.resources
    ]
    results = [telling.result(each) for each, refusal in zip(asked.resources, refusals, strict=True) if refusal is None]
    results += [_refused(each, refusal) for each, refusal in zip(asked.resources, refusals, strict=True) if refusal is not None]
    turn.reply(request.ticket, DescribeConfigsResponse(results=results))


def _refused(resource: DescribeConfigsResource, refusal: TopicRefused) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=refusal.code,
        error_message=refusal.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _check_price(cluster: Cluster, node: int, asked: DescribeConfigsRequest, turn: Turn) -> None:
    """Count all configs of every resource, as often as the resource is named, against the work limit of the request."""
    ration, topics, overrides = Ration(turn.settings), cluster.topics, cluster.topics.broker_overrides(node)
    changed = [*overrides.node.values(), *overrides.cluster.values()]
    ration.take_names([resource.resource_name for resource in asked.resources], RESOURCE_COST)
    for resource in asked.resources:
        ration.take(len(resource.configuration_keys or ()))
        if resource.resource_type == TOPIC:
            topic = topics.get(resource.resource_name)
            if topic is not None:
                ration.take(1, TOPIC_COST)
                ration.take(len(topic.configs), CHANGED_COST, COPIES * sum(map(len, topic.configs.values())))
        elif resource.resource_type == GROUP:
            ration.take(1, GROUP_COST)
            ration.take_names(list(cluster.groups.configs.of(resource.resource_name).values()), CHANGED_COST)
        elif resource.resource_type == BROKER:
            ration.take(1, BROKER_COST)
            ration.take(len(changed), CHANGED_COST, COPIES * sum(map(len, changed)))


class _Telling:
    """Describes the resources of one request, sharing the rows of equal topic configs. Topics share most of their configs, and so their
    rows."""

    def __init__(self, cluster: Cluster, node: int, asked: DescribeConfigsRequest) -> None:
        self._cluster, self._node, self._asked = cluster, node, asked
        self._settings = cluster.environment.settings
        self._overrides = cluster.topics.broker_overrides(node)
        self._topics = TopicConfigs(self._overrides, self._settings)
        # This dict maps the id() of an object in `self._topics.standard` to the row built from it.
        self._rows: dict[int, DescribeConfigsResourceResult] = {}

    def result(self, resource: DescribeConfigsResource) -> DescribeConfigsResult:
        """Return the configs of one resource, or its error."""
        result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
        try:
            found = self._describe(resource)
        except TopicRefused as refused:
            result.error_code, result.error_message = refused.code, refused.message
            return result
        shown = as_answered(found, frozenset(resource.configuration_keys or ()), self._settings.quirks)
        result.configs = [self._row(each) for each in shown]
        return result

    def _row(self, found: Described) -> DescribeConfigsResourceResult:
        if self._topics.standard.get(found.name) is not found:
            return _config(found, self._asked)
        row = self._rows.get(id(found))
        if row is None:
            row = self._rows[id(found)] = _config(found, self._asked)
        return row

    def _describe(self, resource: DescribeConfigsResource) -> list[Described]:
        cluster, node, name = self._cluster, self._node, resource.resource_name
        if resource.resource_type == TOPIC:
            reason = names.why_invalid(name)
            if reason is not None:
                raise TopicRefused(error_codes.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
            topic = cluster.topics.get(name)
            if topic is None:
                raise TopicRefused(error_codes.UNKNOWN_TOPIC_OR_PARTITION, "")
            return self._topics.of(topic.configs)
        if resource.resource_type == GROUP and not self._settings.quirks.no_group_configs:
            return cluster.groups.configs.described(name, node)
        if resource.resource_type != BROKER:
            raise TopicRefused(error_codes.INVALID_REQUEST, MALFORMED)
        check_broker_name(name, node, f"expected {node} or empty string")
        if name == CLUSTER_WIDE:
            return cluster_configs(self._overrides, self._settings.quirks)
        static = started(self._settings, cluster.environment.identity, node)
        return node_configs(static, self._overrides, self._settings.quirks)


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
