"""The story mentions clients that were never served, one line with a remedy for each kind of failure."""

from __future__ import annotations

import struct

import pytest
from kitchen_of_two import TwoMembers

from groupmock.journal.rows import NO_ACLS, NO_SASL, TLS_HELLO, UNSERVED
from groupmock.rig import WireRig
from groupmock.rig.kept_rows import KeptRows
from groupmock.story.causes import LIKELY
from groupmock.story.telling import obstacles, tell
from groupmock_codec.api_keys import API_VERSIONS, DESCRIBE_ACLS, FIND_COORDINATOR, METADATA, SASL_HANDSHAKE, STREAMS_GROUP_HEARTBEAT
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k17_sasl_handshake import SaslHandshakeRequest
from groupmock_codec.messages.k29_describe_acls import DescribeAclsRequest

ADVERTISE = "if it cannot reach that address, advertise another one (`Broker(advertise=...)`, `groupmock serve --advertise`)"


class Cluster:
    """A cluster without sockets on a virtual clock that keeps its rows."""

    def __init__(self, profile: str | None = None) -> None:
        self.kept = KeptRows()
        self.rig = WireRig.make(topics={"orders": 1}, sinks=[self.kept], profile=profile)

    def story(self) -> list[str]:
        return list(tell(self.kept.rows))

    def obstacles(self) -> list[str]:
        """Return the obstacles that a wait for an empty group reports."""
        return obstacles(self.kept.rows, "kitchen", now=self.rig.clock.now(), sessions={}, dropped=0)


def test_tls_connections_are_one_line_with_the_remedy() -> None:
    cluster = Cluster()
    for _ in range(3):
        cluster.rig.connect().send(b"\x16\x03\x01\x02\x00\x01")
        cluster.rig.sleep(500)
    told = f"3 connections from 127.0.0.1, until 1.000 closed: {TLS_HELLO}"
    likely = f"{LIKELY}a client from 127.0.0.1 spoke TLS at 0.000 to listener PLAINTEXT, which has none. "
    likely += "Set security.protocol to PLAINTEXT, or SASL_PLAINTEXT with SASL"
    assert cluster.story() == ["clients that were not served:", f"  {likely}", f"    0.000  {told}"]
    assert cluster.obstacles() == [likely, told]


def test_a_client_that_asks_for_sasl_is_told_with_the_remedy() -> None:
    cluster = Cluster()
    cluster.rig.connect().ask(SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism="PLAIN"), client_id="anna")
    assert cluster.obstacles() == [f"client anna asked for SASL (PLAIN), REFUSED: {NO_SASL}"]


def look_up(cluster: Cluster, client_id: str = "anna") -> None:
    """Send the requests of a consumer before it connects to its coordinator."""
    wire = cluster.rig.connect()
    wire.ask(METADATA, 9, MetadataRequest(topics=[]), client_id=client_id)
    wire.ask(FIND_COORDINATOR, 2, FindCoordinatorRequest(key="kitchen"), client_id=client_id)
    wire.hang_up()


def test_a_client_that_never_comes_to_the_advertised_address_is_told_with_the_remedy() -> None:
    cluster = Cluster()
    for _ in range(2):
        look_up(cluster)
        cluster.rig.sleep(1000)
    node = cluster.rig.core.environment.identity.nodes[0]
    looked = "client anna looked up the brokers 2 times, the coordinator of group kitchen 2 times, until 1.000"
    likely = f"Likely: client anna cannot reach {node.host}:{node.port}, which it was told until 1.000: it asked nothing else"
    assert cluster.obstacles() == [
        f"{likely}. Advertise an address that it can reach",
        f"{looked}, was told {node.host}:{node.port}, and asked nothing else: {ADVERTISE}",
    ]


def test_what_a_client_asked_before_the_oldest_row_is_not_guessed() -> None:
    cluster = Cluster()
    look_up(cluster)
    assert obstacles(cluster.kept.rows, "kitchen", now=0, sessions={}, dropped=1) == []


def test_a_lookup_that_is_refused_says_so_instead_of_the_remedy() -> None:
    cluster = Cluster()
    topics = [MetadataRequestTopic(name="bills")]
    cluster.rig.connect().ask(METADATA, 9, MetadataRequest(topics=topics, allow_auto_topic_creation=False), client_id="anna")
    refused = "REFUSED: Metadata UNKNOWN_TOPIC_OR_PARTITION"
    assert cluster.obstacles() == [
        "Likely: client anna asks for topic bills, which does not exist (Metadata until 0.000)",
        f"client anna looked up the brokers 1 time, {refused}, and asked nothing else",
    ]


def test_a_client_newer_than_its_broker_is_not_said_to_be_refused() -> None:
    """Java's 4.4 asks for ApiVersions 5 first, and falls back to the version that an older broker names (KIP-511)."""
    cluster = Cluster()
    wire = cluster.rig.connect()
    body = struct.pack(">hhih4sB", API_VERSIONS, 99, 1, 4, b"anna", 0)
    wire.send(struct.pack(">i", len(body)) + body)
    wire.hang_up()
    cluster.rig.connect().ask(METADATA, 9, MetadataRequest(topics=[]), client_id="anna")
    (line,) = cluster.obstacles()
    assert "REFUSED" not in line and line.endswith(ADVERTISE)


def test_a_rule_that_refuses_connections_is_named() -> None:
    cluster = Cluster()
    cluster.rig.command("add_faults", rules=[{"name": "closed", "do": {"kind": "refuse"}}], origin="the test")
    cluster.rig.connect()
    assert cluster.story()[1:] == ['    0.000  1 connection from 127.0.0.1 closed: fault rule "closed"']


def test_what_groupmock_does_not_have_is_told_although_the_client_was_answered_before() -> None:
    cluster = Cluster("kafka-3.9")
    wire = cluster.rig.connect()
    wire.ask(METADATA, 9, MetadataRequest(topics=[]), client_id="anna")
    wire.ask(DESCRIBE_ACLS, 1, DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1), client_id="anna")
    wire.send(bytes((0, 0, 0, 8, 0, STREAMS_GROUP_HEARTBEAT, 0, 1, 0, 0, 0, 1)))
    assert cluster.obstacles() == [
        f"DescribeAcls (SECURITY_DISABLED) REFUSED: {NO_ACLS}",
        f"1 connection from 127.0.0.1 closed: {UNSERVED[STREAMS_GROUP_HEARTBEAT]}",
    ]


def test_clients_that_were_served_are_left_out() -> None:
    stage = TwoMembers()
    stage.anna.look_up()
    assert obstacles(stage.ring.rows, "kitchen", now=0, sessions={}, dropped=0) == []
    assert "not served" not in "\n".join(tell(stage.ring.rows))


@pytest.mark.parametrize(("dropped", "found"), [(0, ["no client has connected"]), (1, [])])
def test_it_is_told_that_no_client_came(dropped: int, found: list[str]) -> None:
    assert obstacles([], "kitchen", now=0, sessions={}, dropped=dropped) == found
    assert list(tell([], dropped=dropped))[:1] == (found or ["(1 older rows are no longer kept)"])
