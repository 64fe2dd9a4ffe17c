"""Who deletes topics plays alone where that reaches everybody's groups."""

from __future__ import annotations

import asyncio

from tools.fidelity.play.alone import Alone
from tools.fidelity.script.script import Script, Send

PLAIN = Script("transactions", 1, "3.9", "quick", [Send("A", 15, 5)])
DELETES = Script("transactions", 2, "3.9", "quick", [Send("A", 20, 5)])


async def told(release: str) -> list[str]:
    """Two plain plays, one that deletes topics while they go on, and a third plain one: who began and ended in which order."""
    alone, rows = Alone(release), []

    async def play(name: str, script: Script) -> None:
        async with alone.turn(script):
            rows.append(f"{name} begins")
            for _ in range(9):
                await asyncio.sleep(0)
            rows.append(f"{name} ends")

    await asyncio.gather(play("a", PLAIN), play("b", PLAIN), play("deletes", DELETES), play("c", PLAIN))
    return rows


def test_on_the_old_coordinator_nobody_plays_beside_who_deletes_topics() -> None:
    rows = asyncio.run(told("3.9"))
    at = rows.index("deletes begins")
    assert (rows[at + 1], sorted(rows[:at])) == ("deletes ends", ["a begins", "a ends", "b begins", "b ends"])


def test_on_4_3_everybody_plays_at_once() -> None:
    assert asyncio.run(told("4.3"))[:4] == ["a begins", "b begins", "deletes begins", "c begins"]
