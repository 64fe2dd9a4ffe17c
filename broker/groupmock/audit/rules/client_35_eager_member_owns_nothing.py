"""CLIENT-35 requires that an eager member (range, roundrobin, sticky) claims no `owned_partitions` when it joins."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ...rounds.embedded import EAGER
from ...text.printable import one_line, quoted
from ..inside import named, subscriptions_of
from ..rule import KEPT, WARNING, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class EagerOwnsNothing(Rule):
    code = "CLIENT-35"
    title = "An eager member claims no partitions when it joins"
    severity = WARNING
    what = (
        "A Subscription of `range`, `roundrobin` or `sticky` has an empty list of owned partitions. (What a `sticky` member had before "
        "rides in its user data.)"
    )
    why = (
        "Eager members give up everything before they join. The stock leaders of these protocols do not look at the list, so nothing "
        "breaks yet; but a client that fills it says that it did not give up what others are about to get."
    )
    source = ("clients.md#client-35", "KIP-429", "ConsumerCoordinator.onJoinPrepare")
    fix = "Revoke everything before the JoinGroup, and write the list of owned partitions from what is left."
    kept = """
member *: protocols=[p("range", subscribed(1, ["t"]))]
do stable1(A)
"""
    broken = """
member *: protocols=[p("range", subscribed(1, ["t"], -1, held("t", 0)))]
do stable1(A)
"""

    @asked(JOIN_GROUP)
    def owns(self, x: Exchange) -> Judgements:
        """Judge the listed protocols whose name promises to the leader, which may be another client, that the member gives up everything.
        A member with another protocol that claims partitions is cooperative. A Subscription can claim from version 1 on (KIP-429)."""
        found = [each for name, each in subscriptions_of(x).items() if name in EAGER and each is not None and each.version >= 1]
        claims = next((each for each in found if each.owned), None)
        if claims is None:
            if found:
                yield KEPT
            return
        who = x.member.name if x.member is not None else one_line(x.client_id or "a client")
        yield Broken(
            f"{who} joins with the eager protocol {quoted(claims.protocol)} and claims that it owns {named(claims.owned)}",
            (x.seq,),
            "an empty list of owned partitions: an eager member has given up everything when it joins",
        )
