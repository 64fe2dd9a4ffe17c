"""The audit remembers a bounded number of acknowledged records, and blames no share consumer for time that was not its own."""

from __future__ import annotations

from typing import Any, Final

from audit_examples import exchange_named
from cases import for_each
from wire_stage import WireStage

from groupmock.audit.auditor import audit
from groupmock.audit.share_example import SESSION, WHO, accepts, renews
from groupmock.audit.share_sessions import REMEMBERED, Records
from groupmock.audit.verdicts import BROKEN, KEPT, NOT_JUDGED
from groupmock_clients.probe.verdicts.runner import play

GIVEN: Final[Any] = object()
LOCK: Final = "settings: group.share.record.lock.duration.ms=3000\n"
SLOW: Final = "{when: {api: ShareAcknowledge}, do: {kind: delay, seconds: 4}, times: 1}"
CORNERS: Final = {
    "the clock was stepped": (KEPT, f"{SESSION}!step_clock ms=5000\n{accepts(0, 2, 2)}"),
    "it may have been stopped": (NOT_JUDGED, f"{SESSION}pause 3400\n{accepts(0, 2, 2)}"),
    "its acknowledgement was held back": (KEPT, f"{SESSION}!add_faults rules=[{SLOW}]\n{accepts(0, 2, 2, 'parked')}pause 4000\nA -> 0\n"),
    "it had one renewed": (KEPT, f"{SESSION}pause 2000\n{renews(0, 0, 2)}pause 2000\n{accepts(0, 0, 3)}"),
    "it had one of three renewed": (BROKEN, f"{SESSION}pause 2000\n{renews(0, 0, 2)}pause 2000\n{accepts(0, 0, 3)}{accepts(1, 2, 4)}"),
    "it renews too late": (BROKEN,
        f"{SESSION}pause 2000\nA: ShareFetch v1 {WHO} share_session_epoch=2 -> 0\npause 1500\n{renews(0, 2, 3)}"),
}  # fmt: skip


@for_each("corner", CORNERS)
def test_time_that_is_not_the_clients_is_not_blamed(corner: str) -> None:
    verdict, body = CORNERS[corner]
    exchange = exchange_named("CLIENT-99.corner", LOCK + body)
    stage = WireStage(exchange.wanted_settings)
    outcome = play(next(exchange.variants()), stage)
    stage.rig.close()
    assert outcome.verdict == "kept", outcome
    assert audit(stage.kept.rows, ["CLIENT-99"]).rules["CLIENT-99"].verdict == verdict


def acknowledged_one_by_one(many: int) -> Records:
    records = Records()
    for offset in range(many):
        records.acquires((offset, offset), GIVEN, 0)
        records.acknowledges((offset, offset), GIVEN)
    return records


def test_the_oldest_acknowledgements_are_forgotten() -> None:
    records = acknowledged_one_by_one(REMEMBERED)
    assert (len(records.done), records.forgot) == (REMEMBERED, False)
    records = acknowledged_one_by_one(REMEMBERED + 2)
    assert (records.done[0][0], len(records.done), records.forgot, records.unsure) == ((2, 2), REMEMBERED, True, False)


def test_a_record_that_is_delivered_again_is_no_longer_done() -> None:
    records = acknowledged_one_by_one(5)
    records.acquires((3, 6), GIVEN, 0)
    assert (records.held, [run for run, _ in records.done]) == ([(3, 6)], [(0, 0), (1, 1), (2, 2)])


def test_nothing_is_known_of_a_session_that_holds_too_many_runs() -> None:
    records = Records()
    for offset in range(0, 2 * REMEMBERED + 2, 2):
        records.acquires((offset, offset), GIVEN, 0)
    assert (records.unsure, records.held) == (True, [])
