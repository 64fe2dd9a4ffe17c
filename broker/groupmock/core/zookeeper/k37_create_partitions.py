"""CreatePartitions (37) as Kafka 2.8 has it: by the controller's node, in words of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopicResult

from ..apis.k37_create_partitions import grown
from ..effects import Reply

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Grow each topic or say why not. Without time to wait the answer is 7, and the topic grows all the same."""
    asked = request.message
    assert isinstance(asked, CreatePartitionsRequest)
    place = len(turn.out)  # what follows from new partitions comes after the answer
    if turn.quirks.controller_only and request.node != cluster.topics.controller():
        results = [CreatePartitionsTopicResult(name=topic.name, error_code=ErrorCode.NOT_CONTROLLER) for topic in asked.topics]
    else:
        results = grown(cluster, asked, turn, "Duplicate topic in request.", _absent)
        # The 7 is only about waiting: docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
        if asked.timeout_ms <= 0 and not asked.validate_only:
            for result in results:  # nobody waited for what was done
                result.error_code = result.error_code or ErrorCode.REQUEST_TIMED_OUT
    turn.out.insert(place, Reply(request.ticket, CreatePartitionsResponse(results=results)))


def _absent(name: str) -> str:
    return f"The topic '{name}' does not exist."
