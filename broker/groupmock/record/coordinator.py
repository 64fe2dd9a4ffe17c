"""The changes of a group on an observed coordinator are inferred from requests and answers and written as `moved` and `member` rows.

groupmock's own coordinator writes a row whenever a group changes. A real one reports nothing, but each change is made by a request or shows
in an answer, so that an observer of both can infer it:

    | observed                                                        | inferred                                                   |
    |-----------------------------------------------------------------|------------------------------------------------------------|
    | JoinGroup answered MEMBER_ID_REQUIRED (79)                      | an id is reserved                                          |
    | JoinGroup of a reserved id, or of a client that needs none      | a member is added; from Empty, Stable, Completing: Preparing |
    | JoinGroup of a member with another list, or of the leader       | Preparing                                                  |
    | the first JoinGroup answer of a new generation                  | members that did not join are removed; Completing          |
    | the first SyncGroup answer without an error                     | Stable                                                     |
    | LeaveGroup of a member                                          | it is removed; Preparing, and Empty if it was the last     |
    | unexpected REBALANCE_IN_PROGRESS (27) to Heartbeat or SyncGroup | members with expired sessions are removed; Preparing       |
    | Heartbeat or SyncGroup answered UNKNOWN_MEMBER_ID (25)          | that member is removed                                     |
    | DeleteGroups answered 0                                         | Dead                                                       |

A JoinGroup or LeaveGroup counts when it comes, because its answer may be minutes away: that of a known member begins the rebalance that
groupmock's coordinator would begin. Its rows wait, with their own time, for the next request or answer of the group. If that is the
refusal, they are not written. A later refusal writes a row that undoes the change. If the recording cannot know (an unknown member, a
static member that returns), it waits for the answer, or for a 27 to another member.

The recorder keeps a model of its own beside the fold of rows (`groupmock.rounds`). The fold reads `moved` and `member` rows and cannot say
which of them to write. That depends on things that the fold does not have: unanswered JoinGroups, sessions, protocol lists, reserved ids,
members without an id. The fold also accepts every row for good, while here guesses are undone and rows wait.
tests/record/test_own_journal.py compares the fold's results for both kinds of rows.

docs/how-to/record.md lists what no wire shows: timers, members that expire while no request comes, a leader that is chosen before any
answer names it. Groups of the new protocol (KIP-848) have no phases; their rows are their requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock_codec.api_keys import DELETE_GROUPS, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, SYNC_GROUP
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, NONE, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID, error_name
from groupmock_codec.group_states import COMPLETING_REBALANCE, DEAD, PREPARING_REBALANCE, STABLE
from groupmock_codec.units import NS_PER_MS

from ..core.effects import Effect
from ..core.groups import causes
from .asked_join import about, joins_nameless, protocols, remember, shortened
from .heard_group import Effects, HeardGroup, HeardMember, Reason, seen
from .heard_groups import HeardGroups

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..net.seen import Seen

IDS_SINCE: Final = 4
"""From this version of JoinGroup on, a member that has no id first gets one (KIP-394)."""
Told = list[tuple[int, Effect]]
GUESSED: Final = (JOIN_GROUP, LEAVE_GROUP)
"""APIs whose requests are assumed to succeed until an answer says otherwise."""


class Guess(NamedTuple):
    """The rows of a request that is assumed to succeed, kept until the group's next request or answer, and the group as it was before
    the request."""

    ticket: int
    told: Told
    before: HeardGroup


class Overheard:
    """Infers the changes of every group of a recording from requests and answers. `asked` and `answered` return the inferred effects in
    order, each with its time (ns)."""

    def __init__(self, forgets: Callable[[str], None] = lambda group_id: None) -> None:
        """Call `forgets` with the id of each group that is not followed any more."""
        self.groups = HeardGroups(self._forgotten)
        self._forgets = forgets
        self._left: dict[int, list[HeardMember]] = {}  # Maps the ticket of a LeaveGroup to the members that it removed.
        # Maps a group to the last request that named it, as long as nothing else was seen of the group.
        self._guesses: dict[str, Guess] = {}

    def noticed(self, call: Seen) -> Told:
        """Return the rows of the group's previous request, whose success is certain because the group's next request is being handled."""
        return [] if call.message is None or call.codec.key not in _ASKED else self._settled(call, 0)

    def asked(self, call: Seen) -> Told:
        """Return the rows that a request causes if it succeeds. `noticed` is called before."""
        take, message = _ASKED.get(call.codec.key), call.message
        if take is None or message is None:
            return []
        out: Effects = []
        group_id, guessed = getattr(message, "group_id", ""), call.codec.key in GUESSED
        before = self._group(group_id).copy(getattr(message, "member_id", "")) if guessed else None
        self._expire(call, message, call.handled, out)
        take(self, call, message, out)
        stamped = [(call.handled, effect) for effect in out]
        if before is None or not stamped:
            return stamped
        self._guesses[group_id] = Guess(call.ticket, stamped, before)
        return []

    def answered(self, call: Seen, message: Message | None, now: int) -> Told:
        """Return the rows that follow from an answer."""
        take = _ANSWERED.get(call.codec.key)
        if take is None or message is None or call.message is None:
            return []
        out: Effects = []
        code = getattr(message, "error_code", 0)
        joined = call.codec.key == JOIN_GROUP and not code
        told = self._settled(call, code, joined)
        take(self, call, call.message, message, now, out)
        group_id = getattr(call.message, "group_id", "")
        if group_id not in self._guesses:
            self.groups.forget_refused(group_id)
        stamped = [(now, effect) for effect in out]
        group = self.groups.get(getattr(call.message, "group_id", "")) if joined else None
        if group is None or not (group.unsaid or group.nameless):
            return told + stamped
        group.unsaid += stamped
        return told if group.nameless else told + group.say()

    def member(self, call: Seen) -> HeardMember | None:
        """Return the member that sent this heartbeat."""
        return self._member(call.message)

    def settle(self) -> Told:
        """Return all rows of requests whose success was only assumed, because the recording ends and no answer can refute them."""
        guesses, self._guesses = self._guesses, {}
        guessed = [each for guess in guesses.values() for each in guess.told]
        return guessed + [each for group in self.groups.values() for each in group.say()]

    def _settled(self, call: Seen, code: int, joined: bool = False) -> Told:
        """Return the waiting rows of a group that a request or answer confirms, or none if the answer refuses the request that they
        assumed to succeed. `joined` marks a further JoinGroup answer of a generation, after which the rows of earlier answers may still
        wait."""
        group_id = getattr(call.message, "group_id", "")
        guess, group = self._guesses.pop(group_id, None), self.groups.get(group_id)
        if guess is not None and code and guess.ticket == call.ticket:
            self.groups[group_id] = guess.before
            return []
        guessed = [] if guess is None else guess.told
        return guessed if group is None or joined else guessed + group.say()

    def _join_asked(self, call: Seen, asked: Any, out: Effects) -> None:
        self.groups.bound(asked.group_id, call.handled)
        group, member_id, instance = self._group(asked.group_id), asked.member_id, asked.group_instance_id
        known = group.members.get(member_id)
        if not asked.group_id or not group.fits(asked.protocol_type, protocols(asked)):
            return  # The coordinator will refuse this JoinGroup, so it changes nothing.
        if known is not None:
            self._rejoins(group, known, call, asked, out)
        elif member_id in group.reserved:
            self._joins(group, call, asked, member_id, out)
        elif member_id:
            remember(group.waiting, call.ticket, seen(f"member {member_id} sent a JoinGroup"))
        elif (returning := group.of_instance(instance)) is not None:
            remember(group.waiting, call.ticket, causes.instance_returned(instance, returning.member_id, asked.reason))
        elif instance is not None or call.codec.version < IDS_SINCE:
            self._joins(group, call, asked, None, out)

    def _joins(self, group: HeardGroup, call: Seen, asked: Any, member_id: str | None, out: Effects) -> None:
        """Add a member that joins. A member without an id is named by its ticket until an answer gives its id."""
        group.created(out, call.client_id, call.handled)
        if not group.members and group.whole:
            group.protocol_type = asked.protocol_type
        who = f"ticket {call.ticket}" if member_id is None else member_id
        member = HeardMember(**about(call, asked), member_id=who, parked=call.ticket, alive=call.handled, nameless=member_id is None)
        why: Reason = causes.member_joined(member_id) if member_id else joins_nameless(asked.group_instance_id, call.client_id)
        group.add(out, member, why)
        if asked.reason and isinstance(why, causes.Why):
            why = causes.with_reason(why, asked.reason)
        self._came(group, call, why, out)

    def _came(self, group: HeardGroup, call: Seen, why: Reason, out: Effects) -> None:
        if group.state == PREPARING_REBALANCE:
            group.last = why
        else:
            group.prepare(out, why, call.handled, call.ticket)

    def _rejoins(self, group: HeardGroup, member: HeardMember, call: Seen, asked: Any, out: Effects) -> None:
        named = protocols(asked)
        same, leads, member_id = named == member.protocols, group.leader == member.member_id, member.member_id
        # The member gets its last answer again, which changes nothing for the group (SERVER-17, SERVER-20).
        if same and (group.state == COMPLETING_REBALANCE or (group.state == STABLE and not leads)):
            return
        if not same:
            member.protocols = named
            group.changed(out, member, "updated", causes.protocols_changed(member_id))
        member.parked, member.session_timeout_ms = call.ticket, asked.session_timeout_ms
        if group.state == PREPARING_REBALANCE:
            group.last = causes.all_joined(member_id)
            return
        why = causes.leader_rejoined(member_id, asked.reason) if same else causes.member_changed(member_id, asked.reason)
        group.prepare(out, why, call.handled, call.ticket)

    def _join_answered(self, call: Seen, asked: Any, answer: Any, now: int, out: Effects) -> None:
        group = self._group(asked.group_id)
        if answer.error_code == MEMBER_ID_REQUIRED:
            group.created(out, call.client_id, now)
            group.reserve(out, answer.member_id, call.client_id, now + asked.session_timeout_ms * NS_PER_MS)
        elif answer.error_code:
            self._join_refused(group, call, asked, answer.error_code, now, out)
        else:
            self._joined(group, call, asked, answer, now, out)
        group.waiting.pop(call.ticket, None)

    def _joined(self, group: HeardGroup, call: Seen, asked: Any, answer: Any, now: int, out: Effects) -> None:
        member = self._who(group, call, asked, answer.member_id, out)
        if group.protocol_type is None:
            group.protocol_type = asked.protocol_type
        if answer.generation_id != group.generation:
            if group.state != PREPARING_REBALANCE:
                why = group.waiting.get(call.ticket) or seen(f"member {answer.member_id} was told of a new generation")
                group.prepare(out, why, now)
            member.parked = call.ticket
            group.complete(out, answer.generation_id, answer.protocol_name, answer.leader, now)
        member.parked, member.alive, member.asked = None, now, call.handled
        if answer.members:
            self._listed(group, answer, now, out)

    def _who(self, group: HeardGroup, call: Seen, asked: Any, member_id: str, out: Effects) -> HeardMember:
        """Return the member to which a JoinGroup answer is addressed, and record a member that was not known."""
        member = group.members.get(member_id)
        if member is not None:
            return member
        nameless = next((each for each in group.members.values() if each.nameless and each.parked == call.ticket), None)
        if nameless is not None:
            group.named(out, nameless, member_id)
            return nameless
        returning = group.of_instance(asked.group_instance_id)
        if returning is not None:
            returning.protocols, returning.session_timeout_ms = protocols(asked), asked.session_timeout_ms
            group.replaced(out, returning, member_id)
            return returning
        group.whole = group.whole and not asked.member_id
        made = group.members[member_id] = HeardMember(member_id=member_id, **about(call, asked))
        group.changed(out, made, "added", seen(f"member {member_id} was told of a generation"))
        return made

    def _listed(self, group: HeardGroup, answer: Any, now: int, out: Effects) -> None:
        """Compare the members in the leader's JoinGroup answer with the known ones: record unknown members as added and missing members
        as removed."""
        listed = {each.member_id: each for each in answer.members}
        group.whole = True
        for each in [each for each in group.members.values() if each.member_id not in listed and not each.nameless]:
            group.remove(out, each, seen(f"member {each.member_id} is not among those of generation {answer.generation_id}"))
        for member_id, told in listed.items():
            if member_id in group.members or any(each.nameless for each in group.members.values()):
                continue  # The answer to a member without an id will show which of the listed members it is.
            protocols = ((answer.protocol_name or "", shortened(told.metadata)),)
            made = HeardMember(member_id, told.group_instance_id, "", "", protocols, 0, alive=now)
            group.members[member_id] = made
            group.changed(out, made, "added", seen(f"member {member_id} is among those of generation {answer.generation_id}"))

    def _join_refused(self, group: HeardGroup, call: Seen, asked: Any, code: int, now: int, out: Effects) -> None:
        why = seen(f"its JoinGroup was answered {error_name(code)}")
        member = next((each for each in group.members.values() if each.parked == call.ticket), None)
        if member is None:
            if code == UNKNOWN_MEMBER_ID:
                self._gone(group, asked.member_id, "JoinGroup", now, out)
            return
        member.parked = None
        if member.alive == call.handled or code == UNKNOWN_MEMBER_ID:
            group.remove(out, member, why)
        if group.state == PREPARING_REBALANCE and group.begun_by == call.ticket and not any(each.parked for each in group.members.values()):
            group.back(out, seen(f"the JoinGroup that was taken for the beginning of a rebalance was answered {error_name(code)}"), now)

    def _sync_asked(self, call: Seen, asked: Any, out: Effects) -> None:
        member = self._member(asked)
        if member is not None:
            member.parked = call.ticket

    def _commit_answered(self, call: Seen, asked: Any, answer: Any, now: int, out: Effects) -> None:
        """Renew the session of a member whose commit succeeded, as a Heartbeat does."""
        member = self._member(asked)
        if member is not None and all(not each.error_code for topic in answer.topics for each in topic.partitions):
            member.asked, member.alive = call.handled, now

    def _sync_answered(self, call: Seen, asked: Any, answer: Any, now: int, out: Effects) -> None:
        group = self._heard(call, asked, answer.error_code, now, out)
        if group is None or answer.error_code or asked.generation_id != group.generation:
            return
        if group.state == COMPLETING_REBALANCE:
            group.move(out, STABLE, causes.leader_assigned(group.leader), now)

    def _heartbeat_answered(self, call: Seen, asked: Any, answer: Any, now: int, out: Effects) -> None:
        self._heard(call, asked, answer.error_code, now, out)

    def _heard(self, call: Seen, asked: Any, code: int, now: int, out: Effects) -> HeardGroup | None:
        """Note what an answer's error code tells about the member that asked and about its group."""
        group = self.groups.get(asked.group_id)
        if code == UNKNOWN_MEMBER_ID:
            if group is not None:
                self._gone(group, asked.member_id, call.codec.name, now, out)
            return None
        if code not in (NONE, REBALANCE_IN_PROGRESS):
            return group
        group = self._group(asked.group_id)
        member = group.members.get(asked.member_id)
        if member is None:
            member = self._found(group, call, asked)
        # The session is not renewed by a SyncGroup in the state Stable, as in Kafka 4.3 (docs/kafka/releases.md#p1-c3).
        member.asked, member.alive = member.asked if call.codec.key == SYNC_GROUP else call.handled, now
        if call.codec.key == SYNC_GROUP:
            member.parked = None
        # A request that was sent before the last change of state shows nothing new.
        if code == REBALANCE_IN_PROGRESS and group.state in (STABLE, COMPLETING_REBALANCE) and call.handled >= group.since:
            self._out_of_the_blue(group, call, asked.member_id, now, out)
        return group

    def _found(self, group: HeardGroup, call: Seen, asked: Any) -> HeardMember:
        """Add a member that joined before the recording began. The group is not completely known then."""
        if not group.told:
            group.state, group.generation = STABLE, asked.generation_id
        group.whole = False
        instance = getattr(asked, "group_instance_id", None)
        found = HeardMember(asked.member_id, instance, call.client_id or "", call.connection.client_host, (), 0)
        group.members[asked.member_id] = found
        return found

    def _out_of_the_blue(self, group: HeardGroup, call: Seen, member_id: str, now: int, out: Effects) -> None:
        """Record a rebalance whose cause was not seen: an expired session, if one may have expired."""
        silent = group.perhaps_overdue(now, member_id) if group.whole and not group.waiting else None
        if silent is not None:
            self._expired(group, silent, now, out)
            return
        unseen = seen(f"{call.codec.name} of member {member_id} was answered 27, and what began the rebalance was not seen")
        group.prepare(out, next(iter(group.waiting.values()), unseen), now)

    def _expire(self, call: Seen, asked: Any, now: int, out: Effects) -> None:
        """Record members whose session has expired as removed. The coordinator started the session timer no later than the last sign of
        life was seen."""
        group = self.groups.get(getattr(asked, "group_id", ""))
        if group is None or not group.whole:
            return
        gone = [each for each in group.overdue(now) if each.member_id != getattr(asked, "member_id", "")]
        for each in gone:
            self._expired(group, each, now, out)

    @staticmethod
    def _expired(group: HeardGroup, member: HeardMember, now: int, out: Effects) -> None:
        why = causes.session_expired(member.member_id, member.session_timeout_ms, False)
        group.remove(out, member, why)
        group.went(out, why, now)

    def _gone(self, group: HeardGroup, member_id: str, api: str, now: int, out: Effects) -> None:
        """Record a member as removed, because its request was answered UNKNOWN_MEMBER_ID (25)."""
        member = group.members.get(member_id)
        if member is None:
            return
        overdue = member in group.overdue(now)
        why: Reason = (
            causes.session_expired(member_id, member.session_timeout_ms, False)
            if overdue
            else seen(f"{api} of member {member_id} was answered {error_name(UNKNOWN_MEMBER_ID)}")
        )
        group.remove(out, member, why)
        if group.whole:
            group.went(out, why, now)

    def _leave_asked(self, call: Seen, asked: Any, out: Effects) -> None:
        group = self.groups.get(asked.group_id)
        if group is None:
            return
        entries = asked.members if call.codec.version >= 3 else [asked]
        gone, left = [], []
        for entry in entries:
            instance, reason = getattr(entry, "group_instance_id", None), getattr(entry, "reason", None)
            member = group.members.get(entry.member_id) if entry.member_id else group.of_instance(instance)
            if member is not None:
                told = causes.member_left if entry.member_id else causes.instance_removed
                group.remove(out, member, told(member.member_id, reason))
                gone.append((entry.member_id, instance, reason))
                left.append(member)
            elif entry.member_id in group.reserved:
                del group.reserved[entry.member_id]
                if group.state == PREPARING_REBALANCE:  # The join phase waited for the member with the reserved id.
                    group.last = causes.members_left([(entry.member_id, instance, reason)])
                group.changed(out, entry.member_id, "removed", causes.reservation_left(entry.member_id))
        if gone:
            remember(self._left, call.ticket, left)
            group.went(out, causes.members_left(gone), call.handled, call.ticket)

    def _leave_answered(self, call: Seen, asked: Any, answer: Any, now: int, out: Effects) -> None:
        left, group = self._left.pop(call.ticket, []), self.groups.get(asked.group_id)
        refused = {each.member_id or each.group_instance_id for each in answer.members if each.error_code}
        if group is None or not (answer.error_code or refused):
            return
        for member in left:
            if (answer.error_code or member.member_id in refused) and answer.error_code != UNKNOWN_MEMBER_ID:
                group.members[member.member_id] = member
                why = error_name(answer.error_code or UNKNOWN_MEMBER_ID)
                group.changed(out, member, "added", seen(f"its LeaveGroup was answered {why}"))
        if group.state == PREPARING_REBALANCE and group.begun_by == call.ticket and answer.error_code:
            group.back(out, seen(f"the LeaveGroup that was taken for the beginning was answered {error_name(answer.error_code)}"), now)

    def _delete_answered(self, call: Seen, asked: Any, answer: Any, now: int, out: Effects) -> None:
        for result in answer.results:
            group = self.groups.pop(result.group_id, None) if not result.error_code else None
            if group is not None and group.told:
                group.move(out, DEAD, causes.group_deleted(call.client_id), now)

    def _member(self, asked: Any) -> HeardMember | None:
        group = self.groups.get(asked.group_id)
        return None if group is None else group.members.get(asked.member_id)

    def _group(self, group_id: str) -> HeardGroup:
        return self.groups.follow(group_id)

    def _forgotten(self, group_id: str) -> None:
        self._guesses.pop(group_id, None)
        self._forgets(group_id)


_ASKED: Final[dict[int, Callable[[Overheard, Seen, Any, Effects], None]]] = {
    JOIN_GROUP: Overheard._join_asked,
    SYNC_GROUP: Overheard._sync_asked,
    LEAVE_GROUP: Overheard._leave_asked,
    # A request for a heartbeat only shows that time has passed, so it changes nothing here.
    HEARTBEAT: lambda self, call, asked, out: None,
}
_ANSWERED: Final[dict[int, Callable[[Overheard, Seen, Any, Any, int, Effects], None]]] = {
    OFFSET_COMMIT: Overheard._commit_answered,
    JOIN_GROUP: Overheard._join_answered,
    HEARTBEAT: Overheard._heartbeat_answered,
    LEAVE_GROUP: Overheard._leave_answered,
    SYNC_GROUP: Overheard._sync_answered,
    DELETE_GROUPS: Overheard._delete_answered,
}
