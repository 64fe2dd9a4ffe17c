"""Sum the faults and findings of a group up in sentences for the head of a picture: what happened to which process, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from groupmock_codec.error_codes import error_name
from groupmock_codec.units import NS_PER_S

from ..story.words import count, facts, listed, named, text
from .model import Event, Group

NAMED: Final = 3
"""At most this many rules are summed up in a sentence each; the others are counted."""
DONE: Final = {
    "hold": "held back", "drop": "dropped", "swallow": "swallowed", "throttle": "throttled", "refuse": "refused", "duplicate": "duplicated",
    "truncate": "truncated", "garble": "garbled", "split": "split", "close": "ended by closing", "reset": "ended by a reset",
}  # fmt: skip
"""Maps kinds of faults to what they did to a request or its answer."""
RIGHT: Final = ". Right: "
"""Separates what a client did from what would have been right, in the text of a finding."""


@dataclass(slots=True)
class Tally:
    """The first one of equal events, their number, and how many each process had."""

    first: Event
    number: int = 0
    processes: Counter[str] = field(default_factory=Counter)

    def add(self, process: str, event: Event) -> None:
        self.first = min(self.first, event, key=lambda each: each.at)
        self.number += event.count
        if process:
            self.processes[process] += event.count


def fault_words(action: str, fields: dict[str, Any]) -> str:
    """Return what a fault did to a request, in the words of a picture."""
    if action == "error" and isinstance(code := fields.get("code"), int):
        return f"answered with {error_name(code)}"
    if action == "delay" and isinstance(delay := fields.get("seconds"), int | float):
        return f"delayed by {delay:g} s"
    return f"{DONE.get(action, f'struck by {text(action)}')} {facts(fields)}".strip()


def summaries(group: Group) -> Iterator[str]:
    """Yield sentences about the findings and about the faults of a group, the most frequent ones first."""
    yield from _findings(_tallies(group, "finding"))
    yield from _faults(_tallies(group, "fault"))


def notes_of(events: list[Event]) -> str:
    """Return how often each rule of the audit and of the fault plan met one member."""
    rules = Counter[str]()
    for each in events:
        if each.kind in ("finding", "fault"):
            rules[each.title.removeprefix("fault rule ")] += each.count
    return ", ".join(f"{rule} \u00d7{number}" for rule, number in rules.most_common(NAMED))


def _tallies(group: Group, kind: str) -> list[Tally]:
    """Return the events of a kind, together if they have one title (and a fault one text), the most frequent first."""
    found: dict[tuple[str, str], Tally] = {}
    for process, events in [("", group.events), *((_process(group, each.process, each.label), each.events) for each in group.lanes)]:
        for event in events:
            if event.kind == kind and "(waived: " not in event.text:
                key = (event.title, event.text if kind == "fault" else "")
                found.setdefault(key, Tally(event)).add(process, event)
    return sorted(found.values(), key=lambda each: -each.number)


def _process(group: Group, process: int, label: str) -> str:
    return group.processes[process] if 0 <= process < len(group.processes) else label


def _findings(tallies: list[Tally]) -> Iterator[str]:
    if not tallies:
        return
    from ..audit.rule import registered  # Loaded only for a picture with findings, because the rules are many modules.

    known = registered()
    for each in tallies[:NAMED]:
        rule = known.get(each.first.title)
        title, price = (f" ({rule.title})", f" {rule.why.partition('. ')[0].rstrip('.')}.") if rule is not None else ("", "")
        who, did = named(sorted(each.processes)) if each.processes else "A client", each.first.text.partition(RIGHT)[0]
        first = f"first at {each.first.at / NS_PER_S:.1f} s: {did}."
        yield f"{who} broke {each.first.title}{title} {count(each.number, 'time')}, {first}{price}"
    if tallies[NAMED:]:
        rules = listed([f"{each.first.title} ({count(each.number, 'time')})" for each in tallies[NAMED:]])
        yield f"{count(len(tallies[NAMED:]), 'more rule')} of the audit broken: {rules}."


def _faults(tallies: list[Tally]) -> Iterator[str]:
    for each in tallies[:NAMED]:
        api, _, did = each.first.text.rpartition(": ")
        what = f"{count(each.number, api)} {did}" if api else f"{did} {count(each.number, 'time')}"
        whom = ", ".join(f"{process} {number}" for process, number in sorted(each.processes.items()))
        yield f"{each.first.title.capitalize()}: {what}{f' ({whom})' if whom else ''}."
    if tallies[NAMED:]:
        yield f"{count(sum(each.number for each in tallies[NAMED:]), 'more fault')} of {count(len(tallies[NAMED:]), 'other kind')}."
