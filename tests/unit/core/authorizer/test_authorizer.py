"""Decisions of the authorizer (SEC-70 to SEC-75, SEC-98), seen on Kafka 4.3.0 and 4.4.0."""

from __future__ import annotations

import pytest
from cases import for_each
from rights import ADMIN, ALICE, allow, authorizer_of, deny, make_rig

from groupmock.core.authorizer.acl import (
    ALL,
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    PREFIXED,
    READ,
    TOPIC,
    WRITE,
    Acl,
    AclFilter,
)
from groupmock.core.authorizer.authorizer import MOST_DECISIONS, MOST_RULES
from groupmock.core.events import Request
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest

HOST = "/127.0.0.1"


def _request(principal: str = ALICE) -> Request:
    return Request(1, 1, 1, 12, 4, "c", HOST, HeartbeatRequest(), principal=principal)


DECISIONS: dict[str, tuple[list[Acl], int, str, bool]] = {
    "nothing allows": ([], READ, "orders", False),
    "the name itself": ([allow(READ, TOPIC, "orders")], READ, "orders", True),
    "another case": ([allow(READ, TOPIC, "Orders")], READ, "orders", False),
    "another type of resource": ([allow(READ, GROUP, "orders")], READ, "orders", False),
    "every name": ([allow(READ, TOPIC, "*")], READ, "orders", True),
    "a prefix": ([allow(READ, TOPIC, "or", pattern=PREFIXED)], READ, "orders", True),
    "a prefix is the name": ([allow(READ, TOPIC, "orders", pattern=PREFIXED)], READ, "orders", True),
    "a longer prefix": ([allow(READ, TOPIC, "orders-", pattern=PREFIXED)], READ, "orders", False),
    "a star in a prefix is ordinary": ([allow(READ, TOPIC, "*", pattern=PREFIXED)], READ, "orders", False),
    "a star within a name is ordinary": ([allow(READ, TOPIC, "or*")], READ, "orders", False),
    "all operations": ([allow(ALL, TOPIC, "orders")], READ, "orders", True),
    "READ implies DESCRIBE": ([allow(READ, TOPIC, "orders")], DESCRIBE, "orders", True),
    "WRITE implies DESCRIBE": ([allow(WRITE, TOPIC, "orders")], DESCRIBE, "orders", True),
    "DELETE implies DESCRIBE": ([allow(DELETE, TOPIC, "orders")], DESCRIBE, "orders", True),
    "ALTER implies DESCRIBE": ([allow(ALTER, TOPIC, "orders")], DESCRIBE, "orders", True),
    "CREATE implies nothing": ([allow(CREATE, TOPIC, "orders")], DESCRIBE, "orders", False),
    "ALTER_CONFIGS implies DESCRIBE_CONFIGS": ([allow(ALTER_CONFIGS, TOPIC, "orders")], DESCRIBE_CONFIGS, "orders", True),
    "ALTER implies no DESCRIBE_CONFIGS": ([allow(ALTER, TOPIC, "orders")], DESCRIBE_CONFIGS, "orders", False),
    "a DENY comes before an ALLOW": ([allow(READ, TOPIC, "orders"), deny(READ, TOPIC, "*")], READ, "orders", False),
    "a prefixed DENY": ([allow(ALL, TOPIC, "orders"), deny(READ, TOPIC, "o", pattern=PREFIXED)], READ, "orders", False),
    "a DENY of all": ([allow(READ, TOPIC, "orders"), deny(ALL, TOPIC, "orders")], READ, "orders", False),
    "a DENY of READ leaves the implied DESCRIBE": ([allow(READ, TOPIC, "orders"), deny(READ, TOPIC, "orders")], DESCRIBE, "orders", True),
    "a DENY of DESCRIBE": ([allow(READ, TOPIC, "orders"), deny(DESCRIBE, TOPIC, "orders")], DESCRIBE, "orders", False),
    "everybody": ([allow(READ, TOPIC, "orders", principal="User:*")], READ, "orders", True),
    "another type of principal": ([allow(READ, TOPIC, "orders", principal="Group:*")], READ, "orders", False),
    "somebody else": ([allow(READ, TOPIC, "orders", principal="User:Alice")], READ, "orders", False),
    "the address": ([allow(READ, TOPIC, "orders", host="127.0.0.1")], READ, "orders", True),
    "another address": ([allow(READ, TOPIC, "orders", host="127.0.0.2")], READ, "orders", False),
    "a network is no address": ([allow(READ, TOPIC, "orders", host="127.0.0.0/8")], READ, "orders", False),
}


@for_each("rules, operation, name, expected", DECISIONS.values(), ids=DECISIONS)
def test_authorizer_decides(rules: list[Acl], operation: int, name: str, expected: bool) -> None:
    authorizer = authorizer_of(make_rig())
    authorizer.add(rules)
    assert authorizer.allows(ALICE, HOST, operation, TOPIC, name) is expected
    assert authorizer.allows(ALICE, HOST, operation, TOPIC, name) is expected, "the kept decision"
    assert authorizer.allows(ADMIN, HOST, operation, TOPIC, name), "super users pass every rule"


def test_authorizer_without_rules_on_a_resource_allows_everything_if_asked() -> None:
    authorizer = authorizer_of(make_rig(allow_everyone_if_no_acl_found=True))
    authorizer.add([allow(READ, TOPIC, "orders", principal="User:bob"), allow(WRITE, TOPIC, "pay", pattern=PREFIXED)])
    names = ("orders", "payments", "parcels")
    assert [authorizer.allows(ALICE, HOST, READ, TOPIC, name) for name in names] == [False, False, True]


def test_authorizer_decides_anew_after_each_change() -> None:
    authorizer = authorizer_of(make_rig())
    rule = allow(READ, TOPIC, "orders", pattern=PREFIXED)
    for change, expected in ((authorizer.add, True), (authorizer.remove, False), (authorizer.add, True)):
        change([rule])
        assert authorizer.allows(ALICE, HOST, READ, TOPIC, "orders-1") is expected
    assert authorizer.matching(AclFilter(kind=TOPIC)) == [rule]


def test_authorizer_keeps_a_bounded_number_of_decisions() -> None:
    authorizer = authorizer_of(make_rig())
    authorizer.add([allow(READ, TOPIC, "t", pattern=PREFIXED)])
    for number in range(MOST_DECISIONS + 10):
        assert authorizer.allows(ALICE, HOST, READ, TOPIC, f"t{number}")
    assert len(authorizer._decisions) <= MOST_DECISIONS


def test_authorizer_keeps_no_decisions_about_long_names() -> None:
    authorizer = authorizer_of(make_rig())
    authorizer.add([allow(READ, TOPIC, "t", pattern=PREFIXED)])
    assert authorizer.allows(ALICE, HOST, READ, TOPIC, "t" * 30_000)
    assert not authorizer._decisions


def test_authorizer_has_room_for_a_bounded_number_of_rules() -> None:
    authorizer = authorizer_of(make_rig())
    rules = [allow(READ, TOPIC, f"t{number}") for number in range(MOST_RULES)]
    assert authorizer.has_room(rules)
    assert not authorizer.has_room([*rules, allow(WRITE, TOPIC, "t0")])
    assert not authorizer.has_room([allow(READ, TOPIC, "t" * (1024 * 1024))])


ON_ANY: dict[str, tuple[list[Acl], bool]] = {
    "no rule": ([], False),
    "one topic": ([allow(WRITE, TOPIC, "orders")], True),
    "READ is another operation": ([allow(READ, TOPIC, "orders")], False),
    "a name that is denied": ([allow(WRITE, TOPIC, "orders"), deny(WRITE, TOPIC, "orders")], False),
    "a name below a denied prefix": ([allow(WRITE, TOPIC, "orders"), deny(ALL, TOPIC, "or", pattern=PREFIXED)], False),
    "a prefix below a denied prefix": (
        [allow(WRITE, TOPIC, "orders", pattern=PREFIXED), deny(WRITE, TOPIC, "or", pattern=PREFIXED)],
        False,
    ),
    "a prefix above a denied name": ([allow(WRITE, TOPIC, "or", pattern=PREFIXED), deny(WRITE, TOPIC, "orders")], True),
    "everything, and a denied name": ([allow(WRITE, TOPIC, "*"), deny(WRITE, TOPIC, "o", pattern=PREFIXED)], True),
    "everything is denied": ([allow(WRITE, TOPIC, "orders"), deny(WRITE, TOPIC, "*")], False),
}


@for_each("rules, expected", ON_ANY.values(), ids=ON_ANY)
def test_authorizer_allows_an_operation_on_any_resource(rules: list[Acl], expected: bool) -> None:
    authorizer = authorizer_of(make_rig())
    authorizer.add(rules)
    assert authorizer.allows_on_any(_request(), WRITE, TOPIC) is expected
    assert authorizer.allows_on_any(_request(ADMIN), WRITE, TOPIC)


@pytest.mark.parametrize(("profile", "of_groups"), [("kafka-4.4", 3400), ("kafka-3.9", 328)])
def test_cluster_without_authorizer_allows_all_operations(profile: str, of_groups: int) -> None:
    cluster = make_rig(profile, authorizer_class_name="").core.cluster
    assert cluster.authorizer is None
    found = [cluster.operations(_request(), kind, "x") for kind in (TOPIC, GROUP, CLUSTER)]
    assert found == [3576, of_groups, 8096]


def test_authorizer_shows_implied_operations() -> None:
    rig = make_rig()
    authorizer_of(rig).add([allow(READ, TOPIC, "orders"), allow(CREATE, CLUSTER)])
    cluster = rig.core.cluster
    assert cluster.operations(_request(), TOPIC, "orders") == 264
    assert cluster.own_operations(_request()) == 0, "whoever may not describe the cluster learns nothing of it"
    authorizer_of(rig).add([allow(DESCRIBE, CLUSTER)])
    assert cluster.own_operations(_request()) == 288
