"""Lets a large streams group live, and reports the longest pause of the server's event loop in each phase.

    python -m benchmarks.workers.streams_crowd HOST PORT PID TOPIC TASKS MEMBERS SESSION_MS

Every member has an endpoint, and every task has a standby task. The members join at once and settle, a tenth of them leaves and joins
again, the group is described, all sessions end, and all connections close. The JSON line has the longest pause (ms) of each phase.
"""

from __future__ import annotations

import json
import sys
import time

from groupmock.rig.wire import Client
from groupmock_codec.group_states import EMPTY, STABLE
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k89_streams_group_describe import StreamsGroupDescribeRequest

from ..phases import Watch
from ..streams_group import StreamsGroup

GROUP = "bench"
PATIENCE_S = 60.0
DESCRIBED = 10
"""The group is described so many times."""


def expire(client: Client, session_ms: int) -> None:
    """Wait until the group is empty, without a description, which would be a pause itself."""
    until = time.monotonic() + session_ms / 1000 + PATIENCE_S
    while not client.ask(16, 5, ListGroupsRequest(states_filter=[EMPTY])).groups:
        assert time.monotonic() < until, "the sessions have not ended"
        time.sleep(0.2)


def main() -> None:
    host, port, pid, topic, *numbers = sys.argv[1:]
    endpoint, server, (tasks, members, session_ms) = (host, int(port)), int(pid), map(int, numbers)
    watch = Watch(endpoint, server)
    group = StreamsGroup(endpoint, GROUP, topic, members)
    client = Client(*endpoint)
    with watch.phase("joined"):
        group.settle(tasks, PATIENCE_S)
    with watch.phase("bounced"):
        group.bounce(members // 10)
        group.settle(tasks, PATIENCE_S)
    with watch.phase("described"):
        for _ in range(DESCRIBED):
            (described,) = client.ask(89, 1, StreamsGroupDescribeRequest(group_ids=[GROUP])).groups
            assert (len(described.members), described.group_state) == (members, STABLE), described.group_state
    with watch.phase("silent"):
        expire(client, session_ms)
    with watch.phase("closed"):
        group.close()
    print(json.dumps(watch.pauses))


if __name__ == "__main__":
    main()
