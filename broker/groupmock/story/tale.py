"""Makes the lines of one group's story from its rows. The group's state comes from `groupmock.rounds`, its members from `people`.

A line says what happened and what resulted from it. Heartbeats without an error have no lines. Repeated commits, offset fetches and
refusals share one line (`folding`). A line about a refusal has the error's name and its cause (`refusals`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from groupmock_codec.group_states import DEAD, EMPTY, PREPARING_REBALANCE, STABLE

from ..journal.rows import (
    AbandonedRow,
    CloseRow,
    CommandRow,
    FaultRow,
    FindingRow,
    MemberRow,
    MovedRow,
    ReplyRow,
    RequestRow,
)
from ..journal.whose import asks_again, field
from ..rounds import GroupFold, Listeners, Partition, Rebalance
from ..rounds.embedded import Partitions
from ..rounds.group_fold import BEHIND_THEIR_BACKS, LEFT, LOADED, replaced_by
from . import offset_lines, record_lines, task_lines
from .asked import Asked
from .awaited import Known, SyncPhases, waiting_for
from .begun import Begun
from .committed import COMMIT, RESET, Committed
from .endings import Endings
from .evidence import Evidence
from .exchanged import ASKED, TopicNames, errors_of, said
from .folding import Line, Offsets, Together
from .not_let_in import GIVES_RIGHTS
from .people import People, Person
from .reading import Reading
from .rebalancing import UNSEEN_PLAN, arrivals_told, at_rest, beside_shares, how_it_ended, shares_told, who_leads
from .refusals import member_of, why
from .releases import Releases
from .sentences import TOWARDS_TARGET, how_gone, member_did
from .tally import Tally
from .words import MOST, count, facts, listed, member_text, shortened, text

RESERVED: Final = 100_000
"""At most this many assigned member ids are remembered whose clients have not joined with them."""
FEW: Final = 3
"""At most this many members are described in one line."""
ORDERS: Final = ("expire_member", "jump_timer", "fence_instance", "fence_member", "force_rebalance", "complete_delay", "release_group")
"""Commands that force something to happen that otherwise happens on its own."""
TAKEN_OVER: Final = "instance_taken_over"
"""The cause of a replacement of a member by a command, so that no client has joined."""
SILENT: Final = re.compile(r" expired after (\d+) ms$")
EXPECTED: Final = frozenset(("MEMBER_ID_REQUIRED",))
"""Errors that are not mentioned, because every dynamic member meets them with its first JoinGroup (KIP-394)."""
BEATS: Final = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", task_lines.BEAT)
HEARS: Final = "REBALANCE_IN_PROGRESS"
NEWS: Final = ("Heartbeat", "SyncGroup", "OffsetFetch", "ListOffsets", "Metadata")
"""Requests that do not change the group, so that it is not mentioned if their answers are lost."""


class Tale:
    """The story of one group. `fold` is the group as of the last row, and `owners` maps partitions to member ids by the plan of its
    generation. `names` maps topic ids to names. `open_on` describes the open transactions of a partition."""

    def __init__(self, fold: GroupFold, names: TopicNames, open_on: Callable[[Partition], list[str]]) -> None:
        self.fold = fold
        self.people = People()
        self.tally = Tally()
        self.committed = Committed()
        self.releases = Releases()
        self.tasks = task_lines.Tasks()
        self.names = names
        self.reading = Reading(names, open_on)
        self.owners: dict[Partition, str] = {}
        # The time of a command or fault rule that causes an event, its name, and the members concerned; an empty set means all.
        self._ordered: tuple[int, str, frozenset[str]] | None = None
        # The time and action of the last fault rule that was applied. Its action may be a command, whose row then gets no line.
        self._struck: tuple[int, str] | None = None
        self._joining: Asked | None = None  # The JoinGroup request that was handled last.
        self.evidence = Evidence(names)
        self._begun = Begun(fold, self.people)
        fold.ownership.listeners = Listeners(changed=self._owns)
        self._held: Line | None = None  # A line about a member that joined or left, which waits because a rebalance may follow.
        self._endings = Endings()
        self._hold: str | None = None  # The state in which an operator's command holds the group.
        self.sync_phases = SyncPhases()
        self._reserved: dict[str, MemberRow] = {}  # Reserved member ids whose clients have not sent their second JoinGroup.

    def _owns(self, member: str, before: Partitions, after: Partitions, at: int) -> None:
        person = self.people.here.get(member)
        self._begun.owns(member, before, after)
        self.evidence.owns(member, person.client_id if person is not None else None, before, after, at)

    @property
    def state(self) -> str:
        return self.fold.state

    @property
    def generation(self) -> int:
        """Return the group's last generation, or 0 if no row has one."""
        return self.fold.epoch or 0

    @property
    def since(self) -> int:
        """Return the time at which the group reached its present state."""
        return self.fold.since

    @property
    def here(self) -> str:
        return listed([person.name for person in self.people.here.values()])

    def flush(self) -> Iterator[Line]:
        """Yield the line that is held back until the next row."""
        if self._held is not None:
            held, self._held = self._held, None
            yield held

    def overdue(self, now: int) -> Iterator[Line]:
        """Yield the lines that were held back for long enough. `now` is in ns of the run."""
        yield from self._endings.overdue(now)

    @property
    def holds(self) -> bool:
        return self._held is not None or bool(self._endings)

    def end(self, now: int, known: Known) -> Iterator[Line]:
        """Yield the last lines, because there are no more rows. `now` is in ns of the run."""
        yield from self.flush()
        yield from self._endings.rest()
        for row in list(self._reserved.values())[:MOST]:
            who = f"{member_text(row.member_id, row.client_id)} asked to join, was told to come back with this id (KIP-394) and has not"
            yield Line(row.t, who, (row.member_id,))
        if (waiting := self.waiting(now, known)) is not None:
            yield Line(now, waiting)

    def waiting(self, now: int, known: Known) -> str | None:
        """Return a sentence that says what the group waits for, or None."""
        return waiting_for(self.fold, self.people, self._reserved.values(), now, known._replace(held=self._hold))

    # -- what the coordinator says

    def member(self, row: MemberRow) -> Iterator[Line]:
        """Describe that a member joined, left or changed."""
        if row.what == "reserved" and len(self._reserved) < RESERVED:
            self._reserved[row.member_id] = row
        if row.what in ("reserved", "led"):
            return
        self._reserved.pop(row.member_id, None)
        yield from self.flush()
        who = (row.member_id,)
        if row.what == "added":
            person = self.people.comes(row, self._first(), row.client_id)
            self._held = Line(row.t, f"{person.name} joins{person.wishes}", who)
        elif row.what == "removed":
            yield from self._endings.gone(row.member_id)
            name, how = self.people.name(row.member_id, row.client_id), self._how_gone(row)
            if (former := self.people.here.get(row.member_id)) is not None:
                self.evidence.waits((each for each in self.reading.waiting if each.who == name), row.t)
                self.evidence.goes(row, former, how, bool(self._by_order(row.t, row.member_id)))
            self._goes(row.member_id, row.t, how)
            self.tally.gone.more(f"{name} ({how})")
            self._held = Line(row.t, f"{name} is gone: {how}", who)
        elif row.what == "replaced":
            yield from self._replaced(row)
        elif row.what == "updated":
            again = self.people.here.get(row.member_id)
            wishes = again.wishes if again is not None else ""
            self._held = Line(row.t, f"{self.people.name(row.member_id)} {member_did(row)}{wishes}", who)
        elif row.what in TOWARDS_TARGET:
            if row.what == "away":
                self.evidence.leaves_for_now(row.member_id)
            yield Line(row.t, f"{self.people.name(row.member_id)} {member_did(row)}", who)
        elif row.what == "refused":
            if row.member_id in self.people.here:
                self._goes(row.member_id, row.t, shortened(row.reason))
            yield Line(row.t, f"{member_text(row.member_id, row.client_id)} {member_did(row)}", who)

    def _goes(self, member: str, at: int, how: str) -> None:
        self.people.goes(member, at, how)
        self._begun.goes(member)

    def _replaced(self, row: MemberRow) -> Iterator[Line]:
        old = replaced_by(row.member_id, row.reason)
        before = self.people.name(old)
        self.owners = {each: row.member_id if owner == old else owner for each, owner in self.owners.items()}
        how = f"static id {text(row.group_instance_id)} came back as another member"
        replaced = self.people.here.get(old)
        self._goes(old, row.t, how)
        # In the group's row a replaced static member keeps its old client id, as in Kafka, so the new client id is taken from the
        # JoinGroup.
        joins = self._joining if row.cause != TAKEN_OVER else None
        by = joins.client_id if joins is not None else row.client_id if row.cause != TAKEN_OVER else None
        person = self.people.comes(row, self._first() if joins is not None else None, by)
        if replaced is not None and joins is not None:
            self.evidence.takes_place(row, replaced, by)
        client = f" (client {text(by)})" if by else ""
        taken = f"{person.name}{client} takes the place of {before}: static id {text(row.group_instance_id)}{self._by_order(row.t, old)}"
        yield Line(row.t, taken, (row.member_id, old))

    def _first(self) -> tuple[Any, int] | None:
        return (self._joining.message, self._joining.connection) if self._joining is not None else None

    def _how_gone(self, row: MemberRow) -> str:
        ordered = self._by_order(row.t, row.member_id)
        if row.cause == "session_expired":
            waited = SILENT.search(row.reason)
            return f"{how_gone(row)}{ordered or (f', nothing was heard of it for {waited[1]} ms' if waited is not None else '')}"
        return f"{how_gone(row)}{ordered}"

    def _by_order(self, t: int, member_id: str) -> str:
        """Return the name of the command or fault rule that caused an event of that time for that member, or ""."""
        at, by, to = self._ordered if self._ordered is not None else (-1, "", frozenset())
        return f", ordered by {by}" if at == t and (not to or member_id in to) else ""

    def moved(self, row: MovedRow, over: Rebalance | None) -> Iterator[Line]:
        """Describe that the group went to another state. `over` is the rebalance that ended with it."""
        self.committed.moved(row)
        if (begun := over or self.fold.rebalance) is not None:
            self.tally.rebalances(begun)
        if row.cause == LEFT:
            yield from self._endings.rest(kept=False)
        never_dealt = self.sync_phases.moved(row, self.people.name)
        if row.after == PREPARING_REBALANCE:
            yield from self._rebalances(row, f"; {never_dealt}" if never_dealt else "")
        elif row.after == STABLE and over is not None and over.classic:
            yield from self.flush()
            yield from self._dealt(row, over)
        elif row.after == STABLE and over is not None:
            yield from self.flush()
            yield from self._arrived(row, over)
        elif row.after == row.before:
            yield from self.flush()
            counted = "generation" if row.cause == BEHIND_THEIR_BACKS else "epoch"
            yield Line(row.t, f"{counted} {row.generation}: {shortened(row.reason)}")
        elif row.after in (EMPTY, DEAD) and row.before:
            yield from self.flush()
            if row.cause != LEFT:
                self.owners = {}
            yield Line(row.t, f"{at_rest(row.after, row.cause)}: {shortened(row.reason)}")
        elif row.cause == LOADED:
            yield from self.flush()
            self._back()
            what = f"{text(row.after)}, generation {row.generation}, {count(row.members, 'member')}"
            yield Line(row.t, f"the group has a coordinator again, {what}: {shortened(row.reason)}")

    def _back(self) -> None:
        """Restore the members from the group's last record in the log, because the coordinator has loaded the group."""
        for member in [member for member in self.people.here if member not in self.fold.members]:
            self._goes(member, self.since, "the coordinator loaded the group without it")
        for member in self.fold.members.difference(self.people.here):
            self.people.returns(member)

    def _arrived(self, row: MovedRow, over: Rebalance) -> Iterator[Line]:
        """Describe that a consumer group has reached its newest epoch. No line is needed if that took no time, because the lines about
        the members say everything."""
        if over.ended != over.began:
            told = arrivals_told(over, self.people.name)
            yield Line(row.t, f"everybody is at epoch {row.generation} {how_it_ended(over)}{': ' if told else ''}{told}")

    def _rebalances(self, row: MovedRow, never_dealt: str) -> Iterator[Line]:
        unused = row.generation == 0 and row.before in ("", EMPTY) and self.committed.known and not self.committed.offsets
        new = "; the group is new" if unused else ""
        if self._held is not None and self._held.at == row.t and row.cause != "forced":
            self._held.append(f"{new} -> rebalance{never_dealt}")
            yield from self.flush()
        else:
            yield from self.flush()
            yield Line(row.t, f"rebalance: {shortened(row.reason)}{self._by_order(row.t, '')}{new}{never_dealt}")

    def _dealt(self, row: MovedRow, over: Rebalance) -> Iterator[Line]:
        """Describe each member's assigned partitions in the line about the generation, or in a line for each of many members."""
        head, leads = f"generation {row.generation} {how_it_ended(over)}", who_leads(over, self.people.name)
        plan = over.plan
        self.owners = plan.holders() if plan is not None else {}
        if plan is None:
            yield Line(row.t, f"{head}: {leads}; {UNSEEN_PLAN}")
            return
        shares = over.shares()
        told = shares_told(over, self.people.name)
        apart = beside_shares(over)
        if len(shares) <= FEW:
            yield Line(row.t, f"{head}: {leads}; {'; '.join(told.values())}{apart}")
            return
        yield Line(row.t, f"{head}: {leads}, {count(len(plan.told), 'member')}{apart}")
        yield from (Line(row.t, f"  {text_of}", (member,)) for member, text_of in told.items())
        if len(shares) > MOST:
            yield Line(row.t, f"  and {len(shares) - MOST} more members")

    # -- what members ask and are answered

    def asked(self, row: RequestRow, asked: Asked) -> Iterator[Line]:
        """Describe that a request to the group was handled."""
        member_id = member_of(row.message)
        self.people.asks(member_id, row)
        yield from self._endings.back(member_id)
        self.handled(asked, row.t, row.seq)
        if row.api_name == "JoinGroup":
            self.people.joins(member_id, row.message, row.connection)
        elif row.api_name in BEATS and (told := self.people.beats(member_id, row.message, row.connection)) is not None:
            yield from self.flush()
            yield Line(row.t, told, (member_id,))

    def handled(self, asked: Asked, at: int, order: int) -> None:
        """Note that a request is handled now, either at once or when a fault rule releases it."""
        asked.handled(self, at, order)
        if asked.api == "JoinGroup" or (asked.api in BEATS and field(asked.message, "member_epoch") == 0):
            self._joining = asked
            self.tasks.joins(asked.message)

    def reads(self, row: RequestRow) -> Iterator[Line]:
        """Describe the partitions that a member begins to read with a Fetch of its client. The Fetch and not its answer is used, because
        the answer may come when another member owns the partition."""
        wanted = {each.partition: each.value for each in said(row.message, ASKED["Fetch"], self.names)}
        self.evidence.fetched(row.client_id)
        for member in self.people.ids_of(row.client_id) if wanted else ():
            self.evidence.reads(row.t, self.people.here[member], self.fold.ownership.of(member), wanted)
        for member, offsets in self._begun.asks(row.client_id, wanted).items():
            yield Offsets(row.t, self.people.name(member), "begins to read at", offsets, (), (member,))

    def answered(self, row: ReplyRow, asked: Asked) -> Iterator[Line]:
        """Describe the answer to a request to the group, or to another request of one of its members."""
        tell = _TELL.get(asked.api)
        if self.evidence.lacking and not errors_of(row):
            self.evidence.allowed(self.who(asked), asked.api)
        if row.delivered or asked.api not in NEWS:
            yield from tell(self, row, asked) if tell is not None else self.refused_whole(row, asked)
        if not row.delivered and asked.api != "Fetch":
            yield Line(row.t, f"{self.who(asked)}'s answer to {text(asked.api)} does not arrive", self.ids(asked))

    def who(self, asked: Asked) -> str:
        """Return the name of the member or client that sent a request."""
        member_id, person = member_of(asked.message), self._speaker(asked)
        return self.people.name(member_id, asked.client_id) if member_id or person is None else person.name

    def ids(self, asked: Asked) -> tuple[str, ...]:
        """Return the id of the member that sent the request, if known."""
        member_id, person = member_of(asked.message), self._speaker(asked)
        return (member_id,) if member_id else (person.member_id,) if person is not None else ()

    def _speaker(self, asked: Asked) -> Person | None:
        """Return the member that sent a request without a member id, by the client id, or by the connection if only the answer is known."""
        if asked.message is not None:
            return self.people.of_client(asked.client_id)
        found = self.people.of_connection(asked.connection)
        return found[0] if len(found) == 1 else None

    def refused(self, row: ReplyRow, asked: Asked, what: str, error: str, because: str = "") -> Line:
        """Describe a request that was refused. `what` leaves out the details that change with each repetition, so that repetitions become
        one line. `because` is the reason, if the caller knows more than the error."""
        who, at = self.who(asked), asked.told_at(row)
        self.tally.refused(who, asked.api, error, at)
        said_why = why(self, error, asked) or (f" ({because})" if because else "")
        self.evidence.refused(asked, at, who, self.ids(asked), error, said_why)
        return Line(at, f"{who}'s {what} REFUSED: {error}{said_why}", self.ids(asked), ("refused", who, what, error, said_why))

    def refused_whole(self, row: ReplyRow, asked: Asked) -> Iterator[Line]:
        """Describe each error of an answer in a line of its own."""
        for error in () if asks_again(row) else errors_of(row)[:MOST]:
            if error not in EXPECTED:
                yield self.refused(row, asked, text(asked.api), error)

    def _heard(self, row: ReplyRow, asked: Asked) -> Iterator[Line]:
        if row.error == HEARS:
            key = ("hears", asked.api, self.since)
            by = f"of it by {text(asked.api)}"
            yield Together(row.t, self.who(asked), f"hears {by}", f"hear {by}", self.ids(asked), key)
        else:
            yield from self.refused_whole(row, asked)

    # -- what others did to it

    def ordered(self, row: CommandRow) -> Iterator[Line]:
        """Describe a command that a test gave; commands of fault rules are left out."""
        if self._struck == (row.t, row.name):
            return
        if row.name in ("hold_group", "release_group"):
            self._hold = row.arguments.get("state")
        self.tally.orders.more(text(row.name))
        self.committed.ordered(row)
        self.evidence.tried |= row.name in (COMMIT, RESET)
        if row.name in GIVES_RIGHTS:
            self.evidence.lacking.clear()
        member = row.arguments.get("member")
        ids = self.people.matching(member) if isinstance(member, str) else frozenset()
        if row.name in ORDERS:
            self._ordered = (row.t, row.name, ids)
        told = {name: value for name, value in row.arguments.items() if name != "group"}
        yield Line(row.t, f"ordered by the test: {text(row.name)} {facts(told)}".rstrip(), ids)

    def struck(self, row: FaultRow, asked: Asked | None) -> Line:
        """Describe that a fault rule was applied. `asked` is the request, or None for a connection or a heartbeat without a row."""
        self._struck = (row.t, row.action)
        if row.action in ORDERS:
            self._ordered = (row.t, f"fault rule {text(row.rule)}", frozenset())
        self.tally.faults.more(text(row.rule))
        what, ids = self._struck_by(row, asked)
        done = f"{text(row.action)} {facts(row.fields)}".rstrip()
        return Line(row.t, f"fault rule {text(row.rule)} strikes {what}: {done}", ids, ("fault", row.rule, what, done))

    def _struck_by(self, row: FaultRow, asked: Asked | None) -> tuple[str, tuple[str, ...]]:
        if asked is not None:
            return f"{self.who(asked)}'s {text(asked.api)}", self.ids(asked)
        # The request was a heartbeat, because heartbeats that change nothing are not kept.
        people = self.people.of_connection(row.connection) if row.connection is not None else []
        names = " and ".join(each.name for each in people)
        what = f"{names}'s {'answer' if row.stage == 'reply' else 'request'}" if people else "a connection"
        return what, tuple(each.member_id for each in people)

    def abandoned(self, row: AbandonedRow, asked: Asked) -> Line:
        """Describe that the request will never be answered."""
        told = f"{self.who(asked)}'s {text(asked.api)} will never be answered: {shortened(row.reason)}"
        return Line(row.t, told, self.ids(asked))

    def closed(self, row: CloseRow) -> Iterator[Line]:
        """Note that the last connection of a member ended although the member has not left."""
        people = self.people.of_connection(row.connection)
        self.evidence.closed(row, [each.member_id for each in people])
        for person in people:
            person.closed = row.t
            self._endings.add(person, row)
        if self.fold.moved_because == LEFT:
            yield from self._endings.rest(kept=False)

    def found(self, row: FindingRow) -> Line:
        ids = (row.member_id,) if row.member_id else ()
        self.tally.odd.more(f"{text(row.rule)} broken")
        return Line(row.t, f"audit: {text(row.rule)} broken: {shortened(row.sentence)}; right: {shortened(row.instead)}", ids)


_TELL: Final = {
    "SyncGroup": Tale._heard,
    "Heartbeat": Tale._heard,
    "OffsetCommit": offset_lines.committed,
    "TxnOffsetCommit": offset_lines.committed,
    "OffsetDelete": offset_lines.deleted,
    "OffsetFetch": offset_lines.offsets_fetched,
    "Fetch": offset_lines.fetched,
    "ListOffsets": offset_lines.looked_up,
    "Metadata": offset_lines.topics,
    task_lines.BEAT: task_lines.answered,
    "ShareFetch": record_lines.refused,
    "ShareAcknowledge": record_lines.refused,
}
