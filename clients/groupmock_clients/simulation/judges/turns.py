"""Is everybody served in turn? How many requests of one connection are handled while another one's wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..wire import SimulatedWire
    from .bench import Bench

JUDGE: Final = "turns"


class TurnJudge:
    """Told of every request that is handled, with its connection; a *turn* is what the driver does between two things that the loop calls.

    `slice`: so many requests of one connection may be handled in one turn while bytes of others have arrived and wait; None: the driver
    has no such limit, and `longest` is only measured.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.slice: int | None = None
        self.wires: dict[int, SimulatedWire] = {}
        self.longest = 0
        self._turn = 0
        self._run = (0, 0)  # turn, connection
        self._served = 0

    def turned(self) -> None:
        """The loop calls something else."""
        self._turn += 1

    def handled(self, connection: int, now: int) -> None:
        """One request of that connection is handled."""
        run = (self._turn, connection)
        if run != self._run:
            self._run, self._served = run, 0
        self._served += 1
        if self._served <= self.longest or self._served < 2:
            return
        waiting = sum(1 for number, wire in self.wires.items() if number != connection and wire.due and wire.due[0] <= now)
        if not waiting:
            return
        self.longest = self._served
        if self.slice is not None and self._served > self.slice:
            text = f"connection {connection} had {self._served} requests served in one turn while {waiting} others waited"
            self.bench.found(JUDGE, text)
