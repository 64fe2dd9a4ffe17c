"""Stories of transactional ids are told, which the report of a failed test prints after the groups."""

from __future__ import annotations

from groupmock.rig import WireRig
from groupmock.rig.kept_rows import KeptRows
from groupmock.story.telling import tell
from groupmock.story.transactional import MOST_IDS, tell_id
from groupmock_codec.api_keys import ADD_PARTITIONS_TO_TXN, END_TXN, FIND_COORDINATOR, INIT_PRODUCER_ID
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest
from groupmock_codec.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from groupmock_codec.messages.k26_end_txn import EndTxnRequest


class Till:
    """A cluster without sockets on a virtual clock, and a producer with the transactional id `till`."""

    def __init__(self) -> None:
        self.kept = KeptRows()
        self.rig = WireRig.make(topics={"bills": 1}, sinks=[self.kept])
        self.wire = self.rig.connect()
        self.wire.ask(FIND_COORDINATOR, 1, FindCoordinatorRequest(key="till", key_type=1), client_id="anna")

    def come(self, name: str = "till") -> None:
        asked = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        told = self.wire.ask(INIT_PRODUCER_ID, 4, asked, client_id="anna")
        self.producer = {"producer_id": told.producer_id, "producer_epoch": told.producer_epoch}

    def begin(self) -> None:
        who = {f"v3_and_below_{name}": value for name, value in {"transactional_id": "till", **self.producer}.items()}
        topics = [AddPartitionsToTxnTopic(name="bills", partitions=[0])]
        self.wire.ask(ADD_PARTITIONS_TO_TXN, 3, AddPartitionsToTxnRequest(**who, v3_and_below_topics=topics), client_id="anna")

    def end(self, committed: bool) -> None:
        self.wire.ask(END_TXN, 1, EndTxnRequest(transactional_id="till", **self.producer, committed=committed), client_id="anna")

    def story(self) -> list[str]:
        return list(tell(self.kept.rows))


def test_a_report_tells_of_a_transaction_that_was_aborted_and_of_the_refusal() -> None:
    till = Till()
    till.come()
    till.begin()
    till.rig.command("abort_transaction", transactional_id="till")
    till.end(committed=True)
    refused = "    0.000  client anna's EndTxn (commit) REFUSED: INVALID_PRODUCER_EPOCH (it says epoch 0, it is 1)"
    told = till.story()
    assert told[0] == "transactional id till: CompleteAbort, producer 0, epoch 1, 1 aborted"
    assert "    0.000  ordered by the test: abort_transaction transactional_id=till" in told
    assert told[-1] == tell_id(till.kept.rows, "till")[-1] == refused


def test_an_open_transaction_says_how_long_it_has_been_open() -> None:
    till = Till()
    till.come()
    for committed in (True, False, True):
        till.begin()
        till.end(committed)
    till.begin()
    till.rig.sleep(3000)
    till.rig.command("create_topic", name="more", partitions=1)
    assert till.story()[0] == "transactional id till: Ongoing, producer 0, epoch 0, 2 committed, 1 aborted, open for 3.000 s"


def test_a_refusal_that_repeats_is_one_line() -> None:
    till = Till()
    till.come()
    for _ in range(3):
        till.end(committed=True)
    refused = [line for line in till.story() if "REFUSED" in line]
    assert len(refused) == 1 and refused[0].endswith("INVALID_TXN_STATE (3 times, until 0.000)")


def test_many_ids_are_not_all_told() -> None:
    till = Till()
    for number in range(MOST_IDS + 3):
        till.come(f"till-{number}")
    told = till.story()
    assert sum(line.startswith("transactional id ") for line in told) == MOST_IDS
    assert told[-1] == "(more transactional ids are not told)"
