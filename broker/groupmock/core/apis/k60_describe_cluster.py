"""DescribeCluster (60) lists the nodes and the cluster id (KIP-700). v1 may ask for controllers (KIP-919), which a broker's listener
refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k60_describe_cluster import DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse

from ..cluster import NOT_ASKED

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

BROKERS: Final = 1
CONTROLLERS: Final = 2


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe every node that is up."""
    asked = request.message
    assert isinstance(asked, DescribeClusterRequest)
    turn.reply(request.ticket, _refused(asked.endpoint_type) or _described(cluster, request, asked))


def _refused(endpoint_type: int) -> DescribeClusterResponse | None:
    if endpoint_type == BROKERS:
        return None
    if endpoint_type == CONTROLLERS:
        message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        return DescribeClusterResponse(error_code=error_codes.MISMATCHED_ENDPOINT_TYPE, error_message=message)
    return DescribeClusterResponse(
        error_code=error_codes.UNSUPPORTED_ENDPOINT_TYPE, error_message=f"Unsupported endpoint type {endpoint_type}"
    )


def _described(cluster: Cluster, request: Request, asked: DescribeClusterRequest) -> DescribeClusterResponse:
    environment = cluster.environment
    return DescribeClusterResponse(
        cluster_id=environment.identity.cluster_id,
        controller_id=cluster.topics.controller(),
        brokers=[
            DescribeClusterBroker(broker_id=node.node_id, host=at.host, port=at.port, rack=node.rack)
            for node, at in environment.reached(environment.up, request.listener)
        ],
        cluster_authorized_operations=cluster.own_operations(request) if asked.include_cluster_authorized_operations else NOT_ASKED,
    )
