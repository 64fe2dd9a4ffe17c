"""Journal rows show the messages of cooperative assignors decoded, recognized by the protocol name or else by their bytes."""

from __future__ import annotations

import pytest

from groupmock.net.codecs import ApiCodec
from groupmock.net.details import details_of
from groupmock_codec.embedded import consumer, designs
from groupmock_codec.embedded.consumer import TopicPartitions
from groupmock_codec.embedded.designs import AssignorData, DesignAssignment, DesignSubscription
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse, JoinGroupResponseMember
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

HELD, GONE = [TopicPartitions("T", [0])], [TopicPartitions("T", [3])]
DATA = AssignorData(HELD, 7)
LITERAL = DesignSubscription(1, ["T"], designs.encode_assignor_data(DATA), HELD)
NESTED = DesignSubscription(2, ["T"], (7).to_bytes(4), HELD)
GIVEN_I = DesignAssignment(1, HELD, GONE)
GIVEN_II = DesignAssignment(2, [], [], 5000)
CARRIED = designs.carry_assignment(GIVEN_II, HELD)


def shown(key: int, message: object) -> dict[str, object]:
    embedded = details_of(ApiCodec(key, 5), message, True, "consumer").embedded
    assert embedded is not None
    return embedded


@pytest.mark.parametrize("answered", [False, True], ids=["request", "response"])
def test_joins_show_what_the_member_holds_and_its_nonce(answered: bool) -> None:
    one, two = designs.encode_subscription(LITERAL), designs.carry_subscription(NESTED)
    if answered:
        first = shown(11, JoinGroupResponse(protocol_name="coop-d1", members=[JoinGroupResponseMember(member_id="a", metadata=one)]))
        second = shown(11, JoinGroupResponse(protocol_name="coop-d2", members=[JoinGroupResponseMember(member_id="a", metadata=two)]))
        path = "members[0].metadata"
    else:
        first = shown(11, JoinGroupRequest(protocols=[JoinGroupRequestProtocol(name="coop-d1", metadata=one)]))
        second = shown(11, JoinGroupRequest(protocols=[JoinGroupRequestProtocol(name="coop-d2", metadata=two)]))
        path = "protocols[0].metadata"
    assert first == {path: consumer.read_subscription(one), f"{path}.partition_assignor_data": DATA}
    assert second == {
        path: consumer.read_subscription(two),
        f"{path}.user_data": NESTED,
        f"{path}.partition_assignor_data": AssignorData([], 7),
    }


@pytest.mark.parametrize("named", [True, False], ids=["with a name", "without"])
def test_syncs_show_revocations_and_timeouts(named: bool) -> None:
    """SyncGroup below version 5, which aiokafka uses, has no protocol name."""
    one, two = ("coop-d1", "coop-d2") if named else (None, None)
    literal = SyncGroupRequest(protocol_name=one, assignments=[SyncGroupRequestAssignment("a", designs.encode_assignment(GIVEN_I))])
    assert shown(14, literal) == {"assignments[0].assignment": GIVEN_I}
    nested = SyncGroupResponse(protocol_name=two, assignment=CARRIED)
    assert shown(14, nested) == {"assignment": consumer.read_assignment(CARRIED), "assignment.user_data": GIVEN_II}


def test_what_stock_bytes_say_as_well_needs_the_name() -> None:
    quiet = DesignAssignment(1, HELD, [])
    data = designs.encode_assignment(quiet)
    assert shown(14, SyncGroupResponse(protocol_name="coop-d1", assignment=data)) == {"assignment": quiet}
    assert shown(14, SyncGroupResponse(assignment=data)) == {"assignment": consumer.Assignment(1, HELD, b"")}


def test_a_literal_design_ii_is_known_by_its_name() -> None:
    """None of the cooperative assignors sends this metadata, but another client may."""
    timed = DesignAssignment(2, HELD, [], 5000)
    answer = SyncGroupResponse(protocol_name="coop-d2-literal", assignment=designs.encode_assignment(timed))
    assert shown(14, answer) == {"assignment": timed}


def test_another_protocols_user_data_is_left_alone() -> None:
    assert shown(14, SyncGroupResponse(protocol_name="range", assignment=CARRIED)) == {"assignment": consumer.read_assignment(CARRIED)}
    join = JoinGroupRequest(protocols=[JoinGroupRequestProtocol(name="sticky", metadata=designs.encode_subscription(LITERAL))])
    assert list(shown(11, join)) == ["protocols[0].metadata"]


@pytest.mark.parametrize("name", [None, "coop-d1", "coop-d2", "range"])
def test_broken_bytes_under_any_name_do_not_hurt(name: str | None) -> None:
    for data in (b"\xff" * 9, b"\0", b"\0\1", CARRIED[:-3], designs.encode_assignment(GIVEN_I)[:-1]):
        details_of(ApiCodec(14, 5), SyncGroupResponse(protocol_name=name, assignment=data), True, "consumer")
        details_of(
            ApiCodec(11, 5), JoinGroupResponse(protocol_name=name, members=[JoinGroupResponseMember("a", None, data)]), True, "consumer"
        )
