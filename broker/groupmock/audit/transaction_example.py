"""The examples of rules about transactions share these lines: T is a producer with a transactional id."""

from __future__ import annotations

from typing import Final

WHO: Final = "transactional_id=$group producer_id=$pid producer_epoch=$producer_epoch"
BEGINS: Final = """
T: InitProducerId v3 transactional_id=$group transaction_timeout_ms=60000 -> 0 producer_id=?pid producer_epoch=?producer_epoch eventually
"""
BEGUN: Final = "topics: t1:1" + BEGINS
ADDS_OFFSETS: Final = f"""
T: AddOffsetsToTxn v3 {WHO} -> 0 eventually
"""
IN_TRANSACTION: Final = BEGINS + ADDS_OFFSETS
"""The lines before a member's offsets can be sent in a transaction."""
SENDS_OFFSETS: Final = f"""
T: TxnOffsetCommit v3 {WHO} topics=[t($t1, o(0, 5))] -> 0
"""
COMMITS: Final = f"""
T: EndTxn v3 {WHO} committed=true -> 0 eventually
"""
ABORTS: Final = f"""
T: EndTxn v3 {WHO} committed=false -> 0 eventually
"""
OF_OLD: Final = "v3_and_below"
"""The beginning of the field names in an AddPartitionsToTxn of clients."""
ADDS_PARTITION: Final = (
    f"\nT: AddPartitionsToTxn v3 {OF_OLD}_transactional_id=$group {OF_OLD}_producer_id=$pid {OF_OLD}_producer_epoch=$producer_epoch "
    f"{OF_OLD}_topics=[{{name: $t1, partitions: [0]}}] -> any\n"
)
