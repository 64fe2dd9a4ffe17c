"""Commands for access control lists add and remove rules of the authorizer, so that rights change while clients run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from ..authorizer.acl import (
    ALLOW,
    ANY,
    ANY_HOST,
    CLUSTER,
    CLUSTER_NAME,
    DENY,
    GROUP,
    LITERAL,
    OPERATIONS,
    PATTERN_TYPES,
    PERMISSION_TYPES,
    PREFIXED,
    RESOURCE_TYPES,
    TOPIC,
    TRANSACTIONAL_ID,
    Acl,
    AclFilter,
)
from .register import Arguments, BadArguments, Milliseconds, NotNow, steers

if TYPE_CHECKING:
    from ..authorizer.authorizer import Authorizer
    from ..cluster import Cluster
    from ..turn import Turn

NO_AUTHORIZER: Final = (
    "this cluster has no authorizer, so that everybody may do everything: start it with the setting "
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
)
NUMBERS: Final = {name: number for number, name in OPERATIONS.items()}
RETURNS: Final = "right_returns"
"""The name of the timer that takes back a rule of `deny`."""

Principal = Annotated[str, Meta(description="User:alice, or alice alone; * for everybody", min_length=1)]
Operations = Annotated[list[str], Meta(description="Kafka's names of operations: READ, WRITE, DESCRIBE, ALL, ...", min_length=1)]
Name = Annotated[str, Meta(min_length=1)]
OfTopic = Annotated[Name | None, Meta(description="the topic of the right; * for all topics")]
OfGroup = Annotated[Name | None, Meta(description="the group of the right; * for all groups")]
OfTransactionalId = Annotated[Name | None, Meta(description="the transactional id of the right; * for all of them")]
OfCluster = Annotated[bool, Meta(description="the right is on the cluster")]
Prefixed = Annotated[bool, Meta(description="the right is on every name that begins with the given one")]
Host = Annotated[str, Meta(description="the address from which it holds; * for all of them", min_length=1)]


class AddAcls(Arguments):
    """Add rules of the authorizer for one principal and one resource, one for each operation."""

    principal: Principal
    operations: Operations
    topic: OfTopic = None
    group: OfGroup = None
    transactional_id: OfTransactionalId = None
    cluster: OfCluster = False
    prefixed: Prefixed = False
    host: Host = ANY_HOST


class Allow(AddAcls):
    """Allow operations on a topic, a group, a transactional id or the cluster to a principal, by rules of the authorizer (ACLs)."""


class Deny(AddAcls):
    """Deny operations on a topic, a group, a transactional id or the cluster to a principal, whatever is allowed elsewhere."""

    ms: Annotated[Milliseconds | None, Meta(description="take the rules back after so long; null: they stay")] = None


class RemoveAcls(Arguments):
    """Remove the rules of the authorizer that fit all given arguments."""

    principal: Annotated[Name | None, Meta(description="of this principal only")] = None
    operations: Annotated[list[str] | None, Meta(description="of these operations only")] = None
    permission: Annotated[str | None, Meta(description="ALLOW or DENY: rules of this kind only")] = None
    topic: OfTopic = None
    group: OfGroup = None
    transactional_id: OfTransactionalId = None
    cluster: OfCluster = False


@steers("allow", Allow)
def allow(cluster: Cluster, arguments: Allow, turn: Turn) -> None:
    _add(cluster, arguments, ALLOW)


@steers("deny", Deny)
def deny(cluster: Cluster, arguments: Deny, turn: Turn) -> None:
    """Add rules that deny, each with a timer if it is taken back later. A rule that is denied again without `ms` stays."""
    for acl in _add(cluster, arguments, DENY):
        key = (RETURNS, *_subject(acl))
        if arguments.ms is None:
            turn.timers.cancel(key)
        else:
            turn.timers.set(key, turn.after(arguments.ms))


def give_back(cluster: Cluster, subject: tuple[str, ...]) -> bool:
    """Remove the rule for which a timer of `deny` was set, and return whether it was still there."""
    authorizer = authorizer_of(cluster)
    found = [acl for acl in authorizer.rules() if acl.permission == DENY and _subject(acl) == subject]
    authorizer.remove(found)
    return bool(found)


@steers("remove_acls", RemoveAcls)
def remove_acls(cluster: Cluster, arguments: RemoveAcls, turn: Turn) -> None:
    """Remove the rules that fit. If there are none, nothing happens, because a test may withdraw a right that nobody has."""
    authorizer = authorizer_of(cluster)
    kind, name = _resource(arguments) or (ANY, None)
    principal = None if arguments.principal is None else _principal(arguments.principal)
    operations = [ANY] if arguments.operations is None else _numbers(arguments.operations)
    permission = ANY if arguments.permission is None else _permission(arguments.permission)
    filters = [AclFilter(kind=kind, name=name, principal=principal, operation=each, permission=permission) for each in operations]
    authorizer.remove([acl for each in filters for acl in authorizer.matching(each)])


def authorizer_of(cluster: Cluster) -> Authorizer:
    """Return the authorizer of a cluster, or raise NotNow if it has none."""
    if cluster.authorizer is None:
        raise NotNow(NO_AUTHORIZER)
    return cluster.authorizer


def _subject(acl: Acl) -> tuple[str, ...]:
    return OPERATIONS[acl.operation], RESOURCE_TYPES[acl.kind], acl.name, PATTERN_TYPES[acl.pattern], acl.principal, acl.host


def _add(cluster: Cluster, arguments: AddAcls, permission: int) -> list[Acl]:
    authorizer = authorizer_of(cluster)
    resource = _resource(arguments)
    if resource is None:
        raise BadArguments("name what the right is on: a topic, a group, a transactional id or the cluster")
    kind, name = resource
    pattern, principal = PREFIXED if arguments.prefixed else LITERAL, _principal(arguments.principal)
    numbers = _numbers(arguments.operations)
    acls = [Acl(kind, name, pattern, principal, arguments.host, operation, permission) for operation in numbers]
    if not authorizer.has_room(acls):
        raise NotNow("the authorizer has no room for these rules: remove others first")
    authorizer.add(acls)
    return acls


def _resource(arguments: AddAcls | RemoveAcls) -> tuple[int, str] | None:
    """Return the type and the name of the resource that the arguments name, or None. Raises BadArguments if they name several."""
    named = [
        (kind, name)
        for kind, name in (
            (TOPIC, arguments.topic),
            (GROUP, arguments.group),
            (TRANSACTIONAL_ID, arguments.transactional_id),
            (CLUSTER, CLUSTER_NAME if arguments.cluster else None),
        )
        if name is not None
    ]
    if len(named) > 1:
        raise BadArguments("name one of topic, group, transactional id and cluster, not several")
    return named[0] if named else None


def _principal(text: str) -> str:
    return text if ":" in text else f"User:{text}"


def _numbers(operations: list[str]) -> list[int]:
    """Return the numbers of operations by Kafka's names in any case. Raises BadArguments."""
    unknown = [each for each in operations if each.upper() not in NUMBERS]
    if unknown:
        raise BadArguments(f"no operation {unknown[0]!r}: there are {', '.join(NUMBERS)}")
    return [NUMBERS[each.upper()] for each in operations]


def _permission(text: str) -> int:
    """Return the number of a permission by Kafka's name in any case. Raises BadArguments."""
    numbers = {name: number for number, name in PERMISSION_TYPES.items()}
    if text.upper() not in numbers:
        raise BadArguments(f"no permission {text!r}: there are {', '.join(numbers)}")
    return numbers[text.upper()]
