"""Runs that a timeline must show well: a crash, rolling bounces, open transactions, hanging rebalances, faults, findings, many members."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from benchmarks.workers.timeline_page import crowd_journal
from kitchen_of_two import Kitchen

from groupmock.journal.read import read
from groupmock.journal.rows import ClientRow
from groupmock.timeline.drawing import Drawing, of_journal
from groupmock.timeline.model import Timeline
from groupmock_clients.scenarios.catalogue import scenario
from groupmock_clients.scenarios.play import Protocol, Sizes, play
from groupmock_clients.scenarios.virtual import open_stage
from tools.mistakes.stage import Stage

THREE: Final = """
import asyncio, os
from aiokafka import AIOKafkaConsumer

def consumer(name):
    return AIOKafkaConsumer("orders", bootstrap_servers=os.environ["GROUPMOCK_BOOTSTRAP"], group_id="kitchen", client_id=name,
        auto_offset_reset="earliest", heartbeat_interval_ms=200, session_timeout_ms=6000, auto_commit_interval_ms=300)

async def main():
    three = [consumer(name) for name in ("anna", "ben", "cleo")]
    for each in three:
        await each.start()
    for _ in range(12):
        await asyncio.gather(*(each.getmany(timeout_ms=200) for each in three))
    await three[1].stop()
    for _ in range(8):
        await asyncio.gather(*(each.getmany(timeout_ms=200) for each in (three[0], three[2])))
    await three[0].stop()
    await three[2].stop()

asyncio.run(main())
"""


def three_consumers(folder: Path) -> Timeline:
    """Run three aiokafka members, one of which leaves before the others."""
    journal = folder / "three.jsonl"
    command = ["run", "--topic", "orders:6", "--log", "off", "--journal", str(journal), "--", sys.executable, "-W", "ignore", "-c", THREE]
    subprocess.run([sys.executable, "-m", "groupmock", *command], check=True, timeout=60, stderr=subprocess.DEVNULL)
    return of_journal(str(journal))


def scenario_played(name: str, protocol: str, folder: Path, members: int = 4) -> Timeline:
    return of_journal(str(journal_of(name, protocol, folder, members)))


def side_by_side(name: str, protocols: Sequence[str], folder: Path) -> Timeline:
    """Play a scenario under several protocols and draw them below each other."""
    drawing = Drawing()
    for protocol in protocols:
        reader, rows = read(journal_of(name, protocol, folder, 3))
        # Rows of the scenario itself are left out: they are the same in all protocols and would fill most of the picture.
        drawing.add(protocol, [row for row in rows if not isinstance(row, ClientRow)], reader.header)
    return drawing.timeline()


def journal_of(name: str, protocol: str, folder: Path, members: int) -> Path:
    sizes, played, journal = Sizes(members=members), Protocol(protocol, "scripted"), folder / f"{name}-{protocol}.jsonl"
    with open_stage(sizes, played, journal) as stage:
        play(scenario(name), sizes, played, stage)
    return journal


def three_hundred(folder: Path) -> Timeline:
    """Run three hundred members for ten minutes; one is killed, and another leaves."""
    return of_journal(str(crowd_journal(folder, 300, 600)))


def crowd(folder: Path) -> Timeline:
    """Run 240 members for ten minutes; one is killed, and another leaves."""
    return of_journal(str(crowd_journal(folder, 240, 600)))


def stuck(folder: Path) -> Timeline:
    """Run a producer whose second transaction stays open, and a reader of committed records who waits behind it."""
    kitchen = Kitchen()
    kitchen.begin()
    kitchen.sleep(800)
    kitchen.end()
    kitchen.sleep(700)
    kitchen.begin()
    for offset in range(8):
        kitchen.produce("orders", 0, 3)
        kitchen.fetch(min(offset, 2), isolation_level=1)
        for member in (kitchen.anna, kitchen.ben):
            member.beat()
        kitchen.sleep(500)
    return _drawn("stuck", kitchen)


def hanging(folder: Path) -> Timeline:
    """Run a rebalance that ben holds up: he sends heartbeats, but does not join again."""
    stage = Stage({"orders": 6})
    anna, ben = (stage.consumer(name, rebalance_ms=60_000) for name in ("anna", "ben"))
    stage.together(anna, ben)
    for _ in range(4):
        anna.beat()
        ben.beat()
        stage.sleep(500)
    stage.consumer("cleo", rebalance_ms=60_000).join()
    anna.beat()
    anna.join()
    for _ in range(12):
        ben.beat()
        stage.sleep(500)
    return _drawn("hanging", stage)


def struck(folder: Path) -> Timeline:
    """Run a fault plan with refused heartbeats, delayed commits, and an expelled member that comes back."""
    return _drawn("faults", _struck())


def found(folder: Path) -> Timeline:
    """Run with an audit that finds ben and cleo committing offsets of anna's partition."""
    stage = Stage({"orders": 6})
    members = [stage.consumer(name) for name in ("anna", "ben", "cleo")]
    stage.together(*members)
    for offset in range(6):
        for member in members:
            member.beat()
            member.commit({("orders", 0): offset})
            stage.sleep(500)
    return _drawn("findings", stage, audit=True)


def hostile(folder: Path) -> Timeline:
    """Run with names that contain HTML markup."""
    evil = "</script><img src=x onerror=\"document.title='taken'\">\u2028\u202e<b>"
    stage = Stage({"orders": 4})
    members = [stage.consumer(f"{evil}{number}", group=evil, topics=["orders", evil]) for number in range(2)]
    stage.together(*members)
    members[0].commit({("orders", 0): 3})
    stage.sleep(0)
    members[1].leave_because(evil)
    stage.sleep(5_000)
    return _drawn(evil, stage)


def _struck() -> Stage:
    stage = Stage({"orders": 6})
    members = [stage.consumer(name) for name in ("anna", "ben", "cleo")]
    stage.together(*members)
    lost = {"name": "lost-heartbeat", "when": {"api": "Heartbeat", "every": 9}, "do": {"kind": "error", "code": 25}, "times": 3}
    slow = {"name": "slow-commit", "when": {"api": "OffsetCommit", "every": 8}, "do": {"kind": "delay", "seconds": 0.4}}
    stage.rig.command("add_faults", rules=[lost, slow], origin="the test")
    for offset in range(24):
        for member in members:
            member.beat()
            stage.sleep(250)
            stage.send(8, 7, _commit(member, offset), connection=member.client_id, client_id=member.client_id)
            stage.sleep(500)
    anna, ben, cleo = members
    stage.rig.command("expire_member", group="kitchen", member=ben.member_id)
    for each in (anna, cleo):
        each.beat()
    ben.forget()
    ben.join()
    stage.together(anna, cleo, waiting=[ben])
    for _ in range(4):
        for each in members:
            each.commit({next(iter(each.assignment)): 24})
        stage.sleep(500)
    return stage


def _commit(member: object, offset: int) -> object:
    from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic

    assignment, generation, member_id = (getattr(member, name) for name in ("assignment", "generation", "member_id"))
    parts = [OffsetCommitRequestPartition(partition_index=number, committed_offset=offset) for _, number in sorted(assignment)]
    topics = [OffsetCommitRequestTopic(name="orders", partitions=parts)]
    return OffsetCommitRequest(group_id="kitchen", generation_id_or_member_epoch=generation, member_id=member_id, topics=topics)


def _drawn(name: str, stage: Stage, audit: bool = False) -> Timeline:
    drawing = Drawing(audit=audit)
    drawing.add(name, list(stage.ring.rows))
    return drawing.timeline()


SITUATIONS: Final[dict[str, Callable[[Path], Timeline]]] = {
    "three-consumers": three_consumers,
    "crash": lambda folder: scenario_played("death-too-late", "range", folder, 3),
    "design-2": lambda folder: scenario_played("death-in-time", "design-2", folder),
    "bounce-eager": lambda folder: scenario_played("rolling-bounce", "range", folder, 3),
    "bounce-kip-429": lambda folder: scenario_played("rolling-bounce", "cooperative-sticky", folder, 3),
    "bounce-design-2": lambda folder: scenario_played("rolling-bounce", "design-2", folder, 3),
    "bounce-kip-848": lambda folder: scenario_played("rolling-bounce", "kip-848", folder, 3),
    "crowd": crowd,
    "stuck": stuck,
    "hanging": hanging,
    "eager-and-design-2": lambda folder: side_by_side("rolling-bounce", ("range", "design-2"), folder),
    "three-hundred": three_hundred,
    "faults": struck,
    "findings": found,
    "hostile": hostile,
}
"""Maps a name to the function that draws the situation with its journal in a folder. Each function makes a situation, in a folder for
its journal."""
