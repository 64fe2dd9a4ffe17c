"""The scripts of the ten mistakes. Each function makes one, and ends in a check by which a test of the consumer would fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from groupmock_codec.error_codes import REBALANCE_IN_PROGRESS

from .stage import LATEST, Stage

ORDERS: Final = {"orders": 4}


class Failed(AssertionError):
    """The failed check of a script, which shows the mistake as a test would. `stage` is where the mistake was made."""

    def __init__(self, said: str, stage: Stage) -> None:
        super().__init__(said)
        self.stage = stage


def check(holds: bool, said: str, stage: Stage) -> None:
    """Assert what a test of the consumer would assert. Raises Failed."""
    if not holds:
        raise Failed(said, stage)


def commit_after_revoke() -> None:
    """Make a worker thread commit offsets of an assignment from before the rebalance."""
    stage = Stage(ORDERS)
    stage.produce("orders", 1, 18)
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    stage.together(anna)
    anna.start()
    old = anna.generation
    ben.join()
    anna.beat()
    stage.together(anna, waiting=[ben])
    ben.start()
    anna.commit({("orders", 1): 18}, generation=old)
    stage.sleep(500)
    found = ben.committed()["orders", 1]
    check(found == 18, f"orders/1 is committed at {found}, expected 18", stage)


def no_commit() -> None:
    """Switch auto-commit off and never commit."""
    stage = Stage(ORDERS)
    for partition in range(4):
        stage.produce("orders", partition, 5)
    handled = 0
    for _ in range(2):
        anna = stage.consumer("anna")
        stage.together(anna)
        anna.start()
        handled += sum(anna.handled.values())
        stage.sleep(5000)
        anna.leave()
        anna.hang_up()
        stage.sleep(1000)
    check(handled == 20, f"{handled} records were handled, expected 20", stage)


def poll_too_slow() -> None:
    """Let the handling of a record take longer than max.poll.interval.ms: the client leaves the group by itself, while the handler goes
    on."""
    stage = Stage(ORDERS)
    stage.produce("orders", 0, 1)
    anna = stage.consumer("anna", rebalance_ms=5000)
    stage.together(anna)
    anna.start()
    for _ in range(5):
        stage.sleep(1000)
        anna.beat()
    anna.leave_because("consumer poll timeout has expired.")
    stage.sleep(1000)
    commit = anna.commit({("orders", 0): 1})
    stage.sleep(0)
    codes = [each.error_code for topic in commit.answer.topics for each in topic.partitions]
    check(codes == [0], f"the commit was answered {codes}, expected [0]", stage)


def two_services_one_group() -> None:
    """Give two services the same group id."""
    stage = Stage({"orders": 2, "bills": 2})
    shipping = stage.consumer("shipping", topics=["orders"])
    stage.together(shipping)
    billing = stage.consumer("billing", topics=["bills"])
    billing.join()
    shipping.beat()
    stage.together(shipping, waiting=[billing])
    check(shipping.generation == 1, f"shipping is in generation {shipping.generation}: somebody made it rebalance", stage)


def assignor_mix() -> None:
    """Roll out a new version that lists another assignor alone."""
    stage = Stage(ORDERS)
    old, new = stage.consumer("old", protocols=["range"]), stage.consumer("new", protocols=["cooperative-sticky"])
    stage.together(old)
    ask = new.join()
    stage.sleep(0)
    check(ask.error == 0, f"the new version could not join: error {ask.error}", stage)


def unknown_topic() -> None:
    """Misspell a topic's name while the broker does not create topics."""
    stage = Stage(ORDERS, {"auto.create.topics.enable": "false"})
    anna = stage.consumer("anna", topics=["order"])
    anna.look_up()
    stage.together(anna)
    check(len(anna.assignment) == 4, f"anna has {len(anna.assignment)} partitions, expected 4", stage)


def reset_to_latest() -> None:
    """Produce records before the group first starts, with auto.offset.reset=latest."""
    stage = Stage(ORDERS)
    for partition in range(4):
        stage.produce("orders", partition, 3)
    anna = stage.consumer("anna")
    stage.together(anna)
    anna.start(LATEST)
    handled = sum(anna.handled.values())
    check(handled == 12, f"{handled} records were handled, expected 12", stage)


def static_id_twice() -> None:
    """Give two pods the same group.instance.id."""
    stage = Stage(ORDERS)
    one, other = stage.consumer("pod-1", instance_id="kitchen-0"), stage.consumer("pod-2", instance_id="kitchen-0")
    stage.together(one)
    one.start()
    stage.sleep(1000)
    stage.together(other)
    error = one.beat()
    check(error == 0, f"pod-1's heartbeat was answered {error}", stage)


def commits_in_the_wrong_order() -> None:
    """Let two workers handle records of one partition, and let each commit an offset when it is done with its record."""
    stage = Stage(ORDERS)
    stage.produce("orders", 1, 9)
    anna = stage.consumer("anna")
    stage.together(anna)
    anna.start()
    for offset in (3, 9, 6):
        anna.commit({("orders", 1): offset})
        stage.sleep(100)
    found = anna.committed()["orders", 1]
    check(found == 9, f"orders/1 is committed at {found}, expected 9", stage)


def close_without_leave() -> None:
    """End a process without closing its consumer."""
    stage = Stage(ORDERS)
    anna, ben = stage.consumer("anna"), stage.consumer("ben")
    stage.together(anna, ben)
    ben.hang_up()
    stage.sleep(1000)
    error = anna.beat()
    seen = f"anna has {len(anna.assignment)} of 4 partitions a second later, and her heartbeat was answered {error}"
    check(error == REBALANCE_IN_PROGRESS, seen, stage)


MISTAKES: Final[dict[str, Callable[[], None]]] = {
    made.__name__.replace("_", "-"): made
    for made in (
        commit_after_revoke, no_commit, poll_too_slow, two_services_one_group, assignor_mix,
        unknown_topic, reset_to_latest, static_id_twice, commits_in_the_wrong_order, close_without_leave,
    )
}  # fmt: skip


def failed_text(name: str) -> list[str]:
    """Return the output of a test that fails by this mistake: the assertion and the story. Raises LookupError for an unknown name."""
    try:
        MISTAKES[name]()
    except Failed as failed:
        return [f"E   AssertionError: {failed}", "----- groupmock -----", *failed.stage.story()]
    raise AssertionError(f"{name} failed no check: it is no mistake any more")
