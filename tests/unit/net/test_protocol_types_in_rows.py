"""The recorder recognizes the embedded protocol of a SyncGroup below version 5 by the existing group and not by the request."""

from __future__ import annotations

from groupmock.journal.rows import RequestRow
from groupmock.rig import WireRig
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import read_response, request
from groupmock.rig.wire_rig import Wire
from groupmock_codec.api_keys import JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from groupmock_codec.embedded.consumer import Assignment, TopicPartitions, encode_assignment
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest

ASSIGNMENT = Assignment(version=0, assigned_partitions=[TopicPartitions(topic="orders", partitions=[1])])
REFUSED = 26


def last_sync(kept: KeptRows) -> RequestRow:
    return next(row for row in reversed(kept.rows) if isinstance(row, RequestRow) and row.api_key == SYNC_GROUP)


def joining(group: str, protocol_type: str = "consumer", session_ms: int = 10_000) -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=bytes(6))]
    return JoinGroupRequest(
        group_id=group, session_timeout_ms=session_ms, rebalance_timeout_ms=10_000, protocol_type=protocol_type, protocols=protocols
    )


def joined(rig: WireRig, wire: Wire, group: str) -> JoinGroupResponse:
    wire.send(request(JOIN_GROUP, 3, joining(group), 1))
    rig.sleep(1)  # An initial rebalance delay of 0 ms ends with the next timer.
    answer = read_response(JOIN_GROUP, 3, wire.take()[0], 1)[1]
    assert isinstance(answer, JoinGroupResponse) and answer.error_code == 0
    return answer


def test_a_group_that_was_never_made_is_not_kept() -> None:
    kept = KeptRows(details=True)
    rig = WireRig.make(settings={"group.initial.rebalance.delay.ms": 0}, sinks=[kept])
    wire = rig.connect()
    for number in range(100):
        assert wire.ask(JOIN_GROUP, 3, joining(f"refused-{number}", session_ms=1)).error_code == REFUSED
    assert rig.driver.record._protocol_types == {}


def test_what_is_kept_goes_with_the_group() -> None:
    rig = WireRig.make(settings={"group.initial.rebalance.delay.ms": 0}, sinks=[KeptRows(details=True)])
    wire = rig.connect()
    answer = joined(rig, wire, "g")
    assert rig.driver.record._protocol_types == {"g": "consumer"}
    wire.ask(LEAVE_GROUP, 0, LeaveGroupRequest(group_id="g", member_id=answer.member_id))
    wire.ask(42, 0, DeleteGroupsRequest(groups_names=["g"]))
    assert rig.driver.record._protocol_types == {}


def test_a_refused_member_of_another_type_does_not_change_how_a_group_is_read() -> None:
    kept = KeptRows(details=True)
    rig = WireRig.make(settings={"group.initial.rebalance.delay.ms": 0}, sinks=[kept])
    wire = rig.connect()
    answer = joined(rig, wire, "g")
    # JoinGroup gets INCONSISTENT_GROUP_PROTOCOL (23), because the protocol type differs.
    assert wire.ask(JOIN_GROUP, 3, joining("g", "connect")).error_code == 23
    given = SyncGroupRequestAssignment(member_id=answer.member_id, assignment=encode_assignment(ASSIGNMENT))
    asked = SyncGroupRequest(group_id="g", generation_id=1, member_id=answer.member_id, assignments=[given])
    assert wire.ask(SYNC_GROUP, 3, asked).error_code == 0
    assert last_sync(kept).embedded == {"assignments[0].assignment": ASSIGNMENT}
