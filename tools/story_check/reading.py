"""Judge by Fetch requests whether a member begins to read where a story says so."""

from __future__ import annotations

from .bench import Bench, Verdict, named, printed
from .claims import Claim, Partition
from .history import NOTHING, Fetch, Plan


def begins(bench: Bench, claim: Claim) -> Verdict:
    """Check that Fetch requests list each partition from the offset that the line names, the first one at the time of the line. The
    sender must have been assigned the partition by the leader's newest assignment, and must not have fetched it since then. A Fetch names
    no member, so claims about one that shares its client id are unknown."""
    ids = bench.ids(claim.who)
    if not ids:  # If several members share this client id, the story names the client instead of a member.
        ids = {member for member, clients in bench.group.clients.items() if claim.who in clients}
        return _begun(bench, claim, ids) if ids else bench.verdict(claim, False, "nobody is called so")
    verdicts = [_begun(bench, claim, {member}) for member in sorted(ids)]
    return next((each for each in verdicts if each.true), next((each for each in verdicts if each.true is None), verdicts[0]))


def _is_shared(bench: Bench, member: str, seq: int) -> bool:
    """Tell whether other members with the same client id are in a group at that row."""
    return any(
        bench.history.groups[name].is_here(other, seq)
        for client in bench.group.clients.get(member, ())
        for name, members in bench.history.groups_of[client].items()
        for other in members - {member}
    )


def _begun(bench: Bench, claim: Claim, members: set[str]) -> Verdict:
    clients = {client for member in members for client in bench.group.clients.get(member, ())}
    fetches = sorted((each for client in clients for each in bench.history.fetches.get(client, ())), key=lambda each: each.seq)
    asked = [each for each in fetches if each.offsets.keys() & claim.partitions.keys()]
    at = [each for each in asked if printed(each.t) == claim.at]
    if not at:
        return bench.verdict(claim, False, "it asked for none of them then", [each.seq for each in asked][:3])
    plan = bench.group.plan_at(at[0].seq)
    shared = any(_is_shared(bench, member, at[0].seq) for member in members)
    for place, offset in claim.partitions.items():
        later = [each for each in asked if each.seq >= at[0].seq and place in each.offsets]
        if not later or bench.group.plan_at(later[0].seq) is not plan:
            return bench.verdict(claim, False, f"it did not ask for {named([place])} in that generation", [at[0].seq])
        asks = ([each for each in at if place in each.offsets] or later) if shared else later[:1]
        if claim.whole and all(each.offsets[place] != offset for each in asks):
            return bench.verdict(claim, False, f"it asked for {named([place])} from {later[0].offsets[place]}", [later[0].seq])
        reasons = [_not_its_own(bench, member, place, later[0], plan) for member in sorted(members)]
        if not shared:
            reasons = [reason or _goes_on(bench, member, place, later[0], asked) for reason, member in zip(reasons, members, strict=True)]
        if all(reasons):
            return bench.verdict(claim, False, reasons[0], [later[0].seq])
    return bench.verdict(claim, None if shared and len(members) == 1 else True, "several members have its client id")


def _not_its_own(bench: Bench, member: str, place: Partition, ask: Fetch, plan: Plan | None) -> str:
    given = bench.group.given_at(member, ask.seq)
    if not bench.group.is_here(member, ask.seq):
        return f"{member} was no member then"
    if given is None:
        return f"{member} was not told yet that it has anything"
    if given.partitions is not None and place not in given.partitions:
        return f"generation {given.number} did not give it {named([place])}"
    share = plan.shares.get(member, NOTHING) if plan is not None else None
    if share is not None and place not in share and plan is not None and plan.seq > given.seq:
        return f"generation {plan.number} gave {named([place])} to somebody else"
    return ""


def _goes_on(bench: Bench, member: str, place: Partition, ask: Fetch, asked: list[Fetch]) -> str:
    """Tell whether the member has fetched the partition before and owned the partition ever since. Then it does not begin. A member that
    joins without claiming its partitions, as eager members do, begins again."""
    without = [
        each.seq
        for each in bench.group.given.get(member, ())
        if each.seq < ask.seq and each.delivered and (each.partitions is None or place not in each.partitions)
    ]
    anew = [seq for seq, owned in bench.group.joins.get(member, ()) if seq < ask.seq and place not in owned]
    # Fetches between a JoinGroup without owned partitions and its answer belong to the previous generation.
    answered = [next((each.seq for each in bench.group.given.get(member, ()) if each.seq > seq), seq) for seq in anew]
    since = max([0, *without, *(seq for seq in answered if seq < ask.seq)])
    earlier = [each for each in asked if since < each.seq < ask.seq and place in each.offsets]
    return f"it has read {named([place])} since row {earlier[0].seq}" if earlier else ""
