"""Commands for joins set the order in which clients join, or choose the leader of the next generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from .holds import Order, holds_of
from .register import Arguments, BadArguments, Group, MemberName, NotNow, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn


class OrderJoins(Arguments):
    """Handle the JoinGroups of these clients in the given order. Those of all other clients wait until the last of these has come (or
    until the release)."""

    group: Group
    names: Annotated[list[MemberName], Meta(description="client ids, instance ids or member ids, the first one first", min_length=1)]


@steers("order_joins", OrderJoins)
def order_joins(cluster: Cluster, arguments: OrderJoins, turn: Turn) -> None:
    """Set the order in which clients may join. The first JoinGroup of a dynamic member only reserves an id (KIP-394), so it is answered
    in any order."""
    if len(set(arguments.names)) < len(arguments.names):
        raise BadArguments(f"order_joins: {', '.join(arguments.names)}: a name is there twice")
    holds = holds_of(cluster)
    if arguments.group in holds.orders:
        waiting = ", ".join(holds.orders[arguments.group].names)
        raise NotNow(f"group {arguments.group!r} lets its joins in in an order already, {waiting} are awaited: release it first")
    holds.orders[arguments.group] = Order(list(arguments.names))


class ChooseLeader(Arguments):
    """Choose the leader of a group's next generation. It leads if it has joined when the join phase ends; until then the choice remains."""

    group: Group
    member: MemberName


@steers("choose_leader", ChooseLeader)
def choose_leader(cluster: Cluster, arguments: ChooseLeader, turn: Turn) -> None:
    """Choose the leader of the next generation. The member need not exist yet."""
    holds_of(cluster).leaders[arguments.group] = arguments.member
