"""DescribeConfigs (32) as Kafka 2.8 has it: what is wrong with a topic's name is said in the words of its Topic.validate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..apis.k32_describe_configs import describe
from ..log import names

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer as later releases do, but for that text."""
    describe(cluster, request, turn, names.why_illegal)
