"""A client is blamed for what it sent after it had read an answer, however soon that was, and never for what was under way."""

from __future__ import annotations

import pytest
from audit_pen import AuditPen, Line

from groupmock.audit.auditor import audit
from groupmock_codec.api_keys import METADATA, OFFSET_COMMIT


def rejoined(pen: AuditPen, reaction_ms: float = 0) -> Line:
    """Let a member join generation 2, whose client reacts to each answer after this time."""
    line = pen.connect()
    line.joined(line.join("", session_ms=10_000), "m1", error=79)
    for generation in (1, 2):
        pen.pause(max(reaction_ms, 1))
        place = line.join("m1")
        pen.pause(1)
        line.joined(place, "m1", generation)
        pen.pause(reaction_ms)
        line.syncs("m1", generation)
    return line


def found(pen: AuditPen, code: str) -> int:
    return len([each for each in audit(pen.rows).findings if each.rule == code])


@pytest.mark.parametrize("ms", [1, 40, 300])
def test_a_commit_in_the_old_generation_is_found_at_any_distance(ms: float) -> None:
    pen = AuditPen()
    line = rejoined(pen)
    pen.pause(ms)
    line.commits("m1", 1, error=22)
    assert found(pen, "CLIENT-19") == 1


def test_a_commit_that_was_read_before_the_answer_was_written_is_no_finding() -> None:
    pen = AuditPen()
    line = rejoined(pen)
    pen.pause(1)
    line.commits("m1", 1, error=22, sent_ms_ago=2)
    assert found(pen, "CLIENT-19") == 0


@pytest.mark.parametrize(("ms", "findings"), [(20, 0), (45, 1)])
def test_a_commit_sooner_than_the_client_ever_reacts_was_under_way(ms: float, findings: int) -> None:
    """In a network that takes 20 ms each way, a commit that is read 20 ms after the answer was sent together with it."""
    pen = AuditPen()
    line = rejoined(pen, reaction_ms=40)
    pen.pause(ms - 40)
    line.commits("m1", 1, error=22)
    assert found(pen, "CLIENT-19") == findings


@pytest.mark.parametrize(("ms", "findings"), [(40, 0), (300, 1)])
def test_a_client_with_a_second_connection_may_have_threads_that_wait(ms: float, findings: int) -> None:
    pen = AuditPen()
    other = pen.connect()
    other.told(other.asks(METADATA, topics=[]), brokers=[], topics=[])
    line = rejoined(pen)
    pen.pause(ms)
    line.commits("m1", 1, error=22)
    assert found(pen, "CLIENT-19") == findings


@pytest.mark.parametrize(("ms", "findings"), [(40, 0), (300, 1)])
def test_a_client_that_sends_ahead_may_have_sent_this_one_ahead_too(ms: float, findings: int) -> None:
    pen = AuditPen()
    line = rejoined(pen)
    place = line.asks(OFFSET_COMMIT, group_id="g", member_id="m1", generation_id_or_member_epoch=2, topics=[])
    pen.pause(5)
    line.told(place, topics=[])
    line.commits("m1", 2, sent_ms_ago=3)
    other = line.join("m1")
    line.joined(other, "m1", 3)
    line.syncs("m1", 3)
    pen.pause(ms)
    line.commits("m1", 2, error=22)
    assert found(pen, "CLIENT-19") == findings


@pytest.mark.parametrize(("held_up_ms", "findings"), [(0, 1), (100, 0)])
def test_a_pause_in_which_the_broker_was_held_up_is_not_the_clients(held_up_ms: float, findings: int) -> None:
    """The broker reads a commit 300 ms after its answer, but for 100 ms of these it wrote down no answer that it had made."""
    pen = AuditPen()
    other = pen.connect()
    other.told(other.asks(METADATA, topics=[]), brokers=[], topics=[])
    line = rejoined(pen)
    pen.pause(100)
    other.told(other.asks(METADATA, topics=[]), brokers=[], topics=[])
    pen.rows[-1].written += int(held_up_ms * 1_000_000)
    pen.pause(200)
    line.commits("m1", 1, error=22)
    assert found(pen, "CLIENT-19") == findings


def test_a_heartbeat_waits_for_the_answer_to_the_one_before_in_every_client() -> None:
    """So the second heartbeat in the refused generation is a finding, although the client has a second connection."""
    pen = AuditPen()
    other = pen.connect()
    other.told(other.asks(METADATA, topics=[]), brokers=[], topics=[])
    line = rejoined(pen)
    line.beats("m1", 2, error=22)
    pen.pause(1)
    line.beats("m1", 2, error=22)
    assert found(pen, "CLIENT-04") == 1


def test_without_the_time_of_writing_nothing_is_known() -> None:
    pen = AuditPen(writes_times=False)
    line = rejoined(pen)
    pen.pause(300)
    line.commits("m1", 1, error=22)
    assert found(pen, "CLIENT-19") == 0
