"""The stage that is any broker over TCP, *guided* by the core: our core plays the same script in lockstep and says what to wait for.

The core's clock follows the real one. Before a step its timers fire up to now; if one is due soon, it is waited for with a little more,
so that nothing is sent at the edge of a deadline. An answer that the core expects is awaited for seconds; one that it expects to stay out
is looked for after a barrier (a DescribeGroups on another connection). The guide only saves time: the verdict is the comparison.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Final

from groupmock.rig.wire import Asked
from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.group_states import DEAD
from groupmock_codec.messages.k15_describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

from ..script.message_json import as_json, build
from ..script.references import References
from ..script.script import Drop, Pause, Raw, Reconnect, Script, Send, Step, ending
from ..script.transcript import ANSWERED, CLOSED, PARKED, SENT, SKIPPED, Event, Facts, Transcript
from .core_player import CorePlayer
from .drawn_ids import answer_tells_ids, asks_for_member_id, drawn_member_id, ids_in, must_answer
from .markers_awaited import MarkersAwaited
from .tcp_link import Asker, Link, Peer

GUARD_MS: Final = 120.0
HIGHEST_GUARD_MS: Final = 320.0
"""A step is not sent when a deadline lies so near: the more, the slower the machine."""
MARGIN_MS: Final = 60.0
"""How long after a deadline the broker is given to act on it, besides its lag so far."""
PATIENCE_S: Final = 5.0
QUIET_MS: Final = 3.0


class Noisy(Exception):
    """The machine was too slow for this play to mean anything: a request and a deadline met. Play it again."""


class _Differs(Exception):
    """The broker did what the guide did not: the rest of the play would mean nothing."""


class Played:
    """A guided play: what the broker answered and what the core did in lockstep; `lag`: how far (ms) the broker was behind at most;
    `crowded`: as CorePlayer has it."""

    def __init__(self, real: Transcript, core: Transcript, states: set[str], lag: float, crowded: bool) -> None:
        self.real, self.core, self.states, self.lag, self.crowded = real, core, states, lag, crowded


class TcpPlayer:
    """One play on a broker. Use `play`."""

    def __init__(self, script: Script, peer: Peer, facts: Facts) -> None:
        self.script, self.peer, self.facts = script, peer, facts
        self.core = CorePlayer(script, facts)
        self.references = References(facts)
        self.events: list[Event] = []
        self.steps: list[Step] = []
        self.stopped: str | None = None
        self._links: dict[str, Link] = {}
        self._start = time.monotonic()
        self._changed = asyncio.Event()
        self._asker = Asker(peer)
        self._markers = MarkersAwaited(self.core, self._asker, facts)
        self.lag = 0.0
        self._edge: float | None = None

    def now_ms(self) -> float:
        """Ms since the play began."""
        return (time.monotonic() - self._start) * 1000

    # -- the play

    async def play(self) -> Played:
        """Every step, then the ending. Raises Noisy, NoBroker."""
        try:
            for step in (*self.script.steps, *ending(self.script, self.core.known.versions)):
                await self._step(step)
        except _Differs as why:
            self._blame(why)
            self.stopped = str(why)
        finally:
            self._asker.close()
            for link in self._links.values():
                link.close()
        core = self.core
        return Played(Transcript(self.facts, self.events, self.stopped), core.transcript(), core.states, self.lag, core.crowded)

    def _blame(self, why: _Differs) -> None:
        """Was it the machine? Then the difference says nothing."""
        last = self.events[-1]
        arrived = max((event.answered_ms for event in self.events if event.answered_ms is not None), default=0.0)
        if self._edge is not None and max(arrived, last.sent_ms) > self._edge - 5:
            raise Noisy(f"a request met a deadline: {why}")

    async def _step(self, step: Step) -> None:
        await self._pass_time(self.now_ms() + (step.ms if isinstance(step, Pause) else 0))
        index, edge = len(self.events), self.core.deadline_ms()
        link = None if isinstance(step, Pause) else await self._link(step)
        event = Event(sent_ms=self.now_ms())
        self.events.append(event)
        self.steps.append(step)
        self.core.advance(event.sent_ms)
        if isinstance(step, Send):
            assert link is not None
            await self._send(index, step, link)
        elif isinstance(step, Raw):
            raise TypeError("Raw steps have no guide: bytes_run.py plays them")
        else:
            self._drop(step)
            self.core.play(step, event.sent_ms)
        self._edge = edge
        await self._settle()
        if edge is not None and self.now_ms() > edge - 5:
            raise Noisy(f"step {index} took {self.now_ms() - event.sent_ms:.0f} ms and met a deadline")

    # -- time

    async def _pass_time(self, until: float) -> None:
        """Wait until then. Deadlines of the core up to a little later are waited out; those that lie close together, all at once."""
        changed = False
        while True:
            deadline, now = self.core.deadline_ms(), self.now_ms()
            if deadline is not None and deadline <= (now if changed else max(until, now)) + self._guard():
                await self._sleep_until(deadline + MARGIN_MS + min(self.lag, 500))
                before, open_before = self._standing(), self._markers.standing()
                self.core.advance(deadline)
                await self._markers.wait(open_before)
                changed = changed or self._standing() != before
            elif changed:
                await self._agree(PATIENCE_S / 2)
                changed = False
            else:
                break
        await self._sleep_until(until)
        await self._settle()

    def _guard(self) -> float:
        return min(GUARD_MS + self.peer.slowness, HIGHEST_GUARD_MS)

    async def _sleep_until(self, until: float) -> None:
        if (left := until - self.now_ms()) > 0:
            await asyncio.sleep(left / 1000)

    @property
    def _has_groups(self) -> bool:
        return self.script.about in ("groups", "transactions")

    def _standing(self) -> list[tuple[str, str, int]]:
        found = ((name, self.core.core.cluster.groups.find(name)) for name in sorted(self.facts.groups))
        return [(name, DEAD, 0) if group is None else (name, str(group.state), len(group.members)) for name, group in found]

    async def _agree(self, seconds: float) -> None:
        """The core's groups changed: give the broker the time to get there too. Ends early when a deadline comes near."""
        end = time.monotonic() + seconds
        while True:
            described = await self._describe(self.facts.groups)
            told = sorted((one.group_id, one.group_state, len(one.members)) for one in described)
            deadline = self.core.deadline_ms()
            if told == self._standing() or time.monotonic() > end or (deadline is not None and self.now_ms() > deadline - GUARD_MS / 2):
                return
            await asyncio.sleep(0.01)

    async def _describe(self, groups: list[str]) -> list[DescribedGroup]:
        began = self.now_ms()
        answer = await self._asker.ask(15, min(self.core.known.versions[15][1], 5), DescribeGroupsRequest(groups=groups))
        assert isinstance(answer, DescribeGroupsResponse)
        self.lag = max(self.lag, self.now_ms() - began)
        self.peer.took(self.now_ms() - began)
        return answer.groups

    # -- sending

    async def _link(self, step: Send | Raw | Drop | Reconnect) -> Link | None:
        if isinstance(step, Drop | Reconnect):
            return None
        if step.link not in self._links:
            self._links[step.link] = await Link.open(self.peer.host, self.peer.port, self._arrived, lambda: self._closed(step.link))
        return self._links[step.link]

    async def _send(self, index: int, step: Send, link: Link) -> None:
        event = self.events[index]
        message = build(APIS[step.key].request.message, step.version, step.fields, partial(self.references.resolve, step.client))
        event.sent_ms = self.now_ms()
        if link.side.pending and asks_for_member_id(step, message):
            event.status = SKIPPED
            self.core.play(step, event.sent_ms, skip=True)
            return
        if link.ended:
            event.status = CLOSED
        else:
            event.status = PARKED
            link.ask(index, step.key, step.version, step.client_id, message)
        drew = await self._drawn(index, step, message)
        standing, open_before = self._standing(), self._markers.standing()
        self.core.play(step, event.sent_ms, drew)
        event.drew = drew
        if self.core.events[index].status == PARKED:
            await self._barrier(index)
        elif self.core.events[index].status == SENT:
            await self._unanswered(index, link)
        if self._standing() != standing and self._has_groups:
            await self._agree(0.5)
        if self._markers.standing().ids != open_before.ids:
            await self._answered(index, PATIENCE_S)
            await self._markers.wait(open_before)

    async def _unanswered(self, index: int, link: Link) -> None:
        """Produce with acks=0: nothing comes, and what comes next is the answer to another request."""
        await self._answered(index, QUIET_MS / 1000)
        if self.events[index].status == PARKED:
            link.forget(index)
            self.events[index].status = SENT

    async def _drawn(self, index: int, step: Send, message: Message) -> list[str]:
        """The ids that the broker drew for this request: told by its answer, or by DescribeGroups while it is parked."""
        if asks_for_member_id(step, message):
            return await self._new_member(index, step, message)
        if answer_tells_ids(step, message):
            await self._answered(index, PATIENCE_S)
            return ids_in(step, self.events[index].answer)
        return []

    async def _new_member(self, index: int, step: Send, message: Message) -> list[str]:
        if must_answer(step, message):
            await self._answered(index, PATIENCE_S)
            return ids_in(step, self.events[index].answer)
        name: str = message.group_id  # type: ignore[attr-defined]  # a JoinGroup
        group = self.core.core.cluster.groups.find(name)
        known = set() if group is None else set(group.members)
        end = time.monotonic() + PATIENCE_S / 2
        while self.events[index].status == PARKED and time.monotonic() < end:
            await self._answered(index, QUIET_MS / 1000)
            (told,) = await self._describe([name])
            new = [one.member_id for one in told.members if one.member_id not in known]
            if new:
                return drawn_member_id(new[0])
        return ids_in(step, self.events[index].answer)

    async def _barrier(self, index: int) -> None:
        """Whatever the broker does about this request it has done when a later question is answered."""
        await self._answered(index, QUIET_MS / 1000)
        if self._has_groups:
            await self._describe(self.facts.groups)
            await self._answered(index, QUIET_MS / 1000)

    async def _answered(self, index: int, seconds: float) -> bool:
        """Wait for that step's answer."""
        end = time.monotonic() + seconds
        while self.events[index].status == PARKED and (left := end - time.monotonic()) > 0:
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                break
        return self.events[index].status != PARKED

    async def _settle(self) -> None:
        """What the core has answered the broker has to answer too; what it has not, must be out."""
        for index, (real, core) in enumerate(zip(self.events, self.core.events, strict=True)):
            if core.status in (ANSWERED, CLOSED) and real.status == PARKED and not await self._answered(index, PATIENCE_S):
                raise _Differs(f"step {index}: the broker does not answer")
            if core.status == PARKED and real.status in (ANSWERED, CLOSED):
                if self._is_due(real):
                    continue
                raise _Differs(f"step {index}: the broker answers what we park")

    def _is_due(self, real: Event) -> bool:
        """The broker's timer fired while we were busy: the core's is fired before the next step."""
        deadline = self.core.deadline_ms()
        return deadline is not None and real.answered_ms is not None and real.answered_ms >= deadline - 5

    def _drop(self, step: Step) -> None:
        if not isinstance(step, Drop | Reconnect):
            return
        link = self._links.pop(step.link, None)
        if link is None:
            return
        link.close(reset=isinstance(step, Drop) and step.how == "rst")
        for asked in link.side.pending:
            if self.events[asked.tag].status == PARKED:
                self.events[asked.tag].status = SENT

    # -- what comes in

    def _arrived(self, asked: Asked | None, frame: bytes) -> None:
        if asked is None:
            return
        event, step = self.events[asked.tag], self.steps[asked.tag]
        assert isinstance(step, Send)
        event.answered_ms, event.after = self.now_ms(), len(self.events) - 1
        version, message = asked.read(frame)
        event.answer = as_json(type(message), version)(message)
        event.status = ANSWERED
        self.references.learn(asked.tag, step, event.answer)
        self._note_lag(asked.tag, event)
        self._changed.set()

    def _note_lag(self, index: int, event: Event) -> None:
        expected = self.core.events[index].answered_ms if index < len(self.core.events) else event.sent_ms
        if expected is not None and event.answered_ms is not None:
            self.lag = max(self.lag, event.answered_ms - expected)

    def _closed(self, name: str) -> None:
        link = self._links[name]
        for asked in link.side.pending:
            event = self.events[asked.tag]
            event.status, event.answered_ms, event.after = CLOSED, self.now_ms(), len(self.events) - 1
        link.side.pending.clear()
        self._changed.set()


async def play(script: Script, peer: Peer) -> Played:
    """One guided play. Raises Noisy, NoBroker."""
    facts = await peer.facts(script)
    return await TcpPlayer(script, peer, facts).play()
