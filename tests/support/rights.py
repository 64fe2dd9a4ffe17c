"""A rig with an authorizer, and rules in a short form: `allow(READ, TOPIC, "orders")`."""

from __future__ import annotations

from typing import Any

from groupmock.core.authorizer.acl import ALLOW, ANY_HOST, CLUSTER, CLUSTER_NAME, DENY, LITERAL, Acl
from groupmock.core.authorizer.authorizer import Authorizer
from groupmock.rig import CoreRig

ALICE = "User:alice"
ADMIN = "User:admin"
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def make_rig(profile: str = "kafka-4.4", topics: dict[str, int] | None = None, **settings: Any) -> CoreRig:
    """Make a rig whose cluster has an authorizer, with the super user `User:admin`. The names of settings have underscores."""
    more = {name.replace("_", "."): value for name, value in settings.items()}
    given = {"authorizer.class.name": STANDARD, "super.users": ADMIN, "group.initial.rebalance.delay.ms": 0, **more}
    return CoreRig.make(profile=profile, settings=given, topics=topics)


def authorizer_of(rig: CoreRig) -> Authorizer:
    authorizer = rig.core.cluster.authorizer
    assert authorizer is not None
    return authorizer


def allow(operation: int, kind: int, name: str = "", *, pattern: int = LITERAL, principal: str = ALICE, host: str = ANY_HOST) -> Acl:
    return Acl(kind, CLUSTER_NAME if kind == CLUSTER else name, pattern, principal, host, operation, ALLOW)


def deny(operation: int, kind: int, name: str = "", **how: Any) -> Acl:
    return allow(operation, kind, name, **how)._replace(permission=DENY)
