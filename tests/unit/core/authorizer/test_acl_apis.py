"""CreateAcls, DescribeAcls and DeleteAcls (SEC-69, SEC-77 to SEC-80), as seen on Kafka 4.4.0."""

from __future__ import annotations

from typing import Any

from cases import for_each
from rights import ADMIN, ALICE, allow, authorizer_of, deny, make_rig

from groupmock.core.authorizer import acl_requests
from groupmock.core.authorizer.acl import (
    ALLOW,
    ALTER,
    ANY,
    CLUSTER,
    DENY,
    DESCRIBE,
    GROUP,
    LITERAL,
    MATCH,
    PREFIXED,
    READ,
    TOPIC,
    WRITE,
    Acl,
    AclFilter,
)
from groupmock.rig import CoreRig
from groupmock_codec.messages.k29_describe_acls import DescribeAclsRequest
from groupmock_codec.messages.k30_create_acls import AclCreation, CreateAclsRequest
from groupmock_codec.messages.k31_delete_acls import DeleteAclsFilter, DeleteAclsRequest

FINE = {"resource_type": TOPIC, "resource_name": "orders", "principal": ALICE, "host": "*", "operation": READ, "permission_type": ALLOW}
ALL_RULES = {
    "resource_type_filter": ANY, "resource_name_filter": None, "pattern_type_filter": ANY, "principal_filter": None, "host_filter": None,
    "operation": ANY, "permission_type": ANY,
}  # fmt: skip


def _create(rig: CoreRig, *changed: dict[str, Any], principal: str = ADMIN) -> list[tuple[int, str | None]]:
    creations = [AclCreation(**{**FINE, **each}) for each in changed]
    answer = rig.ask(30, 3, CreateAclsRequest(creations=creations), principal=principal)
    return [(each.error_code, each.error_message) for each in answer.results]


CREATED: dict[str, tuple[dict[str, Any], int, str]] = {
    "a plain rule": ({}, 0, ""),
    "an operation that topics do not have": ({"operation": 12}, 0, ""),
    "any text as host": ({"host": "10.0.0.0/8"}, 0, ""),
    "a principal without a name": ({"principal": "User:"}, 0, ""),
    "no host": ({"host": ""}, 42, "Host pattern cannot be null or empty"),
    "no name": ({"resource_name": ""}, 42, "Invalid empty resource name"),
    "a principal without a colon": (
        {"principal": "alice"},
        42,
        "Could not parse principal from `alice` (no colon is present separating the principal type from the principal name)",
    ),
    "another cluster": ({"resource_type": CLUSTER}, 42, "The only valid name for the CLUSTER resource is kafka-cluster"),
    "an unknown operation": ({"operation": 77}, 42, "Invalid operation UNKNOWN"),
    "an unknown permission": ({"permission_type": 9}, 42, "Invalid permissionType UNKNOWN"),
    "an unknown pattern": ({"resource_pattern_type": 9}, 42, "Invalid patternType UNKNOWN"),
    "an unknown resource type": ({"resource_type": 99}, 42, "Invalid resourceType UNKNOWN"),
}


@for_each("changed, code, text", CREATED.values(), ids=CREATED)
def test_create_acls_checks_each_entry_for_itself(changed: dict[str, Any], code: int, text: str) -> None:
    rig = make_rig()
    assert _create(rig, changed, {"resource_name": "other"}) == [(code, text), (0, "")]
    assert len(list(authorizer_of(rig).rules())) == (1 if code else 2)


@for_each("field, value", [("operation", ANY), ("permission_type", ANY), ("resource_type", ANY), ("resource_pattern_type", MATCH)])
def test_create_acls_with_a_code_of_filters_fails_as_a_whole(field: str, value: int) -> None:
    rig = make_rig()
    assert _create(rig, {}, {field: value}) == [(-1, None)] * 2
    assert not list(authorizer_of(rig).rules())


def test_create_acls_before_4_4_accepts_an_empty_host() -> None:
    assert _create(make_rig("kafka-4.3"), {"host": ""}) == [(0, "")]


RULES = [
    allow(READ, TOPIC, "orders"),
    deny(WRITE, TOPIC, "ord", pattern=PREFIXED),
    allow(READ, TOPIC, "*", principal="User:*"),
    allow(READ, GROUP, "orders"),
]
FILTERS: dict[str, tuple[dict[str, Any], list[Acl]]] = {
    "everything": ({}, RULES),
    "a type": ({"resource_type_filter": GROUP}, RULES[3:]),
    "a literal name": ({"resource_name_filter": "orders", "pattern_type_filter": LITERAL}, [RULES[0], RULES[3]]),
    "a name of any pattern": ({"resource_name_filter": "ord"}, [RULES[1]]),
    "every pattern that covers a name": ({"resource_name_filter": "orders", "pattern_type_filter": MATCH}, RULES),
    "every pattern that covers all names": ({"resource_name_filter": "*", "pattern_type_filter": MATCH}, [RULES[2]]),
    "a principal": ({"principal_filter": "User:*"}, [RULES[2]]),
    "a permission": ({"permission_type": DENY}, [RULES[1]]),
    "an operation": ({"operation": WRITE}, [RULES[1]]),
    "ALL is itself only": ({"operation": 2}, []),
    "an unknown operation": ({"operation": 77}, []),
    "a principal without a colon": ({"principal_filter": "alice"}, []),
}


@for_each("changed, expected", FILTERS.values(), ids=FILTERS)
def test_describe_acls_lists_the_rules_that_match(changed: dict[str, Any], expected: list[Acl]) -> None:
    rig = make_rig()
    authorizer_of(rig).add(RULES)
    answer = rig.ask(29, 3, DescribeAclsRequest(**{**ALL_RULES, **changed}), principal=ADMIN)
    found = {
        Acl(each.resource_type, each.resource_name, each.pattern_type, one.principal, one.host, one.operation, one.permission_type)
        for each in answer.resources
        for one in each.acls
    }
    assert (answer.error_code, answer.error_message, found) == (0, "", set(expected))


def test_delete_acls_answers_each_filter_all_that_it_matches() -> None:
    rig = make_rig()
    authorizer_of(rig).add(RULES)
    topics = DeleteAclsFilter(**{**ALL_RULES, "resource_type_filter": TOPIC})
    wrong = [DeleteAclsFilter(**{**ALL_RULES, "resource_type_filter": 99}), DeleteAclsFilter(**{**ALL_RULES, "operation": 99})]
    answer = rig.ask(31, 3, DeleteAclsRequest(filters=[topics, topics, *wrong]), principal=ADMIN)
    found = [(each.error_code, each.error_message, len(each.matching_acls)) for each in answer.filter_results]
    assert found == [(0, None, 3), (0, None, 3), (42, "Unknown patternFilter.", 0), (42, "Unknown entryFilter.", 0)]
    assert authorizer_of(rig).matching(AclFilter()) == RULES[3:]


@for_each("key", [29, 30, 31])
def test_acl_apis_close_the_connection_at_code_zero(key: int) -> None:
    zero = {**ALL_RULES, "operation": 0}
    message: Any = {
        29: DescribeAclsRequest(**zero),
        30: CreateAclsRequest(creations=[AclCreation(**{**FINE, "operation": 0})]),
        31: DeleteAclsRequest(filters=[DeleteAclsFilter(**zero)]),
    }[key]
    assert make_rig().send(key, 3, message, principal=ALICE).status == "closed", "before any right is looked at"


def test_acl_apis_need_rights_on_the_cluster() -> None:
    rig = make_rig()
    asked = (
        (29, DescribeAclsRequest(**ALL_RULES)),
        (30, CreateAclsRequest(creations=[AclCreation(**FINE)])),
        (31, DeleteAclsRequest(filters=[DeleteAclsFilter(**ALL_RULES)])),
    )

    def codes() -> list[int]:
        answers = [rig.ask(key, 3, message, principal=ALICE) for key, message in asked]
        return [answers[0].error_code, answers[1].results[0].error_code, answers[2].filter_results[0].error_code]

    assert codes() == [31, 31, 31]
    authorizer_of(rig).add([allow(DESCRIBE, CLUSTER)])
    assert codes() == [0, 31, 31]
    authorizer_of(rig).add([allow(ALTER, CLUSTER)])
    assert codes() == [0, 0, 0]


def test_acl_apis_without_authorizer_are_disabled() -> None:
    rig = make_rig(authorizer_class_name="")
    described = rig.ask(29, 3, DescribeAclsRequest(**ALL_RULES))
    assert (described.error_code, described.error_message) == (54, acl_requests.DESCRIBED)
    assert _create(rig, {}) == [(54, acl_requests.ALTERED)]
    deleted = rig.ask(31, 3, DeleteAclsRequest(filters=[DeleteAclsFilter(**ALL_RULES)])).filter_results
    assert [(each.error_code, each.error_message) for each in deleted] == [(54, acl_requests.ALTERED)]
