"""The findings of an audit do not depend on other traffic, on where the journal ends, or on missing rows.

A journal is an example of a rule: `[code, kept or broken]`, played with a group, clients and topics of its own.

* `audit-apart`. Case: `journals`: examples, each with the ms at which it begins; `ties`: the order of rows of the same time.
* `audit-prefix`. Case: `journal`: an example; `rows`: the number of its rows to keep.
* `audit-holes`. Case: `journal`: an example that keeps every rule; `holes`: [first row, count] of missing rows.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from random import Random
from typing import Any, Final

from audit_examples import exchange_of, from_a_file
from found import Case, Property
from wire_stage import WireStage

from groupmock.audit.auditor import Auditor, audit
from groupmock.audit.rule import registered
from groupmock.audit.verdicts import Tally
from groupmock.journal.read import UnknownRow
from groupmock.journal.rows import CloseRow, FramePlace, OpenRow, ReplyRow, RequestRow, Row
from groupmock_clients.probe.stages.contract import NotOnThisStage
from groupmock_clients.probe.verdicts.runner import play
from groupmock_codec.api_keys import HEARTBEAT

RULES: Final = registered()
MANY: Final = 100_000
"""Connections and tickets of an example are below this number, which is added per example to keep them distinct."""
HOUR_NS: Final = 3_600_000_000_000
WITNESS: Final = 99_000_000
"""Number of a connection that opens an hour later, when every timer of a rule has expired."""
AnyRow = Row | UnknownRow
Told = Counter[tuple[Any, ...]]


class OneOfMany(WireStage):
    """An exchange stage whose group and topics have unique names."""

    def __init__(self, settings: Mapping[str, str], number: int) -> None:
        self.number = number
        super().__init__(settings)

    def group(self) -> str:
        return f"g{self.number}"

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        return super().topic(f"{name}-of-{self.number}", partitions, configs)


@cache
def rows_of(code: str, which: str, number: int) -> tuple[AnyRow, ...]:
    exchange = exchange_of(RULES[code], which)
    stage = OneOfMany(exchange.wanted_settings, number)
    outcome = play(next(exchange.variants()), stage)
    assert outcome.verdict == "kept", f"{code}.{which}: {outcome}"
    stage.rig.close()
    return tuple(from_a_file(stage.kept.rows))


@cache
def playable(which: str) -> tuple[str, ...]:
    """Return the rules whose example can be played in an arbitrary group."""
    return tuple(code for code in RULES if all(_plays(code, which, number) for number in range(3)))


def _plays(code: str, which: str, number: int) -> bool:
    try:
        rows_of(code, which, number)
    except (AssertionError, NotOnThisStage):
        return False
    return True


# -- Other traffic


def _apart(case: Case) -> None:
    parts = _parts(case["journals"])
    end = max(row.t for part in parts for row in part) + HOUR_NS
    alone = sum((judged(_numbered([*part, _witness(end)])) for part in parts), Told())
    for key in [key for key in alone if key[0] is None and key[2] == "kept"]:
        alone[key] = 1  # A rule without a group counts as kept once, because findings without a group belong to all journals together.
    together = judged(_numbered([*_merged(parts, case["ties"]), _witness(end)]))
    assert together == alone, {"more": together - alone, "fewer": alone - together}


def _parts(journals: Iterable[tuple[str, str, int]]) -> list[list[AnyRow]]:
    return [_begun(rows_of(code, which, number), number, ms) for number, (code, which, ms) in enumerate(journals)]


def history(journals: Iterable[tuple[str, str, int]], ties: int) -> list[AnyRow]:
    """Return the rows of several examples that happen side by side, each (rule, kept or broken, ms at which it begins)."""
    return _merged(_parts(journals), ties)


def _begun(rows: Iterable[AnyRow], number: int, ms: int) -> list[AnyRow]:
    """Return the example's rows with a later start and with unique connections, clients and host."""
    found = []
    for row in map(copy.copy, rows):
        row.t += ms * 1_000_000
        if isinstance(row, RequestRow):
            row.received += ms * 1_000_000
            row.client_id = None if row.client_id is None else f"{row.client_id}{number}"
        if isinstance(row, ReplyRow) and row.written is not None:
            row.written += ms * 1_000_000
        if isinstance(row, FramePlace):
            row.ticket += number * MANY
        if isinstance(row, FramePlace | OpenRow | CloseRow):
            row.connection += number * MANY
        if isinstance(row, OpenRow):
            row.client_host = f"/10.0.0.{number}"
        row.seq += number * MANY
        found.append(row)
    return found


def _witness(t: int) -> AnyRow:
    return OpenRow(seq=WITNESS, t=t, connection=WITNESS, client_host="/10.9.9.9", client_port=1)


def _merged(parts: list[list[AnyRow]], ties: int) -> list[AnyRow]:
    """Merge the journals by time. Rows of the same time come in a random order that keeps the order within each part."""
    dice, left, found = Random(ties), [list(reversed(part)) for part in parts], []
    while any(left):
        first = min(part[-1].t for part in left if part)
        found.append(dice.choice([part for part in left if part and part[-1].t == first]).pop())
    return found


def _numbered(rows: list[AnyRow]) -> tuple[list[AnyRow], dict[int, int]]:
    """Number the rows without gaps and return each row's former number."""
    found, before = [], {}
    for seq, row in enumerate(map(copy.copy, rows), 1):
        before[seq], row.seq = row.seq, seq
        found.append(row)
    return found, before


def judged(numbered: tuple[list[AnyRow], dict[int, int]]) -> Told:
    """Count kept and broken rules by group, and the findings with the former numbers of their rows."""
    rows, before = numbered
    told: Told = Told()

    def over(group: str | None, tallies: dict[str, Tally]) -> None:
        for code, tally in tallies.items():
            # How often a rule was kept depends on which repeated heartbeats are adjacent, so only whether it was kept counts. Of rules that
            # look at heartbeats not even that, because the repetitions are not shown to them.
            told[group, code, "kept"] += tally.kept > 0 and HEARTBEAT not in RULES[code].observes()
            told[group, code, "broken"] += tally.broken
            for each in tally.findings:
                told[group, code, each.t, each.sentence, each.instead, each.member, tuple(before[row] for row in each.rows)] += 1
            assert tally.crashed is None, tally.crashed

    auditor = Auditor(over=over)
    for row in rows:
        auditor.feed(row)
    assert auditor.close().holes == []
    return +told


# -- Missing rows


def _prefix(case: Case) -> None:
    code, which = case["journal"]
    found = audit(rows_of(code, which, 0)[: case["rows"]])
    assert {tally.crashed for tally in found.rules.values()} == {None}


def _holes(case: Case) -> None:
    (code,) = case["journal"]
    missing = {place for first, count in case["holes"] for place in range(first, first + count)}
    found = audit(row for place, row in enumerate(rows_of(code, "kept", 0)) if place not in missing)
    assert {tally.crashed for tally in found.rules.values()} == {None}
    assert [str(each) for each in found.findings] == []


APART: Final = Property("audit-apart", _apart)
PREFIX: Final = Property("audit-prefix", _prefix)
HOLES: Final = Property("audit-holes", _holes)
