"""Causes that are about the topology of a streams group: topics that keep tasks away, another topology, and an application that ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...text.suggest import did_you_mean
from ..task_lines import BEAT, INTERNAL, PARTITIONED, SHUTDOWN, SOURCES, STALE, Status
from ..words import SENTENCE, named, seconds, text
from .case import SOON, Case, Likely, at

OTHER_TOPOLOGY: Final = "Topology updates are not supported"
FAILED: Final = ("Creation failed", "Unauthorized")
"""Words in the status of missing internal topics if the broker cannot create them."""


def topics_keep_tasks_away(case: Case) -> Iterator[Likely]:
    """Members have heard until now, or until they left, that topics are missing or have wrong numbers of partitions."""
    for code in (SOURCES, PARTITIONED, INTERNAL):
        found = {member: each[code] for member, each in case.tale.tasks.statuses.items() if code in each}
        for status in found.values():
            lasts = case.now - status.since >= SOON or not case.tale.people.here
            if lasts and (code != INTERNAL or any(word in status.detail for word in FAILED)):
                near = did_you_mean(_missing(case), case.topics) if code == SOURCES and _missing(case) else ""
                told = f"nobody has tasks since {seconds(status.since)} ({status.name}): {text(status.detail, SENTENCE)}"
                yield Likely(" ".join(each for each in (told, status.remedy, f"({near})" if near else "") if each))


def _missing(case: Case) -> str:
    """Return the first source topic that does not exist, or ""."""
    return next((topic for person, _ in case.everybody for topic in sorted(person.topics) if topic not in case.topics), "")


def another_topology(case: Case) -> Iterator[Likely]:
    """A join was refused because its topology is not the group's, or a member runs an older topology."""
    for refused in case.refusals(BEAT, errors=["INVALID_REQUEST"]):
        if OTHER_TOPOLOGY in refused.why:
            remedy = "use another application.id, or delete the group while it is empty"
            who = text(refused.client_id or refused.who)
            yield Likely(f"{who} could not join {at(refused.at)}: its topology is not the one of the group: {remedy}")
    stale = {member: each[STALE] for member, each in case.tale.tasks.statuses.items() if STALE in each}
    if stale:
        first = min(stale.values(), key=lambda each: each.since)
        who, runs = named(case.name(each) for each in stale), "runs" if len(stale) == 1 else "run"
        yield Likely(f"{who} {runs} an older topology since {seconds(first.since)}: {first.detail}")


def application_ended(case: Case) -> Iterator[Likely]:
    """A member asked for the end of the whole application, as Kafka Streams does after an exception (SHUTDOWN_APPLICATION)."""
    status: Status | None = case.tale.tasks.first_shutdown
    if status is not None:
        assert status.code == SHUTDOWN
        yield Likely(f"the whole application was shut down {at(status.since)}: {text(status.detail, SENTENCE)} {status.remedy}")
