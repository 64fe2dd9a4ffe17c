"""CLIENT-34 requires that the metadata of each consumer protocol is a Subscription."""

from __future__ import annotations

from groupmock_codec.api_keys import JOIN_GROUP

from ...text.printable import one_line, quoted
from ..inside import subscriptions_of
from ..judgement import UNREADABLE
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange


class MetadataDecodes(Rule):
    code = "CLIENT-34"
    title = "The metadata of a consumer can be read to the last byte"
    what = (
        "For protocol type `consumer` the metadata of every listed protocol is a Subscription of version 0 to 3 with nothing behind it. "
        "Above version 3 readers ignore what follows."
    )
    why = (
        "Whoever leads must read it, and may be of another library: one that cannot raises, and the group never gets an assignment. The "
        "coordinator reads its topics, to know which offsets are in use."
    )
    source = ("clients.md#client-34", "embedded-protocols.md#consumer-subscription", "ConsumerProtocol.deserializeSubscription")
    fix = "Write all fields of the version that stands in front: owned partitions from 1 on, the generation from 2 on, the rack from 3 on."
    kept = """
member *: protocols=[p("range", subscribed(3, ["t"])), p("roundrobin", sub("t"))]
do stable1(A)
"""
    broken = """
member *: protocols=[p("range", join(i16(1), i32(1), str("t"), i32(-1)))]
A: JoinGroup -> 79
"""

    @asked(JOIN_GROUP)
    def decodes(self, x: Exchange) -> Judgements:
        """Judge the whole list of protocols together."""
        read = {name: found for name, found in subscriptions_of(x).items() if found is not None}
        wrong = [(name, found) for name, found in read.items() if found.wrong is not None]
        if None in subscriptions_of(x).values() and not wrong:
            yield UNREADABLE
        elif read and not wrong:
            yield KEPT
        for name, found in wrong[:1]:
            who = x.member.name if x.member is not None else one_line(x.client_id or "a client")
            yield Broken(
                f"{who} joins with metadata of {quoted(name)} that nobody can read ({found.wrong})",
                (x.seq,),
                "a Subscription of version 0 to 3: all fields of the version that it says, and nothing behind them",
            )
