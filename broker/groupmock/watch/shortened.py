"""Make the short log: one line for each rebalance, and lines for members, faults, commands, refusals, findings and expiries.

The facts of a rebalance come from `groupmock.rounds`, and its sentence from the story (`story.rebalancing`). The line of a new member has
its whole id, and later lines its short name (`anna#d7e8`). Members that join or leave during a rebalance are in the line of the rebalance.
A long rebalance is reported after `PATIENCE`, then repeatedly after twice the previous time, and when the rows end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from groupmock_codec.api_keys import SYNC_GROUP
from groupmock_codec.group_states import DEAD
from groupmock_codec.units import NS_PER_S

from ..journal.journal import NEVER
from ..journal.rows import CloseRow, CommandRow, FaultRow, MemberRow, MovedRow, NoteRow, ReplyRow, RequestRow, Row
from ..journal.whose import field
from ..rounds import GroupFold, Rebalance, Rebalances
from ..rounds.group_fold import LIVES_ON, replaced_by
from ..rounds.rebalance_model import UNDER_WAY
from ..story.awaited import waiting_for
from ..story.people import People
from ..story.rebalancing import (
    AT_REST,
    UNSEEN_PLAN,
    arrivals_told,
    at_rest,
    beside_shares,
    how_it_ended,
    shares_told,
    who_leads,
)
from ..story.sentences import how_gone, member_did, plain, refusal, sentence
from ..story.words import MOST, count, ids_shortened, listed, shortened, text
from .levels import Strangers, level_of
from .log_lines import LogLine

PATIENCE: Final = 10 * NS_PER_S
"""A rebalance that has not ended after this time is reported."""
TOLD_BY_WHO: Final = ("member_joined", "member_left", "instance_removed", "session_expired", "member_silent")
"""Causes of a rebalance that are not mentioned, because its line names the members that joined or left."""
ASSIGNED: Final = 100
"""The JSON line about a rebalance has the partitions of at most this many members."""


class Here:
    """The state of a group in the short log: who joined and left since its last rebalance, and when a running rebalance is to be
    reported."""

    __slots__ = ("came", "due", "fold", "gone", "patience", "people")

    def __init__(self, fold: GroupFold) -> None:
        self.fold = fold
        self.people = People()
        self.came: list[str] = []
        self.gone: dict[str, MemberRow] = {}
        self.due = NEVER
        self.patience = PATIENCE


class Shortened:
    """Makes the lines of the short log from rows. It keeps the present state of a group and no history."""

    def __init__(self) -> None:
        self._rebalances = Rebalances()
        self._groups: dict[str, Here] = {}
        self._strangers = Strangers()
        self._speaks: dict[int, tuple[str | None, str | None]] = {}  # Maps a connection to the group and member of its last SyncGroup.
        self._loose: str | None = None  # The group that a member has just left, because a rebalance may follow at the same moment.
        self._now = 0
        self.due = NEVER

    def tell(self, row: Row) -> Iterator[LogLine]:
        if self._loose is not None and row.t != self._now:
            yield from self._left_quietly()
        self._now = max(self._now, row.t)
        if row.t >= self.due:
            yield from self.overdue(row.t)
        over = self._folded(row)
        if isinstance(row, MovedRow):
            yield from self._moved(row, over)
        elif isinstance(row, MemberRow):
            yield from self._member(row)
        elif (level := level_of(row)) is not None and (times := self._strangers.told(row)) is not None:
            yield LogLine(row.t, level, self._sentence(row) + times, row)
        if isinstance(row, RequestRow) and row.api_key == SYNC_GROUP:
            self._speaks[row.connection] = field(row.message, "group_id"), field(row.message, "member_id")
        elif isinstance(row, CloseRow):
            self._speaks.pop(row.connection, None)

    def rest(self, now: int | None = None) -> Iterator[LogLine]:
        yield from self._left_quietly()
        self.due = NEVER
        for name, here in self._groups.items():
            if here.due != NEVER:
                here.due = NEVER
                yield self._line(self._now if now is None else now, "warning", name, here, "the run ends and ")

    def _folded(self, row: Row) -> Rebalance | None:
        try:
            return self._rebalances.feed(row)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):  # In a recorded journal a message may have any form.
            return None

    def _here(self, group: str) -> Here:
        here = self._groups.get(group)
        if here is None:
            here = self._groups[group] = Here(self._rebalances.of(group))
        return here

    def open(self, now: int) -> dict[str, str]:
        """Return a description of the running rebalance of each group. `now` is in ns of the run."""
        under = {name: here for name, here in self._groups.items() if here.fold.rebalance is not None}
        return {name: waiting_for(here.fold, here.people, (), now) or "" for name, here in under.items()}

    def _sentence(self, row: Row) -> str:
        """Return a row's sentence as the log shows it: without bytes and long ids, and with the member that gets an answer."""
        if isinstance(row, CommandRow | NoteRow):
            return plain(row)
        if isinstance(row, ReplyRow):
            return self._by(row.connection, f"connection {row.connection}: {text(row.api_name)} {refusal(row)}")
        told = ids_shortened(sentence(row))
        return self._by(row.connection, told) if isinstance(row, FaultRow | CloseRow) else told

    def _by(self, connection: int | None, told: str) -> str:
        """Insert into a text the name of the member that uses the connection."""
        group, member = self._speaks.get(connection, (None, None)) if connection is not None else (None, None)
        here = self._groups.get(group) if group is not None else None
        if here is None or not member:
            return told
        return told.replace(f"connection {connection}: ", f"connection {connection} ({here.people.name(member)}): ", 1)

    def _member(self, row: MemberRow) -> Iterator[LogLine]:
        here, member = self._here(row.group), row.member_id
        if row.what == "added":
            name = here.people.comes(row, None, row.client_id).name
            here.came.append(member)
            static = f", static id {text(row.group_instance_id)}, client {text(row.client_id)}" if row.group_instance_id is not None else ""
            yield self._said(row, f"{name} is member {_whole(row)}{static}")
        elif row.what == "replaced":
            before = replaced_by(member, row.reason)
            old = here.people.name(before)
            here.people.goes(before, row.t, "")
            name = here.people.comes(row, None, row.client_id).name
            yield self._said(row, f"{name} takes the place of {old}, static id {text(row.group_instance_id)}: it is member {_whole(row)}")
        elif row.what == "removed":
            yield from self._removed(row, here)
        elif row.what == "refused":
            yield self._said(row, f"{here.people.name(member, row.client_id)} {member_did(row)}")
            if member in here.people.here:  # The client of this request was a member already, but the group has no more room for it.
                here.people.goes(member, row.t, "")
                here.came[:] = [each for each in here.came if each != member]

    def _removed(self, row: MemberRow, here: Here) -> Iterator[LogLine]:
        known = row.member_id in here.people.here
        name = here.people.name(row.member_id, row.client_id)
        here.people.goes(row.member_id, row.t, "")
        if row.member_id in here.came:
            here.came.remove(row.member_id)
        if row.cause == "member_left" and known:
            here.gone[row.member_id] = row
            self._loose = row.group if here.fold.rebalance is None else self._loose
        else:
            yield self._said(row, f"{name} is gone: {how_gone(row)}")

    def _left_quietly(self) -> Iterator[LogLine]:
        """Yield the lines of members that left without a rebalance."""
        name, self._loose = self._loose, None
        here = self._groups.get(name) if name is not None else None
        if here is not None and here.fold.rebalance is None:
            for row in here.gone.values():
                yield self._said(row, f"{here.people.name(row.member_id)} is gone: {how_gone(row)}")
            here.gone.clear()

    def _said(self, row: MemberRow | MovedRow, told: str) -> LogLine:
        return LogLine(row.t, "info", f"group {text(row.group)}: {told}", row)

    def _moved(self, row: MovedRow, over: Rebalance | None) -> Iterator[LogLine]:
        here = self._here(row.group)
        if over is not None:
            here.due, here.patience = NEVER, PATIENCE  # `self.due` may be too early now, which only means that nothing is overdue then.
            yield LogLine(row.t, "info", f"group {text(row.group)}: {self._round(row, here, over)}", as_fields(row, over, here))
            here.came.clear()
            here.gone.clear()
            here.fold.last = None  # The last rebalance is dropped, because later answers have no line and groups may stay stable for ever.
        elif row.after in UNDER_WAY:
            if here.due == NEVER:
                here.due = row.t + here.patience
                self.due = min(self.due, here.due)
        elif row.after in AT_REST and here.gone:
            yield self._said(row, f"{self._who(here)} -> {at_rest(row.after, row.cause)}")
            here.gone.clear()
        else:
            yield LogLine(row.t, "info", self._sentence(row), row)
        if row.after == DEAD and row.cause not in LIVES_ON:
            self._groups.pop(row.group, None)
            self._rebalances.forget(row.group)

    def _round(self, row: MovedRow, here: Here, over: Rebalance) -> str:
        why = self._why(here, over)
        if row.after in AT_REST:
            reason = "" if row.cause in ("no_members_left", None) else f": {shortened(row.reason)}"
            took = f" {how_it_ended(over)}" if over.ended != over.began else ""
            return f"{why} -> {at_rest(row.after, row.cause)}{took}, generation {row.generation}{reason}"
        if not over.classic:
            told = "; ".join(filter(None, (text(over.protocol or ""), arrivals_told(over, here.people.name))))
            return f"{why} -> epoch {row.generation} {how_it_ended(over)}{': ' if told else ''}{told}"
        name, shares = here.people.name, over.shares()
        head = f"{why} -> generation {row.generation} {how_it_ended(over)}: {who_leads(over, name)}"
        head += f", {text(over.protocol)}" if over.protocol else ""
        if over.plan is None:
            return f"{head}; {UNSEEN_PLAN}"
        more = f" and {len(shares) - MOST} more of {count(len(over.plan.told), 'member')}" if len(shares) > MOST else ""
        return f"{head}; {'; '.join(shares_told(over, name).values())}{more}{beside_shares(over)}"

    def _why(self, here: Here, over: Rebalance) -> str:
        who = self._who(here)
        told = f"{who}, {shortened(over.reason)}" if who and over.cause and over.cause not in TOLD_BY_WHO else who or shortened(over.reason)
        return told + ("; the group is new" if over.generation_before == 0 and not over.members_before else "")

    def _who(self, here: Here) -> str:
        """Say which members joined and left since the last rebalance."""
        name = here.people.name
        parts = []
        if here.came:
            parts.append(f"{listed([name(each) for each in here.came])} {'joins' if len(here.came) == 1 else 'join'}")
        if here.gone:
            reasons = {how_gone(row) for row in here.gone.values()}
            how = next(iter(reasons)) if len(reasons) == 1 else "it left"
            parts.append(f"{listed([name(each) for each in here.gone])} {'left' + how.removeprefix('it left')}")
        return ", ".join(parts)

    def overdue(self, now: int) -> Iterator[LogLine]:
        for name, here in self._groups.items():
            if now >= here.due:
                here.patience *= 2
                here.due = now + here.patience
                yield self._line(now, "warning", name, here)
        self.due = min((here.due for here in self._groups.values()), default=NEVER)

    def _line(self, now: int, level: str, group: str, here: Here, before: str = "") -> LogLine:
        rebalance = here.fold.rebalance
        why = self._why(here, rebalance) if rebalance is not None else ""
        told = f"{before}{waiting_for(here.fold, here.people, (), now)} ({why})" if rebalance is not None else f"{before}it rebalances"
        fields = {"kind": "rebalance", "t": now, "group": group, "ended": None, "state": here.fold.state}
        return LogLine(now, level, f"group {text(group)}: {told}", fields)


def _whole(row: MemberRow) -> str:
    """Return the whole member id, which only the first line about a member has."""
    host = f", from {text(row.client_host.lstrip('/'))}" if row.client_host else ""
    return f"{text(row.member_id, 300)}{host}"


def as_fields(row: MovedRow, over: Rebalance, here: Here) -> dict[str, Any]:
    """Return the facts of a rebalance as the fields of a JSON log line. Times are ns of the run, members their ids. `assignment` has
    member id -> topic -> partitions of the first `ASSIGNED` members, or null if no assignment was seen."""
    plan = over.plan
    told = list(plan.told.items()) if plan is not None else []
    return {
        "kind": "rebalance", "seq": row.seq, "t": row.t, "node": row.node, "group": over.group, "number": over.number, "began": over.began,
        "ended": over.ended, "state": over.ended_in, "generation_before": over.generation_before, "generation": over.generation_after,
        "members": over.members_after, "cause": over.cause or None, "reason": over.reason, "leader": over.leader, "protocol": over.protocol,
        "came": here.came[:], "left": list(here.gone),
        "assignment": {member: _by_topic(each.assigned) for member, each in told[:ASSIGNED]} if plan is not None else None,
        "assignment_left_out": max(0, len(told) - ASSIGNED),
        "arrivals": None if over.classic else _arrivals(over),
    }  # fmt: skip


def _arrivals(over: Rebalance) -> dict[str, dict[str, int | None]]:
    """Return for each member of a consumer group when it was told to revoke partitions, when it had done so, and when it reached its
    target."""
    some = list(over.arrivals.items())[:ASSIGNED]
    return {member: {"told": each.told, "gave_up": each.gave_up, "arrived": each.arrived} for member, each in some}


def _by_topic(partitions: Any) -> dict[str, list[int]]:
    numbers_of: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        numbers_of.setdefault(topic, []).append(number)
    return numbers_of
