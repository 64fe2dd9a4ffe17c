"""Plays an exchange on a stage and judges the answers."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from . import messages
from .exchange import Act, Await, Command, Expectation, Expectations, Let, Mark, Pause, Raw, Send, Step, Variant
from .matching import Matcher, lifted, show
from .scope import Memory, Scope, Value
from .stage import Answer, Closed, Stage
from .standing import surprises
from .syntax import ExchangeError, Expr

LONG_WAIT_MS: Final = 900_000
"""How far `eventually` looks ahead on a virtual clock."""


class NotApplicable(Exception):
    """The stage does not offer what the exchange speaks of (an API, a version)."""


class Broken(Exception):
    """The stage did something else than the exchange expects."""


@dataclass
class Outcome:
    """How an exchange went. `verdict`: kept, broken or not applicable; `transcript`: what was sent, expected and seen."""

    name: str
    rows: tuple[str, ...]
    verdict: str
    detail: str = ""
    transcript: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.verdict:15} {self.name}" + (f": {self.detail}" if self.detail else "")]
        return "\n".join(lines + ([f"    {line}" for line in self.transcript] if self.verdict == "broken" else []))


def play(variant: Variant, stage: Stage) -> Outcome:
    """Play one dialogue; errors in the text of the exchange are raised, everything else is a verdict."""
    dialogue = _Dialogue(variant, stage)
    rows = variant.exchange.rows
    try:
        dialogue.run()
    except NotApplicable as why:
        return Outcome(variant.name, rows, "not applicable", str(why))
    except Broken as why:
        return Outcome(variant.name, rows, "broken", str(why), dialogue.transcript)
    finally:
        stage.close()
    return Outcome(variant.name, rows, "kept", transcript=dialogue.transcript)


def play_until_kept(variant: Variant, stage: Callable[[int], Stage], attempts: int) -> Outcome:
    """In real time nothing is exact: broken is what is broken at every attempt. `stage` makes a new one for attempt 1, 2, ..."""
    outcome = play(variant, stage(1))
    for attempt in range(2, attempts + 1):
        if outcome.verdict != "broken":
            break
        before, outcome = outcome, play(variant, stage(attempt))
        outcome.detail = outcome.detail or f"only at attempt {attempt}; before: {before.detail}"
    return outcome


@dataclass
class _Asked:
    """A request that is under way: what its answer is judged against."""

    api: str
    version: int
    request: dict[str, Value]


class _Dialogue:
    def __init__(self, variant: Variant, stage: Stage) -> None:
        self.variant, self.stage = variant, stage
        self.scope = Scope()
        self.transcript: list[str] = []
        self.marks: dict[str, float] = {}
        self.asked: dict[str, list[_Asked]] = {}
        self.peeked: dict[str, Answer] = {}
        self._step_ms = 0.0

    def run(self) -> None:
        """Play every step whose guard holds."""
        exchange = self.variant.exchange
        self.scope.values |= {"group": f"g-{secrets.token_hex(5)}", "wall_ms": self.stage.wall_ms(), **self.variant.parameters}
        for name, partitions in exchange.topics.items():
            self.scope.values[name] = real = self.stage.topic(name, partitions)
            self.scope.values[f"id of {real}"] = self.stage.topic_ids.get(real, b"")
        for step in exchange.steps:
            if step.guard.holds(self.stage.release, self.stage.kind, self.variant.parameters):
                self.transcript.append(f"{step.place}  {step.text}")
                self._step_ms = self.stage.now_ms()
                self._play(step)

    # -- steps

    def _play(self, step: Step) -> None:
        match step:
            case Send():
                self._send(step)
            case Raw():
                self._raw(step)
            case Await():
                self._await(step)
            case Pause():
                self._pause(step)
            case Act():
                self._act(step)
            case Command():
                self._command(step)
            case Mark():
                self.marks[step.name] = self.stage.now_ms()
            case Let():
                self.scope.values[step.name] = self.scope.evaluate(step.value, step.place)

    def _send(self, step: Send) -> None:
        memory = self._memory(step.member)
        key = messages.key_of(step.api, step.place)
        version = self._version(step, key)
        explicit = {name: self.scope.evaluate(value, step.place) for name, value in step.fields}
        client_id = explicit.pop("client_id", memory.client_id)
        defaults = {**messages.DEFAULTS, **messages.remembered(memory, self.scope), **self._header_defaults(step.member)}
        request = messages.build_request(step.api, version, explicit, defaults, self.stage.topic_ids.get, step.place)
        assert client_id is None or isinstance(client_id, str)
        self.asked.setdefault(step.member, []).append(_Asked(step.api, version, messages.plain(request, version)))
        self.stage.send(step.member, key, version, client_id, request)
        if step.expects is not None:
            self._judge(step.member, step.expects, step)

    def _version(self, step: Send, key: int) -> int:
        offered = self.stage.versions(key)
        if offered is None:
            raise NotApplicable(f"{step.api} is not offered")
        if step.version is None:
            return min(offered.highest, messages.CAPS.get(step.api, offered.highest))
        version = self.scope.evaluate(step.version, step.place)
        if not isinstance(version, int) or version not in offered:
            raise NotApplicable(f"{step.api} v{show(version)} is not offered ({offered})")
        return version

    def _raw(self, step: Raw) -> None:
        data = b""
        for part in step.parts:
            value = self.scope.evaluate(part, step.place)
            if not isinstance(value, bytes):
                raise ExchangeError(step.place, f"bytes expected, not {show(value)}")
            data += value
        self._memory(step.member)
        self.asked.setdefault(step.member, []).append(_Asked("", 0, {}))
        self.stage.send_bytes(step.member, (len(data).to_bytes(4, "big") if step.framed else b"") + data)
        if step.expects is not None:
            self._judge(step.member, step.expects, step)

    def _await(self, step: Await) -> None:
        if not self.asked.get(step.member):
            raise ExchangeError(step.place, f"{step.member} awaits an answer but has no request under way")
        self._judge(step.member, step.expects, step)

    def _pause(self, step: Pause) -> None:
        ms = self.scope.evaluate(step.ms, step.place)
        if not isinstance(ms, int):
            raise ExchangeError(step.place, "pause takes a number of milliseconds")
        if step.since is None:
            self.stage.pause(ms)
        else:
            self.stage.pause(max(self._marked(step.since, step.place) + ms - self.stage.now_ms(), 0))

    def _act(self, step: Act) -> None:
        if step.verb == "forgets":
            self.scope.members.pop(step.member, None)
        elif step.verb == "is":
            own, other = self._memory(step.member), self._memory(step.other or "")
            self.scope.members[step.member] = Memory(**vars(other) | {"client_id": own.client_id})
        elif step.verb != "reconnects":
            self.stage.hang_up(step.member, step.verb)
        else:
            self.stage.hang_up(step.member, "drops")
        if step.verb in ("drops", "resets", "reconnects"):
            self.asked[step.member] = []
            self.peeked.pop(step.member, None)

    def _command(self, step: Command) -> None:
        self.stage.command(step.name, {name: self.scope.evaluate(value, step.place) for name, value in step.fields})

    def _marked(self, name: str, place: str) -> float:
        if name not in self.marks:
            raise ExchangeError(place, f"there was no 'mark {name}'")
        return self.marks[name]

    # -- members

    def _header_defaults(self, member: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for who in ("*", member):
            for name, value in self.variant.exchange.members.get(who, ()):
                if name != "client_id":
                    found[name] = self.scope.evaluate(value, self.variant.exchange.place)
        return found

    def _memory(self, member: str) -> Memory:
        if member not in self.scope.members:
            self.scope.members[member] = made = Memory(client_id=member)
            for who in ("*", member):
                for name, value in self.variant.exchange.members.get(who, ()):
                    if hasattr(made, name):
                        setattr(made, name, self.scope.evaluate(value, self.variant.exchange.place))
        return self.scope.members[member]

    # -- judging

    def _judge(self, member: str, expects: Expectations, step: Step) -> None:
        expected = expects.of(self.stage.release)
        try:
            problems = getattr(self, f"_judge_{expected.kind}")(member, expected, step)
        except Closed:
            problems = ["the broker closed the connection"]
        if problems:
            raise Broken(f"{step.place}: {'; '.join(problems)}")

    def _judge_silence(self, member: str, expected: Expectation, step: Step) -> list[str]:
        return self._quiet(member, expected.timing.lowest, step)

    def _judge_parked(self, member: str, expected: Expectation, step: Step) -> list[str]:
        return self._quiet(member, self.stage.tolerance.quiet, step)

    _judge_open = _judge_parked

    def _quiet(self, member: str, ms: float, step: Step) -> list[str]:
        answer = self.peeked.get(member) or self.stage.answer(member, ms)
        if answer is None:
            return []
        self.peeked[member] = answer
        return [f"no answer expected yet, but there is one: {show(messages.plain(answer.message, answer.version))}"]

    def _judge_closed(self, member: str, expected: Expectation, step: Step) -> list[str]:
        try:
            answer = self.stage.answer(member, self.stage.tolerance.patience)
        except Closed:
            self.asked[member] = []
            return []
        if answer is None:
            return ["the connection stays open"]
        return [f"the connection should be closed; an answer came: {show(messages.plain(answer.message, answer.version))}"]

    def _judge_any(self, member: str, expected: Expectation, step: Step) -> list[str]:
        answer = self._take(member, expected)
        if answer is None:
            return ["no answer"]
        self._learn(member, self.asked[member].pop(0), answer)
        return []

    def _judge_answer(self, member: str, expected: Expectation, step: Step) -> list[str]:
        answer = self._take(member, expected)
        if answer is None:
            return ["no answer"]
        asked = self.asked[member].pop(0)
        seen = messages.plain(answer.message, answer.version)
        self.transcript.append(f"    seen {show(seen)} {answer.at_ms - answer.sent_ms:.0f} ms after the request")
        self._learn(member, asked, answer)  # first: `$A.member_id` in the expectation is the id that just came
        problems = self._differences(answer, seen, expected, step)
        if asked.api:
            stated = {name for name, _ in expected.fields} | ({"error_code"} if expected.error is not None else set())
            problems += surprises(answer.api, answer.version, asked.request, seen, stated, self._memory(member), self.stage.release)
        return problems + self._timing(expected, answer, step.place)

    def _take(self, member: str, expected: Expectation) -> Answer | None:
        tolerance, timing = self.stage.tolerance, expected.timing
        if member in self.peeked:
            return self.peeked.pop(member)
        if timing.kind == "eventually":
            return self.stage.answer(member, LONG_WAIT_MS if self.stage.kind == "core" else 15_000 + tolerance.patience)
        return self.stage.answer(member, (timing.highest if timing.kind == "after" else 0) + tolerance.patience)

    def _timing(self, expected: Expectation, answer: Answer, place: str) -> list[str]:
        """At once: before anything else happened on a virtual clock, soon on a real one. After: within the tolerance of the stage."""
        timing, tolerance = expected.timing, self.stage.tolerance
        if timing.kind == "eventually":
            return []
        if timing.kind == "at once":
            late = answer.at_ms - self._step_ms
            return [] if late <= tolerance.at_once else [f"at once expected; the answer came {late:.0f} ms later"]
        took = answer.at_ms - (answer.sent_ms if timing.since is None else self._marked(timing.since, place))
        if timing.lowest - tolerance.early <= took <= timing.highest + tolerance.late:
            return []
        span = f"{timing.lowest}" if timing.lowest == timing.highest else f"{timing.lowest}..{timing.highest}"
        return [f"{span} ms expected; it took {took:.0f} ms"]

    def _differences(self, answer: Answer, seen: dict[str, Value], expected: Expectation, step: Step) -> list[str]:
        matcher = Matcher(self.scope, step.place)
        found: list[str] = []
        if expected.error is not None:
            codes = messages.error_codes(answer.api, seen)
            if not codes or any(code != expected.error for code in codes):
                found.append(f"error {expected.error} expected, {show(codes[0] if len(codes) == 1 else codes)} seen")
        for name, pattern in expected.fields:
            if name == "entry":
                found += self._entry(matcher, seen, pattern)
                continue
            try:
                present, value = messages.look_up(answer.api, seen, name)
            except KeyError:
                raise ExchangeError(step.place, f"answers of {answer.api} v{answer.version} have no field {name!r}") from None
            if present:
                found += matcher.mismatches(pattern, value, name)
        return found

    def _entry(self, matcher: Matcher, seen: dict[str, Value], pattern: Expr) -> list[str]:
        """`entry=25` of LeaveGroup: the error of the one member, wherever the version carries it."""
        members = seen.get("members")
        if not isinstance(members, list):
            return list(matcher.mismatches(pattern, seen["error_code"], "error_code"))
        problems = list(matcher.mismatches(lifted(0), seen["error_code"], "error_code"))
        for each in members:
            assert isinstance(each, dict)
            problems += matcher.mismatches(pattern, each["error_code"], "members.error_code")
        return problems or ([] if members else ["members: none seen"])

    def _learn(self, member: str, asked: _Asked, answer: Answer) -> None:
        """A member remembers what its JoinGroup answer says about it."""
        if answer.api != "JoinGroup" or not asked.api:
            return
        seen, memory = messages.plain(answer.message, answer.version), self._memory(member)
        if seen["error_code"] in (0, 79):
            memory.member_id = str(seen["member_id"])
        if seen["error_code"] == 0:
            generation, name = seen["generation_id"], seen["protocol_name"]
            assert isinstance(generation, int)
            memory.generation, memory.leader = generation, str(seen["leader"])
            memory.protocol_name = name if isinstance(name, str) else None
