"""Measures how long a large consumer group computes a target: JSON with milliseconds of CPU by assignor and kind of subscription.

A group of `members` members holds its target; then one more joins, and a target is computed with it. Topics have 100 partitions each.
"""

from __future__ import annotations

import json
import random
import sys
import time

from groupmock.core.groups.consumer.assignors import ASSIGNORS, Member, Spreads, assign, subscription_of
from groupmock.core.work import at_once

PARTITIONS = 100
TRIES = 5


def joined(name: str, members: int, topics: int, alike: bool) -> float:
    """Return the CPU time of computing one target assignment, the least of several attempts. Members that are not alike subscribe to one
    half of the topics each."""
    dice = random.Random(1)
    known = {f"topic-{number}": (dice.randbytes(16), PARTITIONS) for number in range(topics)}
    names = sorted(known)
    spreads, every = Spreads(), subscription_of(names, (), known, Spreads())
    group = [
        Member(
            f"{dice.getrandbits(128):032x}",
            None,
            every if alike else subscription_of(sorted(dice.sample(names, topics // 2)), (), known, spreads),
            {},
        )
        for _ in range(members + 1)
    ]
    targets = at_once(assign(ASSIGNORS[name], group[:-1], known, alike=alike))
    for member in group[:-1]:
        member.target = targets[member.member_id]
    taken = []
    for _ in range(TRIES):
        begin = time.process_time()
        at_once(assign(ASSIGNORS[name], group, known, alike=alike))
        taken.append(time.process_time() - begin)
    return min(taken) * 1e3


def main() -> None:
    members, topics = map(int, sys.argv[1:3])
    kinds = {"alike": True, "different": False}
    print(json.dumps({f"{name}.{kind}": joined(name, members, topics, alike) for name in ASSIGNORS for kind, alike in kinds.items()}))


if __name__ == "__main__":
    main()
