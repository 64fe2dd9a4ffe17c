"""The story says the likely cause why TLS, SASL or the authorizer let a client not in, and nothing of healthy clients."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cases import for_each
from rights import STANDARD
from sasl_client import LISTENER, PASSWORD, SaslClient, rig, stable
from tls_client import Authority, House, TlsWire, trusting

from groupmock.faults.plan import read_plan, rule_as_data
from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.making import EPOCH_MS
from groupmock.rig.wire import request
from groupmock.rig.wire_rig import WireRig
from groupmock.security.client_side import bearer_token, plain_token, unsecured_token
from groupmock.story.causes import LIKELY
from groupmock.story.telling import obstacles, tell
from groupmock.timeline.drawing import Drawing
from groupmock.timeline.scene import scene_of

TLS_HELLO = bytes.fromhex("1603010200010001fc0303")


def likely(rows: Iterable[Any]) -> list[str]:
    """Return the likely causes in the story of the rows, without the word that begins each line."""
    return [line.strip().removeprefix(LIKELY) for line in tell(rows) if line.strip().startswith(LIKELY)]


def secured(**settings: Any) -> tuple[WireRig, KeptRows]:
    made, rows = rig(**settings), KeptRows()
    made.journal.add(rows)
    return made, rows


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


def test_wrong_password_is_told_with_the_user() -> None:
    on, rows = secured()
    SaslClient(on).plain("alice", "wrong")
    on.sleep(100)
    (told,) = likely(rows.rows)
    assert told.startswith("client rig has a wrong user name or password at 0.100: user alice is unknown or has another password. Give it")
    found = obstacles(rows.rows, "kitchen", now=on.clock.now(), sessions={}, dropped=0)
    assert any(line.startswith(f"{LIKELY}client rig has a wrong user name") for line in found)


@for_each("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@for_each("user", ["alice", "nobody"])
def test_wrong_password_of_scram_is_told(mechanism: str, user: str) -> None:
    on, rows = secured()
    with pytest.raises(AttributeError):  # The client finds no answer, because that comes after the pause.
        SaslClient(on).scram(mechanism, user, "wrong")
    on.sleep(100)
    (told,) = likely(rows.rows)
    assert told.startswith(f"client rig has a wrong user name or password at 0.100: user {user}")


def test_mechanism_that_is_not_enabled_is_told_with_those_that_are() -> None:
    on, rows = secured(**{"sasl.enabled.mechanisms": "PLAIN"})
    SaslClient(on).handshake("SCRAM-SHA-512", late=True)
    told = "client rig asked at 0.100 for SASL mechanism 'SCRAM-SHA-512', which is not enabled. Set sasl.mechanism to one of PLAIN"
    assert likely(rows.rows) == [told]


def test_expired_token_is_told() -> None:
    on, rows = secured()
    client = SaslClient(on)
    client.handshake("OAUTHBEARER")
    client.token(bearer_token(unsecured_token("olga", EPOCH_MS / 1000 - 3)))
    client.token(b"\1", late=True)
    assert likely(rows.rows) == ["client rig sent a token that is not valid at 0.100: it ended 3.0 s ago (exp). Let it get a new one"]


def test_session_that_has_ended_is_told_until_the_client_is_back() -> None:
    on, rows = secured(**{"connections.max.reauth.ms": 1500})
    client = SaslClient(on)
    client.plain()
    on.sleep(2000)
    assert not client.serves
    (told,) = likely(rows.rows)
    assert told.startswith("client rig sent a request after its SASL session had ended at 2.000. Let it authenticate itself again")
    SaslClient(on).plain()
    assert likely(rows.rows) == []


def test_client_without_sasl_is_told() -> None:
    on, rows = secured()
    assert not SaslClient(on).serves
    (told,) = likely(rows.rows)
    assert told.startswith(f"a client from 127.0.0.1 did not authenticate itself on listener {LISTENER} at 0.000. Set security.protocol")


def test_tls_client_on_a_plain_listener_is_told() -> None:
    on, rows = secured()
    on.connect(listener="PLAIN").send(TLS_HELLO)
    (told,) = likely(rows.rows)
    assert told.startswith("a client from 127.0.0.1 spoke TLS at 0.000 to listener PLAIN, which has none. Set security.prot")


def test_plain_client_on_a_tls_listener_is_told(authority: Authority) -> None:
    house = House(authority)
    TlsWire(house, None).protocol.data_received(request(18, 3))
    (told,) = likely(house.rows.rows)
    assert told.startswith("a client from 127.0.0.1 sent plain bytes at 0.000 to listener OUTSIDE, which has TLS. Set security")


def test_certificate_that_is_not_trusted_is_told(authority: Authority, tmp_path: Path) -> None:
    house = House(authority)
    TlsWire(house, trusting(Authority(tmp_path))).shake()
    (told,) = likely(house.rows.rows)
    assert told.startswith("a client from 127.0.0.1 does not trust the certificate of listener OUTSIDE at 0.000. Give it the auth")


def test_trouble_that_a_fault_rule_makes_is_no_likely_cause(authority: Authority) -> None:
    house = House(authority)
    house.rig.command("add_faults", rules=[{"stage": "connect", "do": {"kind": "show_certificate", "certificate": "unknown_authority"}}])
    assert TlsWire(house, trusting(authority)).shake() is not None
    on, rows = secured()
    on.command("add_faults", rules=[{"when": {"api": "SaslHandshake"}, "do": {"kind": "fail_authentication"}}])
    SaslClient(on).plain()
    on.sleep(100)
    assert likely(house.rows.rows) == likely(rows.rows) == []


def test_client_that_was_let_in_later_has_no_cause(authority: Authority) -> None:
    on, rows = secured()
    SaslClient(on).plain("alice", "wrong")
    on.sleep(100)
    assert SaslClient(on).plain().error_code == 0
    house = House(authority)
    assert TlsWire(house, trusting(authority)).shake() is None
    assert likely(rows.rows) == likely(house.rows.rows) == []


class Group:
    """A group of one member, whose client lacks a right from some moment on."""

    def __init__(self) -> None:
        self.rows = KeptRows()
        settings = {"authorizer.class.name": STANDARD, "group.initial.rebalance.delay.ms": 0, "super.users": "User:admin"}
        self.rig = WireRig.make(settings=settings, topics={"orders": 1}, sinks=[self.rows])
        for place in ({"group": "kitchen"}, {"topic": "orders"}):
            self.rig.command("allow", principal="*", operations=["ALL"], **place)
        self.member, self.wire = ClassicMember("kitchen"), self.rig.connect()
        stable(self.rig, self.wire, self.member, "anna")

    def beat(self) -> int:
        return int(self.wire.ask(12, 4, self.member.heartbeat_request(), "anna").error_code)

    def commit(self) -> int:
        answer = self.wire.ask(8, 7, self.member.commit_request({("orders", 0): 1}), "anna")
        return int(answer.topics[0].partitions[0].error_code)


def test_right_to_the_group_that_a_member_lacks_is_told_until_it_has_it() -> None:
    group = Group()
    group.rig.command("deny", principal="ANONYMOUS", operations=["READ"], group="kitchen")
    assert group.beat() == 30
    (told,) = likely(group.rows.rows)
    assert " lacks a right: READ on group kitchen denied to User:ANONYMOUS (Heartbeat at 0.000). Allow it (`Broker.allow`, `" in told
    group.rig.command("remove_acls", permission="DENY")
    assert likely(group.rows.rows) == []


def test_right_to_the_topic_that_a_member_lacks_is_told() -> None:
    group = Group()
    group.rig.command("remove_acls", topic="orders")
    assert group.commit() == 29
    (told,) = likely(group.rows.rows)
    assert "lacks a right: READ on topic orders denied to User:ANONYMOUS (OffsetCommit at 0.000)" in told
    assert any("lacks a right" in line for line in obstacles(group.rows.rows, "kitchen", now=0, sessions={}, dropped=0))


def test_right_that_is_given_back_in_time_is_no_cause() -> None:
    group = Group()
    group.rig.command("add_faults", rules=[rule_as_data(each) for each in read_plan("right-withdrawn").rule])
    assert [group.beat() for _ in range(4)] == [0, 0, 30, 30]
    assert len(likely(group.rows.rows)) == 1
    group.rig.sleep(2000)
    assert likely(group.rows.rows) == []


def test_timeline_says_who_was_not_let_in_and_who_lacks_a_right() -> None:
    group = Group()
    group.rig.connect().send(TLS_HELLO)
    group.rig.command("deny", principal="ANONYMOUS", operations=["READ"], group="kitchen")
    group.beat()
    drawing = Drawing()
    (tls, right) = drawing.add("run.jsonl", group.rows.rows).notices
    assert tls.startswith("a client from 127.0.0.1 spoke TLS at 0.000 to listener PLAINTEXT, which has none. Set security.protocol")
    assert right.startswith("client anna lacks a right at 0.000: READ on group kitchen denied to User:ANONYMOUS. Allow it")
    assert scene_of(drawing.timeline()).sources[0].notices == [tls, right]


def test_timeline_of_a_healthy_run_has_no_such_sentence() -> None:
    group = Group()
    assert (group.beat(), group.commit()) == (0, 0)
    assert Drawing().add("run.jsonl", group.rows.rows).notices == []


def test_password_is_in_no_likely_cause() -> None:
    on, rows = secured()
    client = SaslClient(on)
    client.handshake()
    client.token(plain_token("alice", "xyzzy"), late=True)
    assert PASSWORD not in str(likely(rows.rows)) and "xyzzy" not in str(likely(rows.rows))
