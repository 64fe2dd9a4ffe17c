"""Turn journal rows into rebalances: who joined, which assignment the leader gave each member, who received it, which partitions had no
owner meanwhile, and who was late.

    for rebalance in rebalances(JournalReader(file)):
        print(rebalance.group, rebalance.number, rebalance.reason, rebalance.shares())

`rebalances` reads a whole journal. `Rebalances` is fed row by row while a journal is written. All times are ns since the header's
`epoch_ns`.
"""

from __future__ import annotations

from .embedded import Claim, Instruction, Partition, Partitions
from .fold import Rebalances, rebalances
from .group_fold import GroupFold
from .owners import Changed
from .rebalance_model import Arrival, Gap, Generation, Holder, Move, Phase, Rebalance, Share, name_of, short_name

__all__ = [
    "Arrival", "Changed", "Claim", "Gap", "Generation", "GroupFold", "Holder", "Instruction", "Move", "Partition", "Partitions", "Phase",
    "Rebalance", "Rebalances", "Share", "name_of", "rebalances", "short_name",
]  # fmt: skip
