"""CLIENT-71 requires that the requests of a connection have different correlation ids."""

from __future__ import annotations

from typing import ClassVar, Final

from groupmock_codec import APIS

from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange

IN_A_ROW: Final = 3
"""This many requests in a row with one correlation id show that a client does not count its requests."""


class _Numbers:
    """The correlation ids of a connection: the last request, how many requests in a row had its id, those that may be unanswered, and
    whether a finding was reported."""

    __slots__ = ("in_a_row", "last", "said", "waiting")

    def __init__(self) -> None:
        self.last: Exchange | None = None
        self.in_a_row = 1
        self.waiting: list[Exchange] = []
        self.said = False


class NumbersItsRequests(Rule):
    code = "CLIENT-71"
    title = "The requests of a connection have different correlation ids"
    what = "Each request has another `correlation_id` than the one before it, and than all that wait for their answers on its connection."
    why = (
        "An answer repeats the correlation id of its request and says nothing else of it. Whoever uses one id for several requests cannot "
        "tell a late answer from the one that it waits for, and takes the one for the other."
    )
    source = ("clients.md#client-71", "NetworkClient.correlation", "InFlightRequests")
    fix = "Count the requests of a connection, send the number as the correlation id, and compare it with that of each answer."
    implies = ("CLIENT-65",)
    kept = """
do stable1(A)
A: Heartbeat -> 0
"""
    broken = """
A: frame i16(10) i16(0) i32(7) str("x") str($group) -> 0
A: frame i16(10) i16(0) i32(7) str("x") str($group) -> 0
pause 300
A: frame i16(10) i16(0) i32(7) str("x") str($group) -> 0
"""
    also_broken: ClassVar[dict[str, str]] = {
        "while-in-flight": """
settings: group.initial.rebalance.delay.ms=300
A: frame i16(11) i16(2) i32(7) str("x") str($group) i32(9000) i32(9000) str("") str("x") i32(1) str("p") i32(0)
pause 1
A: frame i16(10) i16(0) i32(8) str("x") str($group)
A: frame i16(10) i16(0) i32(7) str("x") str($group)
A -> 0 eventually
A -> 0
A -> 0
""",
    }

    @asked(*APIS)
    def numbers(self, x: Exchange) -> Judgements:
        """Compare the correlation id with those before it. A broker that reads one request at a time shows the second of two only when
        the first was answered, but also when it came."""
        numbers = x.link.note(self.code, _Numbers)
        last, numbers.last = numbers.last, x
        numbers.waiting = [each for each in numbers.waiting if each.answered is None or each.answered > x.received]
        twin = next((each for each in numbers.waiting if each.correlation_id == x.correlation_id), None)
        numbers.waiting.append(x)
        if last is None or numbers.said:
            return
        numbers.in_a_row = numbers.in_a_row + 1 if last.correlation_id == x.correlation_id else 1
        if twin is not None:
            numbers.said = True
            yield Broken(
                f"{x.who} sent a {x.name} with the correlation id {x.correlation_id} of a {twin.name} that was not answered yet",
                (*twin.rows, x.seq),
                "a correlation id that no unanswered request of the connection has",
            )
        elif numbers.in_a_row == IN_A_ROW:
            numbers.said = True
            yield Broken(
                f"{x.who} sent {IN_A_ROW} requests in a row with the correlation id {x.correlation_id}",
                (*last.rows, x.seq),
                "another correlation id in each request",
            )
        elif numbers.in_a_row == 1:
            yield KEPT
