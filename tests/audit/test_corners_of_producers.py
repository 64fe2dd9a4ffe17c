"""Corner cases in which the audit rules about producers could blame a correct client or miss a wrong one."""

from __future__ import annotations

from typing import Final

import pytest
from audit_examples import exchange_named, rows_of

from groupmock.audit.auditor import audit
from groupmock.audit.reading import UNKNOWN, written_by
from groupmock.audit.rules.client_45_member_of_transactional_commit import BEGUN as MEMBER
from groupmock.audit.rules.client_45_member_of_transactional_commit import COMMIT
from groupmock.audit.rules.client_91_offsets_in_the_transaction import WRITES
from groupmock.audit.transaction_example import ABORTS, ADDS_OFFSETS, BEGUN, COMMITS, SENDS_OFFSETS, WHO
from groupmock.audit.verdicts import BROKEN, KEPT, NOT_EXERCISED, NOT_JUDGED
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.records import NewRecord, encode_batch

SILENT: Final = NOT_EXERCISED
SAME: Final = "producer_id=$pid producer_epoch=$epoch"
FENCED: Final = """topics: t1:1
T: InitProducerId v3 transactional_id="till" transaction_timeout_ms=60000 -> 0 producer_id=?pid producer_epoch=?epoch eventually
!fence_transaction transactional_id="till"
"""
OF_ONE: Final = (
    'v3_and_below_transactional_id="till" v3_and_below_producer_id=$pid v3_and_below_producer_epoch=$epoch '
    'v3_and_below_topics=[{name: "$t1", partitions: [0]}]'
)
OF_MANY: Final = (
    'transactions=[{transactional_id: "till", producer_id: $pid, producer_epoch: $epoch, topics: [{name: "$t1", partitions: [0]}]}]'
)
OFFSETS: Final = f'T: AddOffsetsToTxn v2 transactional_id="till" {SAME} group_id="g" -> 90\n'
COMES: Final = 'T: InitProducerId v3 transactional_id="till" transaction_timeout_ms=60000'
NAMELESS: Final = COMMIT + ' member_id="" generation_id=-1 -> 0\n'
ANYBODY: Final = "T: InitProducerId v3 transactional_id=null transaction_timeout_ms=60000 -> 0 eventually\n"
AGAIN: Final = "T: InitProducerId v3 transactional_id=$group transaction_timeout_ms=60000 -> 0 producer_epoch=%s eventually\n"
ABORTED: Final = f"{ADDS_OFFSETS}{ABORTS}"
OFFSETS_SENT: Final = ADDS_OFFSETS + SENDS_OFFSETS
LATER_ONES: Final = OFFSETS_SENT.replace("5", "9")
WHO_5: Final = WHO.replace("$producer_epoch", "$next")
CORNERS: Final = {
    "87 in a version with an epoch for each transaction": ("CLIENT-87", BROKEN, f"""{BEGUN}{ADDS_OFFSETS}
T: EndTxn v5 {WHO} committed=true -> 0 producer_epoch=?next
pause 300
T: EndTxn v5 {WHO_5} committed=true -> 48
"""),
    "87 another connection begins the next transaction": ("CLIENT-87", KEPT, f"{BEGUN}{ADDS_OFFSETS}{COMMITS}pause 300\n"
        + ADDS_OFFSETS.replace("T:", "T/2:") + COMMITS),
    "87 one transaction": ("CLIENT-87", SILENT, f"{BEGUN}{ADDS_OFFSETS}{COMMITS}"),
    "88 a version that adds the group by itself": ("CLIENT-88", SILENT,
        f"{BEGUN}T: TxnOffsetCommit v5 {WHO} topics=[t($t1, o(0, 5))] -> 0\n"),
    "88 another group": ("CLIENT-88", BROKEN,
        f'{BEGUN}{ADDS_OFFSETS}T: TxnOffsetCommit v3 {WHO} group_id="h" topics=[t($t1, o(0, 5))] -> any\n'),
    "91 it skips what it cannot process after an abort": ("CLIENT-91", SILENT,
        WRITES + (ABORTS + "\nT: OffsetCommit topics=[t($t1, o(0, 5))] -> 0\n").replace("T:", "A:")),
    "91 another process writes in transactions": ("CLIENT-91", SILENT,
        WRITES.replace("A: Init", "T: Init").replace("A: AddP", "T: AddP") + "A: OffsetCommit topics=[t($t1, o(0, 5))] -> 0\n"),
    "92 nothing new was aborted": ("CLIENT-92", SILENT, f"{BEGUN}{OFFSETS_SENT}{COMMITS}{OFFSETS_SENT}{ABORTS}pause 300\n{LATER_ONES}"),
    "92 its group has rebalanced": ("CLIENT-92", SILENT, f"{BEGUN}{OFFSETS_SENT}{ABORTS}pause 300\ndo stable1(A)\n{LATER_ONES}"),
    "90 it recovers from aborts": ("CLIENT-90", NOT_JUDGED, BEGUN + "".join(
        ABORTED.replace("$producer_epoch", f"${each}") + AGAIN % f"?e{number}"
        for number, each in enumerate(("producer_epoch", "e0", "e1", "e2")))),
    "90 three times are no loop": ("CLIENT-90", SILENT, BEGUN + 2 * (AGAIN % "*")),
    "90 without a transactional id": ("CLIENT-90", BROKEN, "topics: t1:1\n" + 4 * ANYBODY),
    "90 each on its own connection": ("CLIENT-90", SILENT, "topics: t1:1\n" + 4 * (ANYBODY + "T drops\n")),
    "45 a version that has no words for it": ("CLIENT-45", BROKEN, MEMBER + "pause 300\n" + COMMIT.replace(" v3 ", " v0 ") + " -> 0\n"),
    "45 by a connection of its own": ("CLIENT-45", BROKEN, MEMBER + "pause 300\n" + NAMELESS.replace("A:", "T:").replace(
        "TxnOffsetCommit v3", "TxnOffsetCommit v3 client_id=A")),
    "45 of another process": ("CLIENT-45", SILENT, MEMBER + "pause 300\n" + NAMELESS.replace("A:", "T:")),
    "45 of another group": ("CLIENT-45", SILENT, MEMBER + 'A: AddOffsetsToTxn v2 transactional_id="till" ' + SAME + ' group_id="h" -> 0\n'
        + "pause 300\n" + NAMELESS.replace("group_id=$group", 'group_id="h"')),
    "45 after it has left": ("CLIENT-45", SILENT, MEMBER + "A: LeaveGroup -> 0\npause 300\n" + NAMELESS),
    "45 after its session": ("CLIENT-45", SILENT, MEMBER + "pause 10500\n" + NAMELESS),
    "45 after its session, without words for it": ("CLIENT-45", BROKEN, MEMBER + "pause 10500\n"
        + COMMIT.replace(" v3 ", " v0 ") + " -> 0\n"),
    "45 it crossed the answer": ("CLIENT-45", NOT_JUDGED, MEMBER + NAMELESS),
    "70 by AddPartitionsToTxn of an old version": ("CLIENT-70", BROKEN,
        f"{FENCED}T: AddPartitionsToTxn v0 {OF_ONE} -> any\npause 300\n{OFFSETS}"),
    "70 by one that lists transactions": ("CLIENT-70", BROKEN, f"{FENCED}T: AddPartitionsToTxn v4 {OF_MANY} -> any\npause 300\n{OFFSETS}"),
    "70 AddPartitionsToTxn again": ("CLIENT-70", BROKEN, f"{FENCED}{OFFSETS}pause 300\nT: AddPartitionsToTxn v3 {OF_ONE} -> any\n"),
    "70 it crossed the answer": ("CLIENT-70", SILENT, FENCED + OFFSETS + OFFSETS),
    "70 it may have stopped waiting for the answer": ("CLIENT-70", KEPT,
        f"{FENCED}T/2: Metadata topics=[] -> any\n{OFFSETS}pause 300\nT drops\n{OFFSETS.replace('T:', 'T/2:')}"),
    "70 it asks who it is": ("CLIENT-70", KEPT, f"{FENCED}{OFFSETS}pause 300\n{COMES} {SAME} -> any\nT drops\n"),
    "70 it goes on in a newer epoch": ("CLIENT-70", KEPT, f"""{FENCED}{OFFSETS}pause 300
{COMES} -> 0 producer_id=?next producer_epoch=?later
T: AddOffsetsToTxn v2 transactional_id="till" producer_id=$next producer_epoch=$later group_id="g" -> 0
T drops
"""),
}  # fmt: skip


@pytest.mark.parametrize(("code", "verdict", "body"), CORNERS.values(), ids=CORNERS)
def test_a_corner_of_producers(code: str, verdict: str, body: str) -> None:
    found = audit(rows_of(exchange_named(f"{code}.corner", body)), [code])
    assert found.rules[code].verdict == verdict, [each.sentence for each in found.findings]


def test_a_produce_names_its_producer_also_when_its_row_has_no_records() -> None:
    batch = encode_batch([NewRecord(value=bytes(100))], producer_id=7, producer_epoch=3, base_sequence=0)

    def asked(records: bytes | None) -> ProduceRequest:
        topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=records)])
        return ProduceRequest(transactional_id="till", topic_data=[topic])

    assert written_by(asked(batch)) == {"transactional_id": "till", "producer_id": 7, "producer_epoch": 3}
    assert written_by(asked(None)) == {"transactional_id": "till", "producer_id": UNKNOWN, "producer_epoch": UNKNOWN}
    assert written_by(ProduceRequest()) == {}
