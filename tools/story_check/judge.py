"""Judge each claim of a story by the facts in its journal: true, false or unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from groupmock_codec.group_states import STABLE

from .bench import Bench, Verdict, named, printed
from .claims import DROPPED, Claim, Partition, Partitions, offsets_of, read_head, read_section, sections_of, times_of
from .history import NOTHING, Commit, GroupFacts, History, Plan
from .reading import begins

NOT_THERE: Final = "not there yet"
OF_NO_GROUP: Final = re.compile(r"clients that were not served:$|transactional id [^:]+: \w+, ")
"""Sections of stories that make no claim about a group."""
TOO_MANY: Final = re.compile(r" \((\d+) members? for (\d+) partitions?\)")
COULD_NOT: Final = "rows could not be told"


@dataclass(frozen=True, slots=True)
class View:
    """The state of a group at the end of its story, as the server has it. `committed` maps partition to offset, `lag` is the sum over
    these partitions, None if unknown."""

    state: str
    generation: int
    members: int
    leader: str | None
    protocol: str | None = None
    committed: Mapping[Partition, int] | None = None
    lag: int | None = None


def judge(lines: Sequence[str], history: History, views: Mapping[str, View] | None = None) -> list[Verdict]:
    """Return a verdict for every claim of the printed story, in order. `views` maps a group to its server's state. Groups without one
    are judged by their rows."""
    verdicts: list[Verdict] = []
    dropped = 0
    called = {facts.shown: facts for facts in history.groups.values()}
    for section in sections_of(lines):
        if OF_NO_GROUP.match(section[0]):
            continue
        if (older := DROPPED.fullmatch(section[0])) is not None:
            dropped = int(older[1])
        elif section[0].startswith("("):
            true = COULD_NOT not in section[0]
            verdicts.append(Verdict("", Claim("untold", 0, section[0]), true, "every row of a journal of ours can be told"))
        if section[0].startswith("("):
            continue
        name = max((name for name in called if section[0].startswith(f"{name}: ")), key=len, default=None)
        if name is None:
            verdicts.append(Verdict("", Claim("head", 0, section[0]), False, "the journal has no such group"))
            continue
        facts = called[name]
        view = (views or {}).get(facts.name) or view_of_rows(facts, history)
        bench = Bench(facts, history, view.leader)
        head = read_head(section[0], name)
        verdicts.append(_stateless(bench, head, dropped) if head.kind == "stateless" else _head(bench, head, view))
        verdicts += (JUDGES[claim.kind](bench, claim) for claim in read_section(section))
    return verdicts


def view_of_rows(facts: GroupFacts, history: History) -> View:
    """Return the group's state at the end of the journal, from the coordinator's own rows."""
    if not facts.moves:
        return View("", 0, 0, None, committed=None if facts.offsets_changed_otherwise else facts.committed)
    last = facts.moves[-1]
    members, leader = last.members, last.leader
    for row in facts.members:
        if row.seq > last.seq:
            if row.what == "added" or (row.what == "removed" and facts.here.get(row.member_id)):
                members += 1 if row.what == "added" else -1
            if row.what == "led" or (row.what == "replaced" and row.reason.rpartition(" replaces ")[2] == leader):
                leader = row.member_id
    committed = None if facts.offsets_changed_otherwise else facts.committed
    return View(last.after, last.generation, members, leader, last.protocol_name, committed)


def _head(bench: Bench, claim: Claim, view: View) -> Verdict:
    if claim.kind == "unread":
        return bench.verdict(claim, False, "nobody can read this first line")
    told, wrong = claim.head, []
    if told["state"] != (view.state or NOT_THERE):
        wrong.append(f"the state is {view.state or NOT_THERE}")
    if int(told["generation"] or 0) != view.generation:
        wrong.append(f"the generation is {view.generation}")
    if int(told["members"] or 0) != view.members:
        wrong.append(f"it has {view.members} members")
    if told["leader"] is not None and view.leader not in bench.ids(told["leader"]):
        wrong.append(f"{view.leader or 'nobody'} leads")
    if told["protocol"] is not None and view.protocol is not None and told["protocol"] != view.protocol:
        wrong.append(f"its protocol is {view.protocol}")
    if told["nothing"] is not None and view.committed:
        wrong.append(f"committed is {dict(view.committed)}")
    if told["committed"] is not None and view.committed is not None:
        offsets, whole = offsets_of(told["committed"])
        if not offsets.keys() <= view.committed.keys() or (whole and offsets != dict(view.committed)):
            wrong.append(f"committed is {dict(view.committed)}")
    if told["lag"] is not None:
        wrong += _lag(bench, int(told["lag"]), view)
    rows = [bench.group.moves[-1].seq] if bench.group.moves else []
    return bench.verdict(claim, not wrong, "; ".join(wrong), rows)


def _stateless(bench: Bench, claim: Claim, dropped: int) -> Verdict:
    """Check the claim that the kept rows do not show the group's state. Rows are numbered from 1, and the first ones were dropped."""
    rows = [move.seq for move in bench.group.moves if move.seq > dropped]
    return bench.verdict(claim, bool(dropped) and not rows, "rows have its state", rows[:3])


def _lag(bench: Bench, lag: int, view: View) -> list[str]:
    """Check the lag that the first line of a story tells. Without the server's value, the log ends that rows show give a lower bound."""
    if view.lag is not None:
        return [] if lag == view.lag else [f"the lag is {view.lag}"]
    if view.committed is None:
        return []
    least = sum(max(0, bench.history.ends.get(place, 0) - offset) for place, offset in view.committed.items())
    return [f"the lag is {least} at least"] if lag < least else []


def _order(bench: Bench, claim: Claim) -> Verdict:
    times = times_of(claim.line.split("\n"))
    for (_, earlier), (number, later) in pairwise(times):
        if later < earlier:
            first = Claim("order", number, claim.line.split("\n")[number])
            return bench.verdict(first, False, f"a line of {earlier:.3f} stands before it")
    return bench.verdict(Claim("order", 0, ""), True)


def _unread(bench: Bench, claim: Claim) -> Verdict:
    return bench.verdict(claim, False, "it looks like a claim that is judged, but nobody can read it: teach tools/story_check/claims.py")


def _plan(bench: Bench, claim: Claim) -> Plan | None:
    return next((plan for plan in bench.group.plans if plan.number == claim.generation and printed(plan.t) == claim.at), None)


def _leads(bench: Bench, claim: Claim) -> Verdict:
    moves = [move for move in bench.group.moves if move.after == STABLE and printed(move.t) == claim.at]
    same = [move for move in moves if move.generation == claim.generation]
    if not same:
        return bench.verdict(claim, False, f"generation {claim.generation} did not become Stable then", [move.seq for move in moves])
    leaders = {move.leader for move in same} - {None}
    true = bool(leaders & bench.ids(claim.who)) if claim.who else not leaders
    return bench.verdict(claim, true, f"{', '.join(map(str, leaders)) or 'nobody'} leads", [move.seq for move in same])


def _leads_now(bench: Bench, claim: Claim) -> Verdict:
    return bench.verdict(claim, bench.leader in bench.ids(claim.who), f"{bench.leader or 'nobody'} leads")


def _share(bench: Bench, claim: Claim) -> Verdict:
    if claim.rest and not TOO_MANY.fullmatch(claim.rest):
        return _unread(bench, claim)
    plan = _plan(bench, claim)
    if plan is None:
        return bench.verdict(claim, None, "the plan of that generation is not in the journal")
    ids = bench.ids(claim.who)
    if not ids:
        return bench.verdict(claim, False, "nobody is called so")
    found = [_one_share(bench, claim, plan, member) for member in sorted(ids)]
    return next((each for each in found if each.true), next((each for each in found if each.true is None), found[0]))


def _one_share(bench: Bench, claim: Claim, plan: Plan, member: str) -> Verdict:
    rows = [plan.seq]
    if plan.before is None:
        return bench.verdict(claim, None, "the plan before is not in the journal", rows)
    had, has = _had(plan, plan.before, member), plan.shares.get(member, NOTHING)
    if had is None or has is None or not claim.whole:
        return bench.verdict(claim, None, "the partitions are not known", rows)
    if member not in plan.shares and not claim.loses:
        return bench.verdict(claim, False, f"it is no member of generation {plan.number}", rows)
    truth = {"keeps": had & has, "gets": has - had, "loses": had - has}
    wrong = [f"it {verb} {named(right)}" for verb, right in truth.items() if getattr(claim, verb) != right]
    crowd = TOO_MANY.fullmatch(claim.rest)
    if crowd is not None and (int(crowd[1]) > len(plan.shares) or int(crowd[2]) >= int(crowd[1]) or has):
        wrong.append(f"{len(plan.shares)} members are there, and it has {named(has)}")
    return bench.verdict(claim, not wrong, "; ".join(wrong), rows)


def _had(plan: Plan, before: Mapping[str, Partitions | None], member: str) -> Partitions | None:
    """Return the partitions that the previous assignment gave the member. A static member that came back has the partitions of its
    earlier id (KIP-345)."""
    if member in plan.heirs.values():
        return NOTHING
    while member in plan.heirs:
        member = plan.heirs[member]
    return before.get(member, NOTHING)


def _has(bench: Bench, claim: Claim) -> Verdict:
    if claim.rest:
        return _unread(bench, claim)
    plan = _plan(bench, claim)
    if plan is None or not claim.whole:
        return bench.verdict(claim, None, "the plan of that generation is not in the journal")
    shares = [plan.shares.get(member, NOTHING) for member in sorted(bench.ids(claim.who))]
    right = [share for share in shares if share is not None]
    return bench.verdict(claim, frozenset(claim.partitions) in right, f"it has {', '.join(map(named, right))}", [plan.seq])


def _epoch(bench: Bench, claim: Claim) -> Verdict:
    return _answered(bench, claim, lambda had, has: has)


def _owes(bench: Bench, claim: Claim) -> Verdict:
    return _answered(bench, claim, lambda had, has: had - has)


def _answered(bench: Bench, claim: Claim, right_of: Callable[[Partitions, Partitions], Partitions]) -> Verdict:
    """Check that at that time a heartbeat's reply told the member the partitions that the line names."""
    unread = False
    wrong: list[tuple[Partitions, int]] = []
    for member in sorted(bench.ids(claim.who)):
        given = bench.group.given.get(member, [])
        for place, each in enumerate(given):
            if printed(each.t) != claim.at or claim.generation not in (None, each.number):
                continue
            if each.partitions is None:
                unread = True
                continue
            right = right_of((given[place - 1].partitions if place else None) or NOTHING, each.partitions)
            told = frozenset(claim.partitions)
            if told == right or (not claim.whole and told <= right):
                return bench.verdict(claim, True)
            wrong.append((right, each.seq))
    if not wrong:
        return bench.verdict(claim, None if unread else False, "no answer to a heartbeat of that moment tells it partitions")
    return bench.verdict(claim, False, f"its answer says {named(wrong[-1][0])}", [wrong[-1][1]])


def _commits(bench: Bench, claim: Claim) -> Verdict:
    mine = [each for each in bench.group.commits if _by(bench, each, claim.who)]
    if claim.times == 1:
        then = [each for each in mine if _then(each, claim.at)]
        right = [each for each in then if _says(claim, each)]
        if not right:
            shown = "; ".join(str(each.offsets) for each in then) or "nothing"
            return bench.verdict(claim, False, f"it commits {shown} then", [each.seq for each in then])
        return _ended(bench, claim, right)
    window = [each for each in mine if float(printed(each.t)) >= float(claim.at) and float(printed(each.asked)) <= float(claim.until)]
    last: dict[Partition, int] = {}
    for each in window:
        last |= each.offsets
    rows = [each.seq for each in window]
    if not window or not _then(window[0], claim.at) or not _then(window[-1], claim.until) or len(window) < claim.times:
        return bench.verdict(claim, False, f"it has {len(window)} commits then", rows)
    odd = [each for each in window if _is_odd(bench, each)]
    if len(window) - len(odd) > claim.times:
        return bench.verdict(claim, False, f"it has {len(window)} commits then", rows)
    wrong = {place: last.get(place) for place, offset in claim.partitions.items() if claim.whole and last.get(place) != offset}
    if wrong and not odd:
        return bench.verdict(claim, False, f"the last are {wrong}", rows)
    return _ended(bench, claim, window)


def _then(commit: Commit, at: str) -> bool:
    """Tell whether the commit may have happened at the time that the line names: between its request and its answer, because a fault
    rule may delay either."""
    return float(printed(commit.asked)) <= float(at) <= float(printed(commit.t))


def _by(bench: Bench, commit: Commit, who: str) -> bool:
    """Tell whether the commit is by the member that the line names. A commit without a member id appears under its client id, or without
    a name."""
    ids = bench.ids(who)
    if commit.member_id:
        return commit.member_id in ids
    if any(commit.client_id in bench.group.clients.get(member, ()) for member in ids):
        return True
    nobody = who == "a client that is no member" if not commit.client_id else who.removesuffix(" (no member)") == commit.client_id
    return not ids and nobody


def _says(claim: Claim, commit: Commit) -> bool:
    return all(commit.offsets.get(place) == offset or not claim.whole for place, offset in claim.partitions.items()) and (
        claim.partitions.keys() <= commit.offsets.keys()
    )


def _ended(bench: Bench, claim: Claim, commits: list[Commit]) -> Verdict:
    """Check that the transactions to which these commits belong were committed."""
    open_ones = [each for each in commits if each.transaction is not None]
    if open_ones and claim.kind != "pending":
        return bench.verdict(claim, False, "its transaction did not end in a commit", [each.seq for each in open_ones])
    return bench.verdict(claim, True)


def _won(bench: Bench, claim: Claim) -> Verdict:
    """Check that the offsets which a line names belong to a transaction that was committed before."""
    won = [each for each in bench.group.commits if each.won is not None and float(printed(each.won)) <= float(claim.at)]
    offsets: dict[Partition, int] = {}
    for each in won:
        offsets |= each.offsets
    true = claim.partitions.items() <= offsets.items() if claim.whole else claim.partitions.keys() <= offsets.keys()
    return bench.verdict(claim, true, f"committed transactions have {offsets}", [each.seq for each in won])


def _back(bench: Bench, claim: Claim) -> Verdict:
    before = int(claim.rest.rpartition(" ")[2])
    for each in bench.group.commits:
        if _then(each, claim.at) and _by(bench, each, claim.who) and _says(claim, each):
            place, offset = next(iter(claim.partitions.items()))
            true = each.before.get(place) == before and offset < before
            return bench.verdict(claim, true, f"{each.before.get(place)} was committed before", [each.seq])
    return bench.verdict(claim, False, "it did not commit that then")


def _not_own(bench: Bench, claim: Claim) -> Verdict:
    for each in bench.group.commits:
        if _then(each, claim.at) and _by(bench, each, claim.who) and _says(claim, each):
            plan = bench.group.plan_at(each.seq)
            if plan is None:
                return bench.verdict(claim, None, "no plan is in the journal", [each.seq])
            owners = {place: _owner(plan, place) for place in claim.partitions}
            wrong = [place for place, owner in owners.items() if owner in (None, each.member_id) or not _named(bench, claim, owner)]
            return bench.verdict(claim, not wrong, f"{named(wrong)} is {[owners[place] for place in wrong]}'s", [each.seq, plan.seq])
    return bench.verdict(claim, False, "it did not commit that then")


def _named(bench: Bench, claim: Claim, member: str | None) -> bool:
    return any(name in claim.rest for name, ids in bench.group.names.items() if member in ids)


def _owner(plan: Plan, place: Partition) -> str | None:
    return next((member for member, share in plan.shares.items() if share is not None and place in share), None)


def _is_odd(bench: Bench, commit: Commit) -> bool:
    """Tell whether a story reports a part of the commit in another line, because it goes back or commits another member's partition."""
    plan = bench.group.plan_at(commit.seq)
    back = any(offset < commit.before.get(place, offset) for place, offset in commit.offsets.items())
    return back or (plan is not None and any(_owner(plan, place) not in (None, commit.member_id) for place in commit.offsets))


JUDGES: Final = {
    "order": _order,
    "unread": _unread,
    "leads": _leads,
    "leads now": _leads_now,
    "share": _share,
    "has": _has,
    "epoch": _epoch,
    "owes": _owes,
    "begins": begins,
    "commits": _commits,
    "pending": _commits,
    "won": _won,
    "back": _back,
    "not its own": _not_own,
}
"""Maps a kind of claim to the function that judges it. First lines are judged separately."""
