"""DescribeCluster (key 60) has versions 0-2, flexible from 0.

v0 new (KIP-700). v1 which kind of endpoints, brokers or controllers (KIP-919). v2 fenced brokers on demand (KIP-1073).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_CLUSTER
from ..declare import BOOLEAN, INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class DescribeClusterRequest(Message):
    include_cluster_authorized_operations: Annotated[bool, BOOLEAN] = False
    endpoint_type: Annotated[int, INT8, since(1)] = 1
    include_fenced_brokers: Annotated[bool, BOOLEAN, since(2)] = False


class DescribeClusterBroker(Message):
    broker_id: Annotated[int, INT32] = 0
    host: Annotated[str, STRING] = ""
    port: Annotated[int, INT32] = 0
    rack: Annotated[str | None, STRING, nullable()] = None
    is_fenced: Annotated[bool, BOOLEAN, since(2)] = False


class DescribeClusterResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    endpoint_type: Annotated[int, INT8, since(1)] = 1
    cluster_id: Annotated[str, STRING] = ""
    controller_id: Annotated[int, INT32] = -1
    brokers: Annotated[list[DescribeClusterBroker], array(DescribeClusterBroker)] = []
    cluster_authorized_operations: Annotated[int, INT32] = -2147483648


API = ApiDeclaration(DESCRIBE_CLUSTER, "DescribeCluster", Versions(0, 2), 0, DescribeClusterRequest, DescribeClusterResponse)
