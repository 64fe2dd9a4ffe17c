"""Draws ACLs for the names of one seed, and reads those that a broker has."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from groupmock.core.authorizer.acl import (
    ALL,
    ALLOW,
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_ACTION,
    CLUSTER_NAME,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    IDEMPOTENT_WRITE,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
)

from .requests import Drawer

OPERATIONS: Final = {
    TOPIC: (ALL, READ, READ, WRITE, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (ALL, READ, READ, DESCRIBE, DESCRIBE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    TRANSACTIONAL_ID: (ALL, WRITE, WRITE, DESCRIBE),
    CLUSTER: (ALL, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE),
}
"""Maps each resource type to the operations of drawn rules; those that decide more often are listed more often."""
TYPES: Final = (TOPIC, TOPIC, TOPIC, GROUP, GROUP, CLUSTER, TRANSACTIONAL_ID)
PREFIXES: Final = ("", "t", "ta", "g", "ga", "x", "n")


def draw_rules(rng: Random, draw: Drawer) -> list[dict[str, Any]]:
    """Return some rules, each once, as the entries of CreateAcls."""
    rules = [_rule(rng, draw) for _ in range(rng.choice((1, 2, 4, 6, 9)))]
    return list({tuple(rule.values()): rule for rule in rules}.values())


def _rule(rng: Random, draw: Drawer) -> dict[str, Any]:
    kind, pattern = rng.choice(TYPES), LITERAL
    names = {TOPIC: [*draw.topics, *draw.absent], GROUP: draw.groups, TRANSACTIONAL_ID: draw.transactional_ids}
    name = CLUSTER_NAME if kind == CLUSTER else rng.choice([*names[kind], *names[kind], "*"])
    if kind != CLUSTER and rng.random() < 0.35:
        pattern, name = PREFIXED, draw.stem + rng.choice(PREFIXES)
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": pattern,
        "principal": rng.choice(("User:alice",) * 6 + ("User:*", "User:bob")),
        "host": rng.choice(("*",) * 5 + ("127.0.0.1", "1.2.3.4")),
        "operation": rng.choice(OPERATIONS[kind]),
        "permission_type": rng.choice((ALLOW, ALLOW, ALLOW, ALLOW, DENY)),
    }


def rules_of(described: Any) -> set[tuple[Any, ...]]:
    """Return the rules in an answer to DescribeAcls, in the form of the entries of CreateAcls."""
    return {
        (each.resource_type, each.resource_name, each.pattern_type, one.principal, one.host, one.operation, one.permission_type)
        for each in described.resources
        for one in each.acls
    }
