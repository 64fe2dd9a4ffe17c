"""The differential runs a script that deletes topics alone if the deletion affects every group of the broker."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tools.fidelity.generated.script import Script, request
from tools.fidelity.guided.alone import Alone

PLAIN = Script("transactions", 1, "3.9", "quick", [request("A", 15, 5)])
DELETES = Script("transactions", 2, "3.9", "quick", [request("A", 20, 5)])


def test_on_the_old_coordinator_nobody_plays_beside_who_deletes_topics() -> None:
    alone, rows, begun, over = Alone("3.9"), [], Barrier(3), Barrier(3)

    def plain(name: str) -> None:
        with alone.turn(PLAIN):
            rows.append(f"{name} begins")
            begun.wait()
            over.wait()
            rows.append(f"{name} ends")

    def deletes() -> None:
        with alone.turn(DELETES):
            rows.append("deletes")

    with ThreadPoolExecutor() as pool:
        beside = [pool.submit(plain, name) for name in "ab"]
        begun.wait()
        deleting = pool.submit(deletes)
        over.wait()
        for each in (*beside, deleting):
            each.result()
    assert rows[-1] == "deletes" and len(rows) == 5


def test_on_4_3_everybody_plays_at_once() -> None:
    alone = Alone("4.3")
    with alone.turn(PLAIN), alone.turn(DELETES):
        pass
