"""Runs in which nothing goes wrong: clients start, read, commit and leave in good order, with every protocol."""

from __future__ import annotations

from io import BytesIO
from typing import Final

from groupmock.journal.read import JournalReader
from groupmock_clients.simulation.draw import draw
from groupmock_clients.simulation.plan import SimulationPlan
from groupmock_clients.simulation.play import LOOK_MS, Playing
from tools.story_check.trial import Rows

KINDS: Final = ("groups", "consumers", "transactions")
"""The kinds of simulated runs with members of classic groups, of consumer groups, and of both with transactional producers."""
CALM: Final = frozenset(("start", "wait", "produce", "leave", "commit", "transact"))
"""The steps that are no mistake of anybody."""

STEP_MS: Final = 20


def healthy_plan(seed: int) -> SimulationPlan:
    """Draw the plan of a simulated run, and keep what is in good order: calm steps, and one list of assignors and of topics per group."""
    plan = draw(seed, KINDS[seed % len(KINDS)])
    plan.settings = {name: value for name, value in plan.settings.items() if not name.endswith((".max.size", ".bytes"))}
    for client in plan.clients:
        first = next(each for each in plan.clients if each.group == client.group)
        client.protocols, client.topics, client.regex = first.protocols, first.topics, ""
        client.revoke_ms = min(client.revoke_ms, 400)
    # Two processes with one transactional id would fence each other.
    writers = {writer.transactional_id: writer for writer in reversed(plan.writers)}
    plan.writers = list(writers.values())
    left_out = {f"w{number}" for number in range(9)} - {writer.name for writer in plan.writers}
    plan.steps = [step for step in plan.steps if step[0] in CALM and step[1] not in left_out]
    return plan


class Healthy(Playing):
    """A simulated run whose clients end only when their group is at rest, and leave it."""

    def _start(self, name: str) -> None:
        self._settle()
        super()._start(name)

    def _leave(self, name: str) -> None:
        self._settle()
        super()._leave(name)

    def _settle(self) -> None:
        """Let time pass until everybody is in the group and no request or transaction is open."""
        for _ in range(10_000):
            alive = [each for each in self.clients.values() if each.alive]
            links = [link for each in alive for link in each.links.values()]
            writes = any(each.busy or each.orders for each in self.writers.values())
            if all(each.settled for each in alive) and not writes and not any(each.waiting for each in links):
                return
            self._wait(STEP_MS)

    def _close(self) -> None:
        self.transactions.end()
        for name in self.clients:
            self._leave(name)
            self._wait(LOOK_MS)


def healthy_rows(seed: int) -> Rows:
    """Play a healthy run and return its rows."""
    playing = Healthy(healthy_plan(seed), sampled=False)
    playing.run()
    playing.end()
    assert playing.finding is None, playing.finding
    return list(JournalReader(BytesIO(playing.world.journal.data())))
