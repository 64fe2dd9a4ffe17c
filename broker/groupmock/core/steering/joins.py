"""Steering who joins when, and who leads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from .holds import Order, holds_of
from .register import Arguments, BadArguments, Group, MemberName, NotNow, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn


class OrderJoins(Arguments):
    """Let the JoinGroups of these clients in in this order; those of all others wait until the last of them came (or the release)."""

    group: Group
    names: Annotated[list[MemberName], Meta(description="client ids, instance ids or member ids, the first one first", min_length=1)]


@steers("order_joins", OrderJoins)
def order_joins(cluster: Cluster, arguments: OrderJoins, turn: Turn) -> None:
    """The first JoinGroup of a dynamic member, which only reserves an id (KIP-394), is answered in any order."""
    if len(set(arguments.names)) < len(arguments.names):
        raise BadArguments(f"order_joins: {', '.join(arguments.names)}: a name is there twice")
    holds = holds_of(cluster)
    if arguments.group in holds.orders:
        waiting = ", ".join(holds.orders[arguments.group].names)
        raise NotNow(f"group {arguments.group!r} lets its joins in in an order already, {waiting} are awaited: release it first")
    holds.orders[arguments.group] = Order(list(arguments.names))


class ChooseLeader(Arguments):
    """Choose who leads the next generation of a group. It leads if it joined when the join phase ends; until then the choice stands."""

    group: Group
    member: MemberName


@steers("choose_leader", ChooseLeader)
def choose_leader(cluster: Cluster, arguments: ChooseLeader, turn: Turn) -> None:
    """The member need not be there yet."""
    holds_of(cluster).leaders[arguments.group] = arguments.member
