"""Turn journal rows into rebalances: who joined, which assignment the leader gave each member, who received it, which partitions had no
owner meanwhile, and who was late.

    for rebalance in rebalances(JournalReader(file)):
        print(rebalance.group, rebalance.number, rebalance.reason, rebalance.shares())

`rebalances` reads a whole journal. `Rebalances` is fed row by row while a journal is written. `ownership_maps` adds the history of each
partition: which process owned it from when to when. All times are ns since the header's `epoch_ns`.
"""

from __future__ import annotations

from .embedded import Claim, Instruction, Partition, Partitions
from .fold import Rebalances, rebalances
from .group_fold import GroupFold
from .owners import JOINT, OWNED, PALE, SHARED, UNKNOWN, UNOWNED, Listeners, Span
from .ownership_map import OwnershipMap, OwnershipMaps, ownership_maps
from .processes import Processes
from .rebalance_model import Arrival, Gap, Generation, Holder, Move, Phase, Rebalance, Share, name_of, short_name

__all__ = [
    "JOINT", "OWNED", "PALE", "SHARED", "UNKNOWN", "UNOWNED", "Arrival", "Claim", "Gap", "Generation", "GroupFold", "Holder", "Instruction",
    "Listeners", "Move", "OwnershipMap", "OwnershipMaps", "Partition", "Partitions", "Phase", "Processes", "Rebalance", "Rebalances",
    "Share", "Span", "name_of", "ownership_maps", "rebalances", "short_name",
]  # fmt: skip
