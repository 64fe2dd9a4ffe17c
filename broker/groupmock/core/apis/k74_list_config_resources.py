"""ListConfigResources (74) lists the resources that have configs (KIP-1142); in v0, ListClientMetricsResources, only client metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k74_list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

from ..authorizer.acl import DESCRIBE_CONFIGS
from ..authorizer.right import Right
from ..budget import Ration
from ..groups.configs import GROUP
from ..java.hashes import java_hash
from ..java.tables import signed
from ..log.altering import BROKER, TOPIC

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

BROKER_LOGGER: Final = 8  # Kafka's ConfigResource.Type.BROKER_LOGGER has this number.
CLIENT_METRICS: Final = 16
IN_ORDER: Final = (GROUP, CLIENT_METRICS, BROKER_LOGGER, BROKER, TOPIC)
RESOURCE_COST: Final = 2

RIGHTS: Final = (Right(DESCRIBE_CONFIGS),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """List the resources of the requested types, or of all types if the request names none. 35 for a type that has none to list."""
    asked = request.message
    assert isinstance(asked, ListConfigResourcesRequest)
    ration = Ration(turn.settings)
    ration.take(len(asked.resource_types))
    kinds = set(asked.resource_types) or set(IN_ORDER)
    if request.version == 0:
        kinds = {CLIENT_METRICS}
    if not kinds <= set(IN_ORDER):
        turn.reply(request.ticket, ListConfigResourcesResponse(error_code=error_codes.UNSUPPORTED_VERSION))
        return
    found = [(kind, name) for kind in IN_ORDER if kind in kinds for name in _names(cluster, kind, ration)]
    ration.take(len(found), RESOURCE_COST, size=sum(len(name) for _, name in found))
    resources = [ConfigResource(resource_name=name, resource_type=kind) for kind, name in found]
    turn.reply(request.ticket, ListConfigResourcesResponse(config_resources=resources))


def _names(cluster: Cluster, kind: int, ration: Ration) -> list[str]:
    """Return the names of the resources of one type. There are no client metrics, because nobody can subscribe to them here."""
    if kind == GROUP:
        return cluster.groups.configs.listed()
    if kind in (BROKER, BROKER_LOGGER):
        return [str(node.node_id) for node in cluster.environment.identity.nodes]
    if kind == TOPIC:
        names = cluster.topics.names()
        ration.take_names(names, RESOURCE_COST)
        # The topics are in the order of TopicsImage's map of names, which is a tree of hash codes (seen on 4.3.0).
        return sorted(names, key=lambda name: signed(java_hash(name)))
    return []
