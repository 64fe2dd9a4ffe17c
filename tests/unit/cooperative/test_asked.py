"""Members receive the reason of an enforce_rebalance call."""

from __future__ import annotations

import logging

import pytest

from groupmock_clients.cooperative import asked
from groupmock_clients.cooperative.asked import EnforcedRebalance

CALL = EnforcedRebalance("app", "app-1", "g", "the moon is full")


def test_every_hook_hears_it_also_after_one_that_failed(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[EnforcedRebalance] = []

    def fails(each: EnforcedRebalance) -> None:
        raise RuntimeError("no disk")

    monkeypatch.setattr(asked, "hooks", [fails, heard.append])
    with caplog.at_level(logging.INFO, "groupmock.cooperative"):
        asked.tell(CALL)
    assert heard == [CALL]
    assert "app-1 joins group g again: the moon is full" in caplog.text and "no disk" in caplog.text


def test_without_a_reason_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "groupmock.cooperative"):
        asked.tell(EnforcedRebalance("app", "app-1", "g", None))
    assert "app-1 joins group g again: no reason given" in caplog.text


def test_client_rows_say_who_where_and_why() -> None:
    rows: list[tuple[str, str, dict[str, str | None]]] = []
    asked.client_rows(lambda client, what, **fields: rows.append((client, what, fields)))(CALL)
    assert rows == [("app", "asked", {"member": "app-1", "group": "g", "reason": "the moon is full"})]
