"""Draws occasions for audit rules: variations of their examples, played on a virtual clock, alone and in the company of other clients.

A seed draws the pace of an example, further pauses of its clients, longer timeouts, older versions of requests, and the names of its
clients. Each dialogue has a cluster, group and topics of its own, and is kept as the rows of the broker's journal and as those of a
recording (`tapped`). Dialogues are merged by time into one journal, so that a rule is judged while other clients do other things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from heapq import merge
from io import BytesIO
from random import Random
from typing import Any, Final, NamedTuple

import msgspec
from audit_examples import exchange_of
from tapped import TappedStage, TappedWire

from groupmock.audit.auditor import audit
from groupmock.audit.rule import Rule, registered
from groupmock.audit.verdicts import BROKEN, NOT_EXERCISED, NOT_JUDGED, Audit
from groupmock.journal.read import JournalReader
from groupmock.journal.rows import END, NoteRow, Row
from groupmock.net.clock import VirtualClock
from groupmock.rig.wire_rig import rig_header
from groupmock_clients.probe.language import messages
from groupmock_clients.probe.language.exchange import Act, Await, Exchange, Pause, Raw, Send, Step
from groupmock_clients.probe.language.syntax import Expr, Literal
from groupmock_clients.probe.verdicts.outcome import KEPT
from groupmock_clients.probe.verdicts.runner import play
from groupmock_codec import APIS
from groupmock_codec.declare import Message, fields_of
from groupmock_codec.units import NS_PER_MS

RELEASE: Final = "4.3"
READ_MS: Final = 300
"""A pause of this length in an example says that the client has read an answer. Its length is drawn."""
PACES: Final = (1, 2, 5, 20, 60, 150, 300, 700)
FAST_MS: Final = 1
HESITATIONS: Final = {"kept": (1, 3, 10, 30), "broken": (1,)}
"""The further pauses (ms) of clients before a request. Those of wrong clients are short, so that a loop without a pause stays one, and
so that no reaction to an answer is slower than the pace."""
SLOWER: Final = (1, 1, 1, 2, 3)
OLDER: Final = {"JoinGroup": 4, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "OffsetCommit": 7, "OffsetFetch": 5, "FindCoordinator": 2}
"""Maps an API to the oldest version that is drawn for it. A version is only drawn if it has every field that the example names."""
COMPANY: Final = 3
"""The greatest number of decent clients' dialogues beside a wrong one."""
CROWD: Final = 12
"""The number of decent clients' dialogues in one journal without a wrong one."""
STARTS_MS: Final = 3_000
"""Dialogues of one journal begin within this time."""
TIMES: Final = ("t", "received", "handled", "written")
NUMBERS: Final = ("connection", "ticket")
APART: Final = 100_000
"""The numbers of one dialogue are at most this large, so that the next dialogue's begin above it."""
OF_PRODUCERS: Final = re.compile(rb'"(?:v3_and_below_)?(?:producer_id":(?=\d)|transactional_id":")')
Lines = tuple[dict[str, Any], ...]
Fields = tuple[tuple[str, Expr], ...]


class Dialogue(NamedTuple):
    """The rows of a played variation of an example. `fast` says that no pause of READ_MS was longer than FAST_MS."""

    fast: bool
    journal: Lines
    recording: Lines


class Occasion(NamedTuple):
    """The audits of the journal and of the recording of an occasion."""

    fast: bool
    journal: Audit
    recording: Audit


class OccasionStage(TappedStage):
    """A stage whose cluster, group and topics are no other dialogue's: `mark` ends their names."""

    def __init__(self, settings: Mapping[str, str], mark: str, host: str, seed: int) -> None:
        super().__init__(settings, RELEASE, seed)
        self.mark, self.host = mark, host

    def connect(self) -> TappedWire:
        return self.rig.plug(TappedWire(self.dialogue), host=self.host)

    def group(self) -> str:
        return f"g-{self.mark}"

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        return super().topic(f"{name}-{self.mark}", partitions, configs)

    def close(self) -> None:
        """End the cluster, which closes the connections, as the last rows of both journals."""
        self._read()
        self.rig.close()
        self.dialogue.ended()


@cache
def _exchange(code: str, which: str, slower: int) -> Exchange:
    return exchange_of(registered()[code], which, slower)


def variation(rule: type[Rule], which: str, dice: Random, fast: bool = False) -> tuple[Exchange, bool]:
    """Draw a variation of an example. Returns it, and whether it is fast. Timeouts are not longer where the example waits for something
    else: for an interval in its settings, or for the delay that an assignment of Connect names."""
    timed = not rule.settings and "work(" not in rule.examples()[which]
    exchange = _exchange(rule.code, which, dice.choice(SLOWER) if timed and not fast else 1)
    paces = [ms for ms in PACES if ms <= READ_MS or ms <= _shortest_session_ms(exchange) // 3]
    pace = FAST_MS if fast else dice.choice(paces)
    steady = fast or dice.random() < 0.5
    hesitant = not fast and dice.random() < 0.5
    versions = _versions(exchange, dice) if dice.random() < 0.5 else {}
    steps: list[Step] = []
    for place, step in enumerate(exchange.steps):
        if isinstance(step, Pause) and _says_read(step):
            slower = [ms for ms in paces if ms >= (pace if _same_connection(exchange.steps, place) else READ_MS)]
            step = replace(step, ms=Literal(slower[0] if steady else dice.choice(slower)))
        elif isinstance(step, Send):
            if hesitant and dice.random() < 0.2 and not isinstance(exchange.steps[place - 1], Pause):
                steps.append(Pause(ms=Literal(dice.choice(HESITATIONS[which.partition("-")[0]])), place=step.place, text="pause"))
            if step.version is None and step.api in versions:
                step = replace(step, version=Literal(versions[step.api]))
        steps.append(step)
    return replace(exchange, steps=tuple(steps)), pace == FAST_MS and steady and not hesitant


def _says_read(step: Pause) -> bool:
    return step.since is None and step.ms == Literal(READ_MS)


def _same_connection(steps: Sequence[Step], place: int) -> bool:
    """Return whether the requests before and after a pause came by the same connection. A client with two connections may read their
    answers in any order, so that only a long pause says that it has read an answer on the other one."""
    before = next((step for step in steps[:place][::-1] if isinstance(step, Send | Await | Act)), None)
    after = next((step.member for step in steps[place:] if isinstance(step, Send | Await)), None)
    return after is None or (isinstance(before, Send | Await) and before.member == after)


def _shortest_session_ms(exchange: Exchange) -> int:
    """Return the shortest session timeout that the exchange names, because its clients send heartbeats so often."""
    named = [int(ms) for step in exchange.steps for ms in re.findall(r"session_timeout_ms=(\d+)", step.text)]
    named += [
        value.value
        for fields in exchange.members.values()
        for name, value in fields
        if name == "session_timeout_ms" and isinstance(value, Literal) and isinstance(value.value, int)
    ]
    return min(named)


def _versions(exchange: Exchange, dice: Random) -> dict[str, int]:
    """Draw a version for each API, such that no field that the exchange names is missing in the request or in its answer."""
    named = {word for step in exchange.steps for word in re.findall(r"\w+", step.text)}
    named |= {name for fields in exchange.members.values() for name, _ in fields}
    drawn = {}
    for api, oldest in OLDER.items():
        declared = APIS[messages.KEYS[api]]
        newest = min(declared.versions.highest, messages.CAPS.get(api, declared.versions.highest))
        fitting = [v for v in range(oldest, newest + 1) if not named & _missing(declared.key, v)]
        if fitting:
            drawn[api] = dice.choice(fitting)
    return drawn


@cache
def _missing(key: int, version: int) -> frozenset[str]:
    """Return the fields that the newest version of an API has and this one lacks."""

    def names(message: type[Message], at: int) -> Iterator[str]:
        for field in fields_of(message):
            if field.present(at):
                yield field.name
                if isinstance(field.wire.element, type):
                    yield from names(field.wire.element, at)

    api = APIS[key]
    both = (api.request.message, api.response.message)
    newest = {name for message in both for name in names(message, api.versions.highest)}
    return frozenset(newest - {name for message in both for name in names(message, version)})


def dialogue(rule: type[Rule], which: str, seed: int, *, fast: bool = False, alone: bool = False) -> Dialogue | None:
    """Play a variation of an example. Returns None if the broker does not answer as the text says, so that the variation says nothing
    about the rule. With `alone` no other dialogue has a client of the same name."""
    dice = Random(f"{rule.code} {which} {seed} {fast}")
    exchange, quick = variation(rule, which, dice, fast)
    mark = f"{rule.code}-{which}-{seed}"
    if alone or dice.random() < 0.7:
        exchange = _named(exchange, mark)
    stage = OccasionStage(exchange.wanted_settings, mark, f"/10.0.0.{dice.randrange(1, 4)}", dice.randrange(1, 2**31))
    outcome = play(next(exchange.variants()), stage)
    if outcome.verdict != KEPT:
        return None
    return Dialogue(quick, _lines(stage.kept.rows), _lines(stage.recorded.rows))


def _named(exchange: Exchange, mark: str) -> Exchange:
    """Give the clients of an exchange names that end with this mark."""
    members = {str(step.member).partition("/")[0] for step in exchange.steps if isinstance(step, Send | Await | Raw | Act)}
    named = {member: (("client_id", Literal(f"{member}-{mark}")), *exchange.members.get(member, ())) for member in sorted(members)}
    steps = (replace(step, fields=_marked(step.fields, mark)) if isinstance(step, Send) else step for step in exchange.steps)
    return replace(exchange, members=exchange.members | named, steps=tuple(steps))


def _marked(fields: Fields, mark: str) -> Fields:
    return tuple(
        (
            name,
            Literal(f"{value.value}-{mark}")
            if name == "client_id" and isinstance(value, Literal) and isinstance(value.value, str)
            else value,
        )
        for name, value in fields
    )


def _lines(rows: Sequence[Row]) -> Lines:
    kept = [row for row in rows if not (isinstance(row, NoteRow) and row.what == END)]
    return tuple(msgspec.json.decode(msgspec.json.encode(row)) for row in kept)


def audited(parts: Sequence[Lines], dice: Random) -> Audit:
    """Merge dialogues by time into one journal file, and audit what is read from it. The first one begins at its own time."""
    starts = [0, *(dice.randrange(STARTS_MS * NS_PER_MS) for _ in parts[1:])]
    rows = merge(*(_moved(part, place, start) for place, (part, start) in enumerate(zip(parts, starts, strict=True))), key=_time)
    lines = [_line(place, row | {"seq": seq}) for seq, (_, place, row) in enumerate(rows, 1)]
    text = b"\n".join([msgspec.json.encode(rig_header(VirtualClock())), *lines]) + b"\n"
    return audit(JournalReader(BytesIO(text)))


def _moved(rows: Lines, place: int, start: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    for row in rows:
        changed: dict[str, int] = {name: row[name] + start for name in TIMES if name in row}
        changed.update({name: row[name] + place * APART for name in NUMBERS if name in row})
        yield changed["t"], place, row | changed


def _time(row: tuple[int, int, dict[str, Any]]) -> int:
    return row[0]


def _line(place: int, row: dict[str, Any]) -> bytes:
    """Return the row as a journal line. Producers of two clusters have the same ids, so they are told apart by the dialogue's place."""
    return OF_PRODUCERS.sub(lambda found: found[0] + b"%d" % (place + 10), msgspec.json.encode(row))


@cache
def decent(code: str, which: str, seed: int) -> Dialogue | None:
    """Play a right variation of an example. Its rows are kept, because it is merged into many journals."""
    return dialogue(registered()[code], which, seed)


def examples_of(rule: type[Rule], verdict: str) -> list[str]:
    return [which for which in rule.examples() if which.startswith(verdict)]


def drawn_decent(codes: Sequence[str], dice: Random, pool: int) -> dict[str, Dialogue]:
    """Draw a right dialogue of each of these rules, from so many variations of each example. Those that are not answered as their text
    says are left out."""
    rules = registered()
    found = {code: decent(code, dice.choice(examples_of(rules[code], "kept")), dice.randrange(pool)) for code in codes}
    return {code: each for code, each in found.items() if each is not None}


def wrong_occasion(rule: type[Rule], seed: int, pool: int) -> Occasion | None:
    """Play a wrong variation and judge it beside at most COMPANY right dialogues, or return None if the broker does not answer as the
    text says. Every other seed is fast."""
    examples = examples_of(rule, "broken")
    which = examples[seed // 2 % len(examples)]
    wrong = dialogue(rule, which, seed, fast=seed % 2 == 0, alone=True)
    if wrong is None:
        return None
    dice = Random(f"company of {rule.code} {seed}")
    parts = [wrong, *drawn_decent(dice.sample(list(registered()), dice.randrange(COMPANY + 1)), dice, pool).values()]
    return Occasion(wrong.fast, audited([part.journal for part in parts], dice), audited([part.recording for part in parts], dice))


def right_occasions(seed: int, pool: int) -> Iterator[tuple[list[str], Audit]]:
    """Draw a right dialogue of every rule, merge each CROWD of them, and yield the rules with the audit: every other seed that of the
    journals, else that of the recordings."""
    dice = Random(f"right {seed}")
    codes = list(registered())
    dice.shuffle(codes)
    for at in range(0, len(codes), CROWD):
        parts = drawn_decent(codes[at : at + CROWD], dice, pool)
        yield list(parts), audited([part.journal if seed % 2 else part.recording for part in parts.values()], dice)


def crowd_of(codes: Sequence[str], seed: int, pool: int) -> tuple[list[str], Audit] | None:
    """Merge CROWD different right dialogues of these rules into one journal. Returns the rules of the dialogues with the audit: every
    other seed that of the journals, else that of the recordings. None if no dialogue is answered as its text says."""
    dice, parts = Random(f"crowd {seed}"), dict[tuple[str, str, int], Dialogue]()
    for place in range(CROWD):
        code = codes[place % len(codes)] if place < len(codes) else dice.choice(codes)
        drawn = code, dice.choice(examples_of(registered()[code], "kept")), dice.randrange(pool)
        found = decent(*drawn)
        if found is not None:
            parts[drawn] = found
    if not parts:
        return None
    return [code for code, _, _ in parts], audited([part.journal if seed % 2 else part.recording for part in parts.values()], dice)


class Score(msgspec.Struct, kw_only=True):
    """The score of one rule. `wrong` and `fast` occasions were drawn, of which the rule `found` so many in journals and `recorded` so many
    in recordings; of `unseen` recordings it said that they do not show what it needs, or nothing. `right` occasions are dialogues of its
    own right examples in company. In all right journals the rule judged `judged` occasions: `kept` ones, and others that it could not look
    at. `alarms` are its findings where nobody broke it. `dropped` variations were not answered as their text says."""

    wrong: int = 0
    found: int = 0
    fast: int = 0
    fast_found: int = 0
    recorded: int = 0
    unseen: int = 0
    dropped: int = 0
    right: int = 0
    judged: int = 0
    kept: int = 0
    alarms: int = 0

    def add(self, other: Score) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


Scores = dict[str, Score]


def score_wrong(scores: Scores, code: str, seed: int, pool: int) -> list[str]:
    """Score a wrong occasion, and return sentences about what went wrong with the audit."""
    rule, score = registered()[code], scores[code]
    said: list[str] = []
    occasion = wrong_occasion(rule, seed, pool)
    if occasion is None:
        score.dropped += 1
        return said
    verdict, recorded = (each.rules[code].verdict for each in (occasion.journal, occasion.recording))
    score.wrong += 1
    score.found += verdict == BROKEN
    score.fast += occasion.fast
    score.fast_found += occasion.fast and verdict == BROKEN
    score.recorded += recorded == BROKEN
    score.unseen += recorded in (NOT_JUDGED, NOT_EXERCISED)
    if verdict != BROKEN:
        said.append(f"{code} is {verdict} in the journal of wrong occasion {seed}")
    if recorded not in (BROKEN, NOT_JUDGED, NOT_EXERCISED):
        said.append(f"{code} is {recorded} in the recording of wrong occasion {seed}")
    for each in (occasion.journal, occasion.recording):
        said += _alarms(scores, each, f"wrong occasion {seed} of {code}", {code, *rule.implies})
    return said


def score_right(scores: Scores, seed: int, pool: int) -> list[str]:
    """Score right occasions of every rule, and return a sentence for each false alarm."""
    return [said for codes, whole in right_occasions(seed, pool) for said in _score_right(scores, codes, whole, f"right occasion {seed}")]


def score_crowd(scores: Scores, codes: Sequence[str], seed: int, pool: int) -> list[str]:
    """Score right occasions of these rules, and of all others that look at something in them, like `score_right`."""
    found = crowd_of(codes, seed, pool)
    return [] if found is None else _score_right(scores, *found, f"crowd {seed} of {', '.join(codes)}")


def _score_right(scores: Scores, codes: Sequence[str], whole: Audit, where: str) -> list[str]:
    for code in codes:
        scores[code].right += 1
    for code, tally in whole.rules.items():
        scores[code].kept += tally.kept
        scores[code].judged += tally.kept + sum(tally.not_judged.values())
    return _alarms(scores, whole, where, set())


def _alarms(scores: Scores, found: Audit, where: str, broken: set[str]) -> list[str]:
    false = [finding for finding in found.findings if finding.rule not in broken]
    for finding in false:
        scores[finding.rule].alarms += 1
    return [f"{finding.rule} is a false alarm in {where}: {finding.sentence}" for finding in false]
