"""Steering who joins when, and who leads."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ..turn import Turn
from .doors import Order
from .groups import doors_of
from .register import Arguments, BadArguments, Group, MemberName, NotNow, steers


class OrderJoins(Arguments):
    """Let the JoinGroups of these clients in in this order; those of all others wait until the last of them came (or the release)."""

    group: Group
    names: Annotated[list[MemberName], Meta(description="client ids, instance ids or member ids, the first one first", min_length=1)]


@steers("order_joins", OrderJoins)
def order_joins(turn: Turn, wish: OrderJoins) -> None:
    """The first JoinGroup of a dynamic member, which only reserves an id (KIP-394), is answered in any order."""
    if len(set(wish.names)) < len(wish.names):
        raise BadArguments(f"order_joins: {', '.join(wish.names)}: a name is there twice")
    doors = doors_of(turn)
    if wish.group in doors.orders:
        waiting = ", ".join(doors.orders[wish.group].names)
        raise NotNow(f"group {wish.group!r} lets its joins in in an order already, {waiting} are awaited: release it first")
    doors.orders[wish.group] = Order(list(wish.names))


class ChooseLeader(Arguments):
    """Choose who leads the next generation of a group. It leads if it joined when the join phase ends; until then the choice stands."""

    group: Group
    member: MemberName


@steers("choose_leader", ChooseLeader)
def choose_leader(turn: Turn, wish: ChooseLeader) -> None:
    """The member need not be there yet."""
    doors_of(turn).leaders[wish.group] = wish.member
