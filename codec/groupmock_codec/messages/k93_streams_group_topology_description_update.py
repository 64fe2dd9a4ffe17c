"""StreamsGroupTopologyDescriptionUpdate (key 93) has version 0, flexible from 0.

v0 new: a member describes the topology that the broker asked for (KIP-1331).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..api_keys import STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE
from ..declare import INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, struct


class TopologyDescriptionNode(Message):
    name: Annotated[str, STRING] = ""
    node_type: Annotated[int, INT8] = 0
    source_topics: Annotated[list[str], array(STRING)] = []
    sink_topic: Annotated[str | None, STRING, nullable()] = None
    stores: Annotated[list[str], array(STRING)] = []
    successors: Annotated[list[str], array(STRING)] = []


class TopologyDescriptionSubtopology(Message):
    subtopology_id: Annotated[str, STRING] = ""
    nodes: Annotated[list[TopologyDescriptionNode], array(TopologyDescriptionNode)] = []


class TopologyDescriptionGlobalStore(Message):
    source: Annotated[TopologyDescriptionNode, struct(TopologyDescriptionNode)] = msgspec.field(default_factory=TopologyDescriptionNode)
    processor: Annotated[TopologyDescriptionNode, struct(TopologyDescriptionNode)] = msgspec.field(default_factory=TopologyDescriptionNode)


class TopologyDescription(Message):
    subtopologies: Annotated[list[TopologyDescriptionSubtopology], array(TopologyDescriptionSubtopology)] = []
    global_stores: Annotated[list[TopologyDescriptionGlobalStore], array(TopologyDescriptionGlobalStore)] = []


class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    group_id: Annotated[str, STRING] = ""
    member_id: Annotated[str, STRING] = ""
    topology_epoch: Annotated[int, INT32] = 0
    topology_description: Annotated[TopologyDescription, struct(TopologyDescription)] = msgspec.field(default_factory=TopologyDescription)


class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None


API = ApiDeclaration(
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
    "StreamsGroupTopologyDescriptionUpdate",
    Versions(0, 0),
    0,
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)
