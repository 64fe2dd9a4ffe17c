"""A client that breaks a rule, for tests of the messages about findings."""

from __future__ import annotations

from groupmock.rig.wire import Client
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment


def wrong(bootstrap: str, group: str = "billing") -> None:
    """Send a SyncGroup for a generation that the client never received, which breaks the rule CLIENT-05. Its name contains a terminal
    escape."""
    host, port = bootstrap.split(":")
    with Client(host, int(port), "wrong\x1b[31m-app") as client:
        join = JoinGroupRequest(
            group_id=group, session_timeout_ms=6000, rebalance_timeout_ms=6000, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=bytes(10))],
        )  # fmt: skip
        join.member_id = client.ask(11, 5, join).member_id
        member = client.ask(11, 5, join)
        assignments = [SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"")]
        sync = SyncGroupRequest(group_id=group, generation_id=7, member_id=member.member_id, assignments=assignments)
        assert client.ask(14, 3, sync).error_code == 22
