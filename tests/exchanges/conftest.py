"""Report after a run how many exchanges were played and what the skipped ones need."""

from __future__ import annotations

from collections import Counter

import pytest

from groupmock_clients.probe.language.exchange import NEEDS, RELEASES
from groupmock_clients.probe.language.exchange_suite import load_suite


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    exchanges = load_suite().exchanges
    run = {
        release: sum(len(list(each.variants())) for each in exchanges if not each.lacking and release in each.releases)
        for release in RELEASES
    }
    needs = Counter(need for each in exchanges for need in each.lacking)
    played = ", ".join(f"{count} dialogues for {release}" for release, count in run.items())
    terminalreporter.write_sep("-", "exchanges")
    terminalreporter.write_line(f"{len(exchanges)} exchanges, {sum(not each.lacking for each in exchanges)} of them played: {played}")
    for need, count in needs.most_common():
        terminalreporter.write_line(f"{count} not played: they need {NEEDS[need]}")
