"""The probe copes with anything that a broker reports about itself, and neither hangs nor fails."""

from __future__ import annotations

import pytest
from cases import for_each

from groupmock import Broker
from groupmock.rig.wire import Unreadable
from groupmock_clients.probe.stages.cleanup import clean_up
from groupmock_clients.probe.stages.tcp_broker import TRANSACTIONS, CannotProvide, TcpBroker
from groupmock_codec.declare import Message, Versions

SETTING = "transaction.state.log.num.partitions"


class Telling(TcpBroker):
    """A broker without a connection that reports `settings` and answers everything with unreadable bytes."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = settings
        self.ranges = {key: Versions(0, 4) for key in TRANSACTIONS}
        self.asked = 0

    def ask(self, key: int, version: int, message: Message) -> Message:
        self.asked += 1
        raise Unreadable("an answer that cannot be read")


@for_each(
    ("told", "partitions"), [("5", 5), ("9999", 9999), ("0", 50), ("-1", 50), ("many", 50), ("", 50), ("10000", 50), ("9" * 5000, 50)]
)
def test_a_number_of_partitions_that_none_can_have_is_not_believed(told: str, partitions: int) -> None:
    assert Telling({SETTING: told})._partitions(SETTING, 50) == partitions


def test_answers_that_cannot_be_read_are_no_transactions() -> None:
    broker = Telling({SETTING: "5"})
    with pytest.raises(CannotProvide, match="cannot be read"):
        broker.wait_for_transactions()
    assert broker.asked == 1


def test_a_broker_without_transactions_is_not_waited_for() -> None:
    broker = Telling({SETTING: "5"})
    del broker.ranges[26]
    broker.wait_for_transactions()
    assert broker.asked == 0


def test_what_was_made_is_taken_back_though_the_connection_was_idle_for_too_long() -> None:
    """Kafka closes idle connections (connections.max.idle.ms), so a dialogue of ten minutes used to leave its topics and groups behind."""
    with Broker() as served:
        host, port = served.bootstrap.split(":")
        broker = TcpBroker(host, int(port))
        broker.group()
        broker.close()
        assert clean_up(broker) == ()
        broker.close()
