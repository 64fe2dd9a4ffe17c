"""Conducts a conformance run, in which every situation has a cluster of its own and a journal that is kept and audited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from groupmock_codec.api_keys import METADATA

from ...config.resolve import Config, resolve
from ...server.assembly import start
from ..offline import audit_journal
from ..rule import registered
from ..verdicts import Finding
from .copies import CannotRun
from .outcome import Outcome
from .situation import NotReached, Situation
from .situation_stage import Stage

if TYPE_CHECKING:
    from ..report import Source

BROKER: Final = {
    "group.initial.rebalance.delay.ms": "300",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "500",
}
"""Settings for a quick first rebalance, and for sessions as short as the judged program likes them. The broker sets the session timeout
of consumer groups."""


class Wish:
    """The settings of a conformance run. `command` is the program and `copies` the number of its processes. `topics` has
    NAME[:PARTITIONS] entries, of which the first is GROUPMOCK_TOPIC. `folder` receives journals and outputs, `bound_s` is the longest
    wait for one event, `codes` are the rules (None: all), `waive` is as for `Auditor`, and `sets` has KEY=VALUE settings of the broker.
    `security` has the options of secured listeners, to the first of which the copies connect. Raises ConfigError for impossible topics,
    profile or settings."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        copies: int = 3,
        topics: Sequence[str] = ("orders:6",),
        bound_s: float = 60.0,
        profile: str | None = None,
        sets: Sequence[str] = (),
        seed: int | None = None,
        codes: Iterable[str] | None = None,
        waive: Callable[[Finding], str | None] | None = None,
        security: Mapping[str, object] | None = None,
    ) -> None:
        self.command, self.folder, self.copies, self.bound_s = command, folder, copies, bound_s
        self.codes = list(registered()) if codes is None else list(codes)
        self.waive = waive
        self._flags: dict[str, object] = {"topic": tuple(topics), "log": "off", "profile": profile, "seed": seed}
        self._flags |= security or {"port": 0}
        self._sets = tuple(sets)
        self.config_of({}, 1, None, "check")

    def config_of(self, settings: dict[str, str], nodes: int, journal: Path | None, name: str) -> Config:
        """Return the cluster's configuration for a situation. The user's settings come before those of the situation."""
        flags = self._flags | {"nodes": nodes, "journal": None if journal is None else str(journal), "run": name}
        return resolve(flags, [*BROKER.items(), *settings.items(), *self._sets])


async def conduct(
    wish: Wish,
    situations: Iterable[Situation],
    tell: Callable[[Outcome], None] = lambda outcome: None,
    begin: Callable[[Situation], None] = lambda situation: None,
) -> list[Outcome]:
    """Run one situation after another, except those of another protocol than the program's. `begin` is called with each situation and
    `tell` with its outcome. Raises CannotRun when the program cannot be judged, CannotStart."""
    outcomes: list[Outcome] = []
    known = Program()
    for situation in situations:
        if known.stood and situation.protocol not in ("", known.protocol):
            continue
        begin(situation)
        began = monotonic()
        outcome = await _one(wish, situation, known)
        outcome.seconds = round(monotonic() - began, 1)
        outcomes.append(outcome)
        tell(outcome)
    return outcomes


@dataclass
class Program:
    """The behaviour of the program in earlier situations. `commits` says whether it commits (None while unknown), `stood` whether its
    group became Stable (a program without a group cannot be judged), and `protocol` is that of its members."""

    commits: bool | None = None
    stood: bool = False
    protocol: str = ""


async def _one(wish: Wish, situation: Situation, known: Program) -> Outcome:
    from ...faults.plan import make_plan

    journal = wish.folder / f"{situation.name}.jsonl"
    config = wish.config_of(dict(situation.settings), situation.nodes, journal, situation.name)
    running = await start(config, plan=make_plan({"rule": list(situation.rules)}, situation.name))
    stage = Stage(situation, running, wish.command, wish.copies, wish.folder, wish.bound_s, known.commits, known.protocol)
    outcome = Outcome(name=situation.name, does=situation.does, waits=situation.waits, excused=list(situation.excuses))
    try:
        await _play(stage, outcome)
        if not outcome.stood and not known.stood:
            raise CannotRun(_why(stage, outcome))
        await stage.over()
    finally:
        await stage.abandon()
        trouble = await running.close()
    if trouble is not None:
        raise trouble
    outcome.source = _audited(wish, situation, journal)
    outcome.remarks, outcome.clients = stage.remarks, sorted(stage.clients)
    known.commits, known.protocol, known.stood = stage.commits, stage.protocol, known.stood or outcome.stood
    return outcome


async def _play(stage: Stage, outcome: Outcome) -> None:
    situation = stage.situation
    try:
        await _stand(stage)
        outcome.stood = True
        if situation.static:
            stage.check_static()
        await situation.script(stage)
        if situation.bare:
            await stage.settled()
        if situation.comes_back:
            await stage.goes_on()
        outcome.reached = True
    except NotReached as why:
        outcome.why = str(why)


async def _stand(stage: Stage) -> None:
    """Start the copies, and wait until their group is stable and they have committed offsets. If the topic does not exist yet, wait only
    until a copy has asked for it."""

    if stage.situation.bare:
        stage.steer("delete_topic", name=stage.topic)
    asked = stage.asks(METADATA)
    for _ in range(stage.rest - stage.situation.late):
        await stage.start()
    await (stage.happens(asked) if stage.situation.bare else stage.goes_on())


def _why(stage: Stage, outcome: Outcome) -> str:
    """Return a sentence that says why a situation cannot be judged and how to mend it."""
    folder = stage.copies[0].said.parent
    if ends := list(stage.ends()):
        return f"{ends[0]} (what the copies print is in {folder})"
    if not stage.running.server.driver.counters.connections_opened:
        return (
            f"no copy connected to {stage.running.bootstrap} within {stage.bound_s:g} s: the program is to take its bootstrap servers"
            f" from GROUPMOCK_BOOTSTRAP or KAFKA_BOOTSTRAP_SERVERS (what the copies print is in {folder})"
        )
    return (
        f"the copies connected and made no group of {len(stage.copies)}: {outcome.why}; the program is to consume GROUPMOCK_TOPIC as"
        f" a member of GROUPMOCK_GROUP (what the copies print is in {folder})"
    )


def _audited(wish: Wish, situation: Situation, journal: Path) -> Source:
    codes = [code for code in wish.codes if code not in situation.excuses]
    with journal.open("rb") as file:
        return audit_journal(journal.name, file, codes=codes, waive=wish.waive)
