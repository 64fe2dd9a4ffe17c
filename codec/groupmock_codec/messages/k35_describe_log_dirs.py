"""DescribeLogDirs (key 35) has versions 0-5, flexible from 2.

v0 new (KIP-113). v2 flexible (KIP-482). v3 an error for all of it. v4 sizes of the volumes (KIP-827). v5 cordoned directories (KIP-1066).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_LOG_DIRS
from ..declare import BOOLEAN, IGNORABLE, INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class DescribableLogDirTopic(Message):
    topic: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class DescribeLogDirsRequest(Message):
    """Null `topics` ask for every partition that the node has."""

    topics: Annotated[list[DescribableLogDirTopic] | None, array(DescribableLogDirTopic), nullable()] = []


class DescribeLogDirsPartition(Message):
    partition_index: Annotated[int, INT32] = 0
    partition_size: Annotated[int, INT64] = 0
    offset_lag: Annotated[int, INT64] = 0
    is_future_key: Annotated[bool, BOOLEAN] = False


class DescribeLogDirsTopic(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[DescribeLogDirsPartition], array(DescribeLogDirsPartition)] = []


class DescribeLogDirsResult(Message):
    error_code: Annotated[int, INT16] = 0
    log_dir: Annotated[str, STRING] = ""
    topics: Annotated[list[DescribeLogDirsTopic], array(DescribeLogDirsTopic)] = []
    total_bytes: Annotated[int, INT64, since(4), IGNORABLE] = -1
    usable_bytes: Annotated[int, INT64, since(4), IGNORABLE] = -1
    is_cordoned: Annotated[bool, BOOLEAN, since(5), IGNORABLE] = False


class DescribeLogDirsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16, since(3), IGNORABLE] = 0
    results: Annotated[list[DescribeLogDirsResult], array(DescribeLogDirsResult)] = []


API = ApiDeclaration(DESCRIBE_LOG_DIRS, "DescribeLogDirs", Versions(0, 5), 2, DescribeLogDirsRequest, DescribeLogDirsResponse)
