"""CLIENT-33 requires a list of protocols that is not empty, has each name once, and stays the same in every JoinGroup."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ...text.printable import one_line, quoted
from ..inside import one_process
from ..judgement import TWO_CONNECTIONS
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange

SHOWN = 5


class StableProtocols(Rule):
    code = "CLIENT-33"
    title = "JoinGroup lists the same protocols every time, each once"
    what = "The list of protocols is not empty, names none twice, and a member that joins again lists the same ones in the same order."
    why = (
        "The order is the member's vote. An empty list is refused with 23 INCONSISTENT_GROUP_PROTOCOL; a list that changes between two "
        "JoinGroups of one member is a change of its metadata, and starts a rebalance of the whole group."
    )
    source = ("clients.md#client-33", "AbstractCoordinator.metadata", "ConsumerCoordinator.metadata")
    fix = "Make the list once, from the configured assignors in their order, and send all of it with every JoinGroup."
    kept = """
member *: protocols=[p("range"), p("roundrobin")]
do stable1(A)
A: JoinGroup -> 0
"""
    broken = """
do stable1(A)
A: JoinGroup protocols=[p("range"), p("roundrobin")] -> 0
"""

    @asked(JOIN_GROUP)
    def lists(self, x: Exchange) -> Judgements:
        """Compare the list of protocols with that of the member's last JoinGroup."""
        names = _names(x)
        who = x.member.name if x.member is not None else one_line(x.client_id or "a client")
        if not names or len(set(names)) < len(names):
            what = "no protocol at all" if not names else f"a protocol twice: {_shown(names)}"
            yield Broken(f"{who} sends a JoinGroup with {what}", (x.seq,), "at least one protocol, and each of them once")
            return
        before = None if x.member is None else x.member.wish
        if before is None:
            return
        if not one_process(x, before):
            yield TWO_CONNECTIONS
            return
        if _names(before) == names:
            yield KEPT
            return
        yield Broken(
            f"{who} listed {_shown(_names(before))} in its last JoinGroup and lists {_shown(names)} now",
            (before.seq, x.seq),
            f"the same protocols in the same order: {_shown(_names(before))}",
        )


def _names(join: Exchange) -> list[str]:
    return [str(each["name"]) for each in join.asked["protocols"]]


def _shown(names: list[str]) -> str:
    return ", ".join(quoted(name) for name in names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
