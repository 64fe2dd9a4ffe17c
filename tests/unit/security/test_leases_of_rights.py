"""The driver repeats the answers of heartbeats (`net.repeat`) no longer than a right, a credential and a session last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cases import for_each
from rights import STANDARD
from sasl_client import LISTENER, PASSWORD, SaslClient, stable

from groupmock.rig.classic_member import ClassicMember
from groupmock.rig.consumer_member import ConsumerMember
from groupmock.rig.wire_rig import WireRig
from groupmock.security.client_side import plain_token
from groupmock_codec.error_codes import GROUP_AUTHORIZATION_FAILED, SASL_AUTHENTICATION_FAILED
from groupmock_codec.messages.k30_create_acls import AclCreation, CreateAclsRequest

KINDS: Final = ("classic", "consumer")


class Settled:
    """A member whose heartbeats are repeated, on a cluster whose sessions of SASL live for `reauth_ms` (0: for ever)."""

    def __init__(self, kind: str, reauth_ms: int = 0) -> None:
        settings = {
            "authorizer.class.name": STANDARD, "super.users": "User:bob", "group.initial.rebalance.delay.ms": 0,
            "connections.max.reauth.ms": reauth_ms,
        }  # fmt: skip
        users = {"alice": PASSWORD, "bob": PASSWORD}
        self.rig = WireRig.make(listeners={LISTENER: "SASL_PLAINTEXT"}, users=users, topics={"orders": 2}, settings=settings)
        for place in ({"group": "kitchen"}, {"topic": "orders"}):
            self.rig.command("allow", principal="alice", operations=["ALL"], **place)
        self.client = SaslClient(self.rig)
        assert self.client.plain().error_code == 0
        self.member: ClassicMember | ConsumerMember
        if kind == "classic":
            self.key, self.version, self.member = 12, 4, ClassicMember("kitchen", session_ms=60_000)
            stable(self.rig, self.client.wire, self.member)
        else:
            self.key, self.version, self.member = 68, 1, ConsumerMember("kitchen", "m", topics=["orders"])
            while self.member.told(self.ask()) or self.member.assigned is None:
                pass
            self.member.told(self.ask(owned=self.member.assigned))
        assert [self.beat() for _ in range(3)] == [0, 0, 0]
        assert self.repeated, "a heartbeat is repeated without asking the core"

    def ask(self, **said: Any) -> Any:
        return self.client.ask(self.key, self.version, self.member.heartbeat_request(**said))

    def beat(self) -> int | None:
        """Send a heartbeat and return its error code, or None if the connection was closed."""
        answer = self.ask()
        return None if answer is None else int(answer.error_code)

    @property
    def repeated(self) -> bool:
        """True if the last heartbeat was repeated."""
        before = self.rig.driver.counters.repeated_heartbeats
        self.beat()
        return self.rig.driver.counters.repeated_heartbeats > before


def create_acl(settled: Settled) -> None:
    """Let the super user bob deny by a request what alice has."""
    bob = SaslClient(settled.rig)
    bob.plain("bob")
    rule = AclCreation(
        resource_type=3, resource_name="kitchen", resource_pattern_type=3, principal="User:alice", host="*", operation=3, permission_type=2
    )
    assert bob.ask(30, 3, CreateAclsRequest(creations=[rule])).results[0].error_code == 0


WITHDRAWALS: Final[dict[str, Callable[[Settled], None]]] = {
    "a command that denies": lambda settled: settled.rig.command("deny", principal="alice", operations=["READ"], group="kitchen"),
    "a command that removes": lambda settled: settled.rig.command("remove_acls", group="kitchen"),
    "a request of an administrator": create_acl,
}


@for_each("kind", KINDS)
@for_each("withdraws", WITHDRAWALS)
def test_withdrawn_right_ends_the_lease_at_once(kind: str, withdraws: str) -> None:
    settled = Settled(kind)
    WITHDRAWALS[withdraws](settled)
    assert settled.beat() == GROUP_AUTHORIZATION_FAILED
    assert not settled.repeated, "a refusal is decided anew each time"


@for_each("kind", KINDS)
def test_right_that_comes_back_gives_the_lease_back(kind: str) -> None:
    settled = Settled(kind)
    settled.rig.command("deny", principal="alice", operations=["READ"], group="kitchen", ms=1500)
    codes = []
    for _ in range(3):
        codes.append(settled.beat())
        settled.rig.sleep(1000)
    assert codes == [GROUP_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED, 0]
    assert settled.beat() == 0 and settled.repeated


@for_each("kind", KINDS)
def test_fault_rule_that_denies_ends_the_lease_at_once(kind: str) -> None:
    settled = Settled(kind)
    api = "Heartbeat" if kind == "classic" else "ConsumerGroupHeartbeat"
    settled.rig.command("add_faults", rules=[{"when": {"api": api, "nth": 2}, "do": {"kind": "deny", "seconds": 1}}])
    assert [settled.beat() for _ in range(3)] == [0, GROUP_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED]
    settled.rig.sleep(1000)
    assert settled.beat() == 0 and settled.repeated


@for_each("kind", KINDS)
def test_session_that_ends_ends_the_lease(kind: str) -> None:
    settled = Settled(kind, reauth_ms=1500)
    settled.rig.sleep(1500)
    assert settled.repeated
    settled.rig.sleep(1)
    assert settled.beat() is None and settled.client.wire.closed


@for_each("kind", KINDS)
def test_removed_user_keeps_its_session_and_no_longer(kind: str) -> None:
    """Kafka leaves living connections of a deleted credential alone (SEC-36)."""
    settled = Settled(kind, reauth_ms=1500)
    settled.rig.command("remove_user", name="alice")
    assert settled.beat() == 0
    settled.rig.sleep(1000)
    settled.client.handshake()
    assert not settled.client.wire.connection.repeat, "nothing is repeated beside an authentication"
    answer = settled.client.token(plain_token("alice", PASSWORD), late=True)
    assert answer.error_code == SASL_AUTHENTICATION_FAILED and settled.client.wire.closed


@for_each("kind", KINDS)
def test_session_that_a_fault_rule_ends_ends_the_lease(kind: str) -> None:
    settled = Settled(kind)
    api = "Heartbeat" if kind == "classic" else "ConsumerGroupHeartbeat"
    settled.rig.command("add_faults", rules=[{"when": {"api": api}, "do": {"kind": "end_session"}, "times": 1}])
    assert settled.beat() is None and settled.client.wire.closed
