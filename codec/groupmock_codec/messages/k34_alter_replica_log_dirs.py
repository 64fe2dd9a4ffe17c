"""AlterReplicaLogDirs (key 34) has versions 0-2, flexible from 2.

v0 new (KIP-113). v2 flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import ALTER_REPLICA_LOG_DIRS
from ..declare import INT16, INT32, STRING, ApiDeclaration, Message, Versions, array


class AlterReplicaLogDirTopic(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class AlterReplicaLogDir(Message):
    path: Annotated[str, STRING] = ""
    topics: Annotated[list[AlterReplicaLogDirTopic], array(AlterReplicaLogDirTopic)] = []


class AlterReplicaLogDirsRequest(Message):
    dirs: Annotated[list[AlterReplicaLogDir], array(AlterReplicaLogDir)] = []


class AlterReplicaLogDirPartitionResult(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0


class AlterReplicaLogDirTopicResult(Message):
    topic_name: Annotated[str, STRING] = ""
    partitions: Annotated[list[AlterReplicaLogDirPartitionResult], array(AlterReplicaLogDirPartitionResult)] = []


class AlterReplicaLogDirsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    results: Annotated[list[AlterReplicaLogDirTopicResult], array(AlterReplicaLogDirTopicResult)] = []


API = ApiDeclaration(
    ALTER_REPLICA_LOG_DIRS, "AlterReplicaLogDirs", Versions(0, 2), 2, AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
)
