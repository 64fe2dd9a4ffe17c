"""A script, with what came of it, as `.exchange` text (docs/reference/exchanges.md), which people read and `groupmock probe` plays.

What a broker draws (member ids, topic ids, session and producer ids) is captured where an answer tells it and named from then on; what
belongs to a broker (its address, its nodes) is left open. Time is that of the play: each step waits for its own moment.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from groupmock_clients.probe.language.exchange import BASE_SETTINGS

from .script import ENDING, Drop, Pause, Raw, Reconnect, Script, Send, Step, ending
from .settings_classes import CLASSES, ORACLE, known
from .transcript import ANSWERED, CLOSED, PARKED, SKIPPED, Event, Transcript
from .wording import Names, Wording, quoted

ENDING_MEMBER: Final = "End"
"""Who asks for the final state: a member's name begins with a capital."""
STILL_THERE: Final = f"{ENDING_MEMBER}: ApiVersions v0 -> 0"
"""What is expected of a broker where nobody has said what it answers: that it goes on."""


def as_text(script: Script, transcript: Transcript | None = None, *, near_ms: float = 0) -> str:
    """The whole exchange; with a transcript, what each request was answered. An answer that came no more than `near_ms` after what
    brought it about came at once (a real broker takes its time)."""
    steps: list[Step] = list(script.steps)
    if transcript is not None:
        steps += ending(script, known(transcript.facts.release, transcript.facts.settings).versions)
    names = Names(script, transcript)
    return "\n".join([*_head(script, steps), "", *_Body(steps, transcript, names, near_ms).lines(), ""])


def _head(script: Script, steps: Sequence[Step]) -> Iterator[str]:
    yield f'exchange {script.family}-{script.seed} "Generated: family {script.family}, seed {script.seed}, release {script.release}"'
    yield f"rows: generated-{script.family}"
    yield f"releases: {script.release}"
    if any(isinstance(step, Raw) for step in steps):
        yield "stages: tcp"
    own = {key: value for key, value in (CLASSES[script.settings] | ORACLE).items() if BASE_SETTINGS.get(key) != value}
    yield f"settings: {' '.join(f'{key}={value}' for key, value in own.items())}"
    if script.topics:
        yield f"topics: {' '.join(_topic(script, at) for at in range(len(script.topics)))}"
    yield from _client_ids(client_ids(steps))


def _client_ids(found: dict[str, str | None]) -> Iterator[str]:
    """The commonest of everybody, the others one by one."""
    for most, _ in Counter(found.values()).most_common(1):
        yield f"member *: client_id={'null' if most is None else quoted(most)}"
        for link, client_id in found.items():
            if client_id != most:
                yield f"member {link}: client_id={'null' if client_id is None else quoted(client_id)}"


def _topic(script: Script, at: int) -> str:
    need = script.topics[at]
    return f"t{at + 1}:{need.partitions}" + (f"[{';'.join(f'{key}={value}' for key, value in need.configs.items())}]" if need.own else "")


def client_ids(steps: Sequence[Step]) -> dict[str, str | None]:
    """Under which client id each connection sends first."""
    found: dict[str, str | None] = {}
    for step in steps:
        if isinstance(step, Send):
            found.setdefault(member(step.link), step.client_id)
    return found


def member(link: str) -> str:
    """The member that stands for a connection."""
    return ENDING_MEMBER if link == ENDING else link


class _Body:
    """The lines of one exchange, in the order in which things happened."""

    def __init__(self, steps: Sequence[Step], transcript: Transcript | None, names: Names, near_ms: float) -> None:
        self._steps, self._transcript, self._near_ms = steps, transcript, near_ms
        self._wording = Wording(names, client_ids(steps))
        self._now = 0

    def lines(self) -> Iterator[str]:
        """All of them."""
        for number in range(2, self._wording.names.groups + 1):
            yield f'let group{number} = "$group-{number}"'
        if self._transcript is None:
            for index, step in enumerate(self._steps):
                yield self._acted(index, step)
            yield STILL_THERE
            return
        yield "mark begin"
        yield from self._played(self._transcript)
        if self._transcript.stopped:
            yield f"# stopped: {self._transcript.stopped}"

    def _acted(self, index: int, step: Step) -> str:
        if isinstance(step, Pause):
            return f"pause {step.ms}"
        link = member(step.link)
        if isinstance(step, Drop):
            return f"{link} {'resets' if step.how == 'rst' else 'drops'}"
        if isinstance(step, Reconnect):
            return f"{link} reconnects"
        if isinstance(step, Raw):
            return f'{link}: {"frame" if step.framed else "bytes"} x"{step.data.hex()}"'
        return f"{link}: {self._wording.request(index, step)}"

    # -- with what came of it

    def _played(self, transcript: Transcript) -> Iterator[str]:
        events = transcript.events
        later = self._answered_later(events)
        for index, (step, event) in enumerate(zip(self._steps, events, strict=False)):
            if event.status == SKIPPED:
                yield f"# not sent: {self._acted(index, step)}"
            elif not isinstance(step, Pause):
                yield from self._waited(event)
                inline = isinstance(step, Send) and not any(index in each for each in later.values())
                yield self._acted(index, step) + (self._outcome(index, event) if inline else "")
            for each in later.get(index, ()):
                yield member(self._link(each)) + self._outcome(each, events[each])
        parked = [index for index, event in enumerate(events) if event.status == PARKED]
        yield from dict.fromkeys(f"{member(self._link(index))} -> parked" for index in parked)

    def _waited(self, event: Event) -> Iterator[str]:
        at = round(event.sent_ms)
        if at > self._now:
            self._now = at
            yield f"pause until {at} since begin"

    def _link(self, index: int) -> str:
        step = self._steps[index]
        assert not isinstance(step, Pause)
        return step.link

    def _answered_later(self, events: Sequence[Event]) -> dict[int, list[int]]:
        """Step -> the requests whose answers came after it and were not brought about by it alone, in the order in which they are to be
        looked at: by time, and who is told the ids of others after those others."""
        found: dict[int, list[int]] = defaultdict(list)
        closed: set[tuple[str, float]] = set()
        for index, event in enumerate(events):
            if event.after is None or event.answered_ms is None or not isinstance(self._steps[index], Send):
                continue
            if event.status == CLOSED and (self._link(index), event.answered_ms) in closed:
                continue  # one closed connection is the end of all that waited on it
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
        assert isinstance(step, Send) and event.after is not None and event.answered_ms is not None and self._transcript is not None
        answer = self._wording.answer(index, step, event.answer)
        cause = self._transcript.events[event.after]
        if event.answered_ms - cause.sent_ms <= self._near_ms:
            return f" -> {answer}"
        self._now = max(self._now, round(event.answered_ms))
        return f" -> {answer} after {round(event.answered_ms - event.sent_ms)}"
