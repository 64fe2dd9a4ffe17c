"""Write a script and its transcript as an `.exchange` text (docs/reference/exchanges.md), which people can read and `groupmock probe` can
play.

What a broker draws (member ids, topic ids, session and producer ids) is captured where an answer tells it and named from then on; what
belongs to a broker (its address, its nodes) is left open. Time is that of the play: each step waits for its own moment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from groupmock_clients.probe.language.exchange import Let, Pause, Send, Step
from groupmock_clients.probe.language.printing import head_lines, step_text

from .patterns import Patterns
from .script import ENDING, Script, ending, link_of
from .settings_classes import known
from .transcript import ANSWERED, CLOSED, PARKED, SKIPPED, Event, Transcript

STILL_THERE: Final = f"{ENDING}: ApiVersions v0 -> 0"
"""The last step of an exchange without a transcript, which only expects that the broker still answers."""


def as_text(script: Script, transcript: Transcript | None = None, *, near_ms: float = 0) -> str:
    """Return the exchange as text, with the answers if there is a transcript. An answer within `near_ms` after its cause counts as given
    at once, because a real broker needs some time."""
    if transcript is None:
        return f"{script.text()}{STILL_THERE}\n"
    exchange = script.exchange
    lets = [step_text(step) for step in exchange.steps if isinstance(step, Let)]
    steps = [*script.steps, *ending(script, known(transcript.facts.release, transcript.facts.settings).versions)]
    return "\n".join([*head_lines(exchange), "", *lets, *_Body(steps, transcript, near_ms).lines(), ""])


class _Body:
    """Writes the lines of one exchange in the order of events."""

    def __init__(self, steps: Sequence[Step], transcript: Transcript, near_ms: float) -> None:
        self._steps, self._transcript, self._near_ms = steps, transcript, near_ms
        self._patterns = Patterns(transcript.facts)
        self._now = 0

    def lines(self) -> Iterator[str]:
        yield "mark begin"
        yield from self._played(self._transcript)
        if self._transcript.stopped:
            yield f"# stopped: {self._transcript.stopped}"

    def _played(self, transcript: Transcript) -> Iterator[str]:
        events = transcript.events
        later = self._answered_later(events)
        for index, (step, event) in enumerate(zip(self._steps, events, strict=False)):
            if event.status == SKIPPED:
                yield f"# not sent: {step_text(step)}"
            elif not isinstance(step, Pause):
                yield from self._waited(event)
                inline = isinstance(step, Send) and not any(index in each for each in later.values())
                yield step_text(step) + (self._outcome(index, event) if inline else "")
            for each in later.get(index, ()):
                yield self._link(each) + self._outcome(each, events[each])
        parked = [index for index, event in enumerate(events) if event.status == PARKED]
        yield from dict.fromkeys(f"{self._link(index)} -> parked" for index in parked)

    def _waited(self, event: Event) -> Iterator[str]:
        at = round(event.sent_ms)
        if at > self._now:
            self._now = at
            yield f"pause until {at} since begin"

    def _link(self, index: int) -> str:
        step = self._steps[index]
        return link_of(step)

    def _answered_later(self, events: Sequence[Event]) -> dict[int, list[int]]:
        """Map each step to the requests that were answered after it and not only because of it. They are sorted by time, and an answer
        that contains other members' ids follows the answers to those members."""
        found: dict[int, list[int]] = defaultdict(list)
        closed: set[tuple[str, float]] = set()
        for index, event in enumerate(events):
            if event.after is None or event.answered_ms is None or not isinstance(self._steps[index], Send):
                continue
            if event.status == CLOSED and (self._link(index), event.answered_ms) in closed:
                continue  # One closed connection ends all requests on it.
            if event.status == CLOSED:
                closed.add((self._link(index), event.answered_ms))
            found[event.after].append(index)
        for after, several in list(found.items()):
            several.sort(key=lambda index: (events[index].answered_ms, bool((events[index].answer or {}).get("members")), index))
            if several == [after]:
                del found[after]
        return found

    def _outcome(self, index: int, event: Event) -> str:
        if event.status == CLOSED:
            return " -> closed"
        if event.status != ANSWERED or event.answer is None:
            return ""
        step = self._steps[index]
        assert isinstance(step, Send) and event.after is not None and event.answered_ms is not None
        answer = self._patterns.answer(step, event.answer)
        cause = self._transcript.events[event.after]
        if event.answered_ms - cause.sent_ms <= self._near_ms:
            return f" -> {answer}"
        self._now = max(self._now, round(event.answered_ms))
        return f" -> {answer} after {round(event.answered_ms - event.sent_ms)}"
