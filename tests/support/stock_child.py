"""A member in a process of its own, so that a test can kill it: `python stock_child.py LIBRARY WISH-AS-JSON`.

Prints one JSON line whenever what it holds changes: {"owned": [[topic, partition], ...], "generation": n, "values": count}.
"""

from __future__ import annotations

import json
import sys
import time

from stock_members import LoopThread, Wish, open_member


def main() -> None:
    """Run until killed."""
    library, plain = sys.argv[1], json.loads(sys.argv[2])
    plain |= {"topics": tuple(plain["topics"]), "assignors": tuple(plain["assignors"])}
    member = open_member(library, Wish(**plain), LoopThread())
    last = None
    while True:
        member.check()
        now = {"owned": sorted(member.owned()), "generation": member.generation(), "values": len(member.values())}
        if now != last:
            print(json.dumps(now), flush=True)
            last = now
        time.sleep(0.01)  # not a synchronisation: how often this process looks at itself


if __name__ == "__main__":
    main()
