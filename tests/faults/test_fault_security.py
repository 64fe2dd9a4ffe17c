"""Faults of authentication and rights: each kind, each ready plan, and the replay of every run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from cases import for_each
from replayed import replayed
from rights import STANDARD
from sasl_client import LISTENER, PASSWORD, SaslClient, stable

from groupmock.faults.kind import for_secured
from groupmock.faults.plan import BadPlan, read_plan, ready_plans, rule_as_data
from groupmock.journal.file import FileSink
from groupmock.journal.rows import CloseRow, NoteRow
from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.making import EPOCH_MS
from groupmock.rig.wire import request
from groupmock.rig.wire_rig import WireRig
from groupmock.security.client_side import bearer_token, plain_token, unsecured_token
from groupmock_codec.error_codes import GROUP_AUTHORIZATION_FAILED, SASL_AUTHENTICATION_FAILED, TOPIC_AUTHORIZATION_FAILED
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic

PLANS: Final = [name for name in ready_plans() if for_secured(read_plan(name))]
WRONG: Final = "Authentication failed: Invalid username or password"


class House:
    """A cluster with SASL and an authorizer, whose journal is replayed at the end. Alice may do everything."""

    def __init__(self, path: Path, **settings: Any) -> None:
        self.path, self.rows = path, KeptRows()
        self.rig = WireRig.make(
            listeners={"PLAIN": "PLAINTEXT", LISTENER: "SASL_PLAINTEXT"}, users={"alice": PASSWORD}, topics={"orders": 2},
            settings={"authorizer.class.name": STANDARD, "group.initial.rebalance.delay.ms": 0, **settings},
            sinks=[FileSink(str(path), pytest.fail), self.rows],
        )  # fmt: skip
        for place in ({"group": "*"}, {"topic": "*"}, {"cluster": True}):
            self.rig.command("allow", principal="alice", operations=["ALL"], **place)

    def rule(self, when: dict[str, Any], do: str | dict[str, Any], **more: Any) -> None:
        asked = {"when": when, "do": {"kind": do} if isinstance(do, str) else do, **more}
        self.rig.command("add_faults", rules=[{"name": "r", **asked}])

    def plan(self, name: str) -> None:
        self.rig.command("add_faults", rules=[rule_as_data(each) for each in read_plan(name).rule])

    def fired(self, name: str = "r") -> int:
        return self.rig.driver.rules.registry.report(name).fired

    @property
    def reasons(self) -> list[str]:
        return [row.reason for row in self.rows.rows if isinstance(row, CloseRow) and row.by == "server"]


class Cook(ClassicMember):
    """Alice as a member of the group kitchen."""

    def __init__(self, house: House) -> None:
        super().__init__("kitchen")
        self.house = house
        self.client = SaslClient(house.rig)
        assert self.client.plain().error_code == 0

    def join(self) -> None:
        stable(self.house.rig, self.client.wire, self)

    def beat(self) -> int | None:
        """Send a heartbeat and return its error code, or None if the connection was closed."""
        answer = self.client.ask(12, 4, self.heartbeat_request())
        return None if answer is None else int(answer.error_code)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with replayed(House(tmp_path / "run.jsonl")) as made:
        yield made


@pytest.fixture
def short(tmp_path: Path) -> Iterator[House]:
    """Yield a cluster whose sessions live for 1.5 s."""
    with replayed(House(tmp_path / "run.jsonl", **{"connections.max.reauth.ms": 1500})) as made:
        yield made


def test_refused_client_is_told_what_a_wrong_password_is_told(house: House) -> None:
    house.rule({"api": "SaslHandshake", "nth": 2}, "fail_authentication")
    assert SaslClient(house.rig).plain().error_code == 0
    second = SaslClient(house.rig)
    second.handshake()
    answer = second.token(plain_token("alice", PASSWORD), late=True)
    assert (answer.error_code, answer.error_message, second.wire.closed) == (SASL_AUTHENTICATION_FAILED, WRONG, True)
    assert SaslClient(house.rig).plain().error_code == 0
    assert house.reasons == ['SASL authentication (PLAIN) failed: fault rule "r"']


@for_each("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_refused_client_of_scram_fails_on_its_second_token(house: House, mechanism: str) -> None:
    house.rule({"api": "SaslHandshake"}, "fail_authentication")
    with pytest.raises(AttributeError):  # The client finds no answer, because that comes after the pause.
        SaslClient(house.rig).scram(mechanism)
    house.rig.sleep(100)
    assert house.reasons[-1] == f'SASL authentication ({mechanism}) failed: fault rule "r"'
    house.rig.command("clear_faults")


def test_refused_bearer_token_is_challenged_first(house: House) -> None:
    house.rule({"api": "SaslHandshake"}, "fail_authentication")
    client = SaslClient(house.rig)
    client.handshake("OAUTHBEARER")
    challenge = client.token(bearer_token(unsecured_token("olga", EPOCH_MS / 1000 + 60)))
    assert (challenge.error_code, challenge.auth_bytes) == (0, b'{"status":"invalid_token"}')
    assert client.token(b"\1", late=True).error_code == SASL_AUTHENTICATION_FAILED and client.wire.closed


def test_refused_bare_token_closes_late(house: House) -> None:
    house.rule({"api": "SaslHandshake"}, "fail_authentication")
    client = SaslClient(house.rig)
    client.handshake(version=0)
    assert client.bare(plain_token("alice", PASSWORD)) == []
    house.rig.sleep(100)
    assert client.wire.closed


def test_wrong_password_fails_by_itself_under_a_rule(house: House) -> None:
    house.rule({"api": "SaslHandshake"}, "fail_authentication")
    client = SaslClient(house.rig)
    client.handshake()
    client.token(plain_token("alice", "no"), late=True)
    assert "user alice is unknown or has another password" in house.reasons[0]


def test_plain_listener_has_no_authentication_to_refuse(house: House) -> None:
    house.rule({"api": "SaslHandshake"}, "fail_authentication")
    house.rig.connect(listener="PLAIN").send(request(17, 1))
    report = house.rig.driver.rules.registry.report("r")
    assert report.near_miss is not None and report.near_miss.failed == ["listener is PLAIN, wanted one with SASL"]


@for_each("conditions, fired", [
    ({"principal": "User:alice"}, 1), ({"principal": "User:bob"}, 0), ({"listener": LISTENER}, 1), ({"listener": "PLAIN"}, 0),
    ({"authenticated": True}, 1), ({"authenticated": False}, 0),
])  # fmt: skip
def test_conditions_know_whose_connection_it_is(house: House, conditions: dict[str, Any], fired: int) -> None:
    client = SaslClient(house.rig)
    client.plain()
    house.rule({"api": "Metadata"} | conditions, "observe")
    assert client.serves and house.fired() == fired
    house.rig.command("clear_faults")


def test_ended_session_closes_without_an_answer_and_applies_nothing(house: House) -> None:
    client = SaslClient(house.rig)
    client.plain()
    house.rule({"api": "Metadata"}, "end_session", times=1)
    new = MetadataRequest(topics=[MetadataRequestTopic(name="made")], allow_auto_topic_creation=True)
    assert client.ask(3, 4, new) is None and client.wire.closed
    assert "made" not in house.rig.core.cluster.topics
    assert house.reasons == ['fault rule "r": the SASL session has ended']


def test_denied_right_comes_back_after_its_time(house: House) -> None:
    house.rule({"api": "Metadata"}, {"kind": "deny", "operation": "DESCRIBE", "on": "topic", "seconds": 2}, times=1)
    client = SaslClient(house.rig)
    client.plain()
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    codes = []
    for _ in range(3):
        codes.append(client.ask(3, 9, asked).topics[0].error_code)
        house.rig.sleep(1000)
    assert codes == [TOPIC_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, 0]


def test_denied_super_user_passes(tmp_path: Path) -> None:
    with replayed(House(tmp_path / "run.jsonl", **{"super.users": "User:alice"})) as house:
        house.rule({"api": "Metadata"}, {"kind": "deny", "on": "topic"})
        client = SaslClient(house.rig)
        client.plain()
        assert client.ask(3, 9, MetadataRequest(topics=[MetadataRequestTopic(name="orders")])).topics[0].error_code == 0


@for_each("do, why", [
    ({"kind": "fail_authentication"}, "no listener has SASL"), ({"kind": "end_session"}, "no listener has SASL"),
    ({"kind": "show_certificate", "certificate": "expired"}, "no listener has TLS"), ({"kind": "deny"}, "no authorizer"),
])  # fmt: skip
def test_cluster_that_lacks_what_a_fault_needs_refuses_it(do: dict[str, Any], why: str) -> None:
    when = {} if do["kind"] == "show_certificate" else {"api": "SaslHandshake" if do["kind"] == "fail_authentication" else "Heartbeat"}
    with pytest.raises(BadPlan, match=f"{do['kind']} cannot strike here: .*{why}"):
        WireRig.make().command("add_faults", rules=[{"when": when, "do": do}])


@for_each("api, kind, why", [
    ("Heartbeat", "fail_authentication", "it begins no authentication: say api = 'SaslHandshake'"),
    ("SaslHandshake", "end_session", "it begins a session"), ("Metadata", "deny", "it names no group"),
])  # fmt: skip
def test_request_that_cannot_have_the_fault_is_refused(house: House, api: str, kind: str, why: str) -> None:
    with pytest.raises(BadPlan, match=why):
        house.rule({"api": api}, kind)


def test_there_is_a_test_for_every_ready_plan_about_security() -> None:
    """The plans about certificates are played in tests/unit/security/test_tls.py."""
    others = {"authentication-fails", "reauthentication-refused", "right-withdrawn", "session-expires"}
    assert set(PLANS) - others == {"certificate-expired", "certificate-unknown-authority", "certificate-wrong-host"}


def test_plan_authentication_fails(house: House) -> None:
    house.plan("authentication-fails")
    outcomes = []
    for _ in range(3):
        client = SaslClient(house.rig)
        client.plain()
        house.rig.sleep(100)
        outcomes.append(client.wire.closed)
    assert outcomes == [False, True, False]


def test_plan_session_expires_leaves_the_member_in_its_group(house: House) -> None:
    house.plan("session-expires")
    cook = Cook(house)
    cook.join()
    assert [cook.beat() for _ in range(3)] == [0, 0, None] and cook.client.wire.closed
    cook.client = SaslClient(house.rig)
    cook.client.handshake()
    assert cook.client.token(plain_token("alice", PASSWORD), late=True).error_code == SASL_AUTHENTICATION_FAILED
    cook.client = SaslClient(house.rig)
    assert (cook.client.plain().error_code, cook.beat(), cook.generation) == (0, 0, 1)


def test_plan_reauthentication_refused(short: House) -> None:
    short.plan("reauthentication-refused")
    cook = Cook(short)
    cook.join()
    cook.client.handshake()
    answer = cook.client.token(plain_token("alice", PASSWORD), late=True)
    assert (answer.error_code, answer.error_message, cook.client.wire.closed) == (SASL_AUTHENTICATION_FAILED, WRONG, True)
    cook.client = SaslClient(short.rig)
    assert (cook.client.plain().error_code, cook.client.plain().error_code, cook.beat()) == (0, 0, 0)


def test_reauthentication_that_comes_too_early_uses_up_no_refusal(short: House) -> None:
    client = SaslClient(short.rig)
    client.plain()
    client.plain()
    short.rule({"api": "SaslHandshake"}, "fail_authentication", times=1)
    assert client.handshake().error_code == 34
    short.rig.sleep(1000)
    assert client.plain().error_code == 0


def test_plan_right_withdrawn_takes_the_right_for_two_seconds(house: House) -> None:
    house.plan("right-withdrawn")
    cook = Cook(house)
    cook.join()
    codes = []
    for _ in range(6):
        codes.append(cook.beat())
        house.rig.sleep(800)
    assert codes == [0, 0, *[GROUP_AUTHORIZATION_FAILED] * 3, 0]
    denied = [row.fields for row in house.rows.rows if isinstance(row, NoteRow) and row.what == "not_authorized"]
    assert {(each["principal"], each["operation"], each["resource"]) for each in denied} == {("User:alice", "READ", "kitchen")}
