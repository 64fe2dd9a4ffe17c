"""Play an exchange on a stage and judge the answers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

from groupmock.rig.wire import Unreadable, framed, is_answered

from ..language import messages
from ..language.exchange import (
    BASE_SETTINGS,
    Act,
    Await,
    Command,
    Connect,
    Expectation,
    Expectations,
    Let,
    Mark,
    Pause,
    Raw,
    Send,
    Step,
    Variant,
)
from ..language.matching import Matcher, lifted, show
from ..language.scope import SETTINGS, MemberMemory, Scope, Value
from ..language.syntax import ExchangeError, Expr
from ..stages.contract import Answer, Closed, NotOnThisStage, Opening, Refused, Stage, TimeUp
from .every_answer import surprises
from .outcome import BROKEN, KEPT, NOT_APPLICABLE, UNKNOWN, DialogueOutcome, Failure

LOOKS: Final = ("DescribeGroups", "ListGroups")
"""The APIs that a dialogue uses only to observe the broker. If a broker lacks one, the dialogue goes on without it, and can then be
broken but not kept."""


class NotApplicable(Exception):
    """The broker does not offer an API or version that the exchange needs."""


class DialogueFailed(Exception):
    """The stage behaved differently from what the exchange expects."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.place}: {'; '.join(failure.problems)}")
        self.failure = failure


def play(variant: Variant, stage: Stage, *, asides: bool = False) -> DialogueOutcome:
    """Play one dialogue on a stage. Errors in the text of the exchange are raised, everything else becomes a verdict.

    With `asides`, broken expectations of every_answer.py about other rows are noted and not judged.
    """
    dialogue = _Dialogue(variant, stage, asides)
    outcome = _played(dialogue, variant, stage)
    outcome.asides = dialogue.asides
    return outcome


def _played(dialogue: _Dialogue, variant: Variant, stage: Stage) -> DialogueOutcome:
    rows = variant.exchange.rows
    try:
        dialogue.run()
    except NotApplicable as why:
        return DialogueOutcome(variant.name, rows, NOT_APPLICABLE, str(why))
    except (NotOnThisStage, TimeUp) as why:
        return DialogueOutcome(variant.name, rows, UNKNOWN, str(why), dialogue.transcript)
    except DialogueFailed as why:
        return DialogueOutcome(variant.name, rows, BROKEN, str(why), dialogue.transcript, why.failure)
    finally:
        stage.close()
    if dialogue.missed:
        return DialogueOutcome(variant.name, rows, *dialogue.in_part(), dialogue.transcript)
    return DialogueOutcome(variant.name, rows, KEPT, transcript=dialogue.transcript)


@dataclass
class _Asked:
    """A request in progress, against which its answer is judged."""

    api: str
    version: int
    request: dict[str, Value]
    number: int = -1
    bound: str | None = None

    def __str__(self) -> str:
        return f"{self.api} v{self.version} {show(messages.shown(self.request))}" if self.api else "bytes"


class _Dialogue:
    def __init__(self, variant: Variant, stage: Stage, aside: bool) -> None:
        self.variant, self.stage = variant, stage
        self._aside = aside
        self.asides: list[tuple[str, str]] = []
        self.scope = Scope()
        self.transcript: list[str] = []
        self.marks: dict[str, float] = {}
        self.asked: dict[str, list[_Asked]] = {}
        self.peeked: dict[str, Answer] = {}
        self.missed: list[str] = []
        self._numbers = itertools.count()
        self._judged = 0
        self._step_ms = 0.0
        self._seen = ""
        self._off: tuple[tuple[str, ...], float] = ((), 0.0)

    def run(self) -> None:
        """Play every step whose guard holds."""
        exchange = self.variant.exchange
        group = self.stage.group()
        self.scope.values |= {"group": group, "stem": group, "wall_ms": self.stage.wall_ms(), **self.variant.parameters}
        self.scope.values |= self.stage.known
        for name, setting in SETTINGS.items():
            self.scope.values[name] = int(self.stage.settings.get(setting, BASE_SETTINGS[setting]))
        for name, partitions in exchange.topics.items():
            self.scope.values[name] = real = self.stage.topic(name, partitions, exchange.own.get(name))
            self.scope.values[f"id of {real}"] = self.stage.topic_ids.get(real, b"")
        for name in exchange.members.keys() - {"*"}:
            self._memory(name)
        for step in exchange.steps:
            if isinstance(step, Send | Raw):
                self._memory(step.member)
                self.scope.answers |= {} if step.bound is None else {step.bound: None}
        for step in exchange.steps:
            if step.guard.holds(self.stage.release, self.stage.kind, self.variant.parameters):
                self.transcript.append(f"{step.place}  {step.text}")
                self._step_ms = self.stage.now_ms()
                self._play(step)

    def in_part(self) -> tuple[str, str]:
        """Return the verdict on a dialogue in which some steps were left out, because the broker lacks an API that they use to observe."""
        missed = ", ".join(sorted(set(self.missed)))
        if not self._judged:
            return NOT_APPLICABLE, f"{missed} is not offered"
        return UNKNOWN, f"kept as far as it can be seen without {missed}, which is not offered"

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
            case Connect():
                self._connect(step)
            case Act():
                self._act(step)
            case Command():
                self.stage.command(step.name, {name: self.scope.evaluate(value, step.place) for name, value in step.fields})
            case Mark():
                self.marks[step.name] = self.stage.now_ms()
            case Let():
                self.scope.values[step.name] = self.scope.evaluate(step.value, step.place)

    def _send(self, step: Send) -> None:
        key = messages.key_of(step.api, step.place)
        if step.api in LOOKS and step.version is None and self.stage.versions(key) is None:
            self.missed.append(step.api)
            self.transcript.append(f"    left out: {step.api} is not offered")
            return
        memory = self._memory(step.member)
        version = self._version(step, key)
        explicit = {name: self.scope.evaluate(value, step.place) for name, value in step.fields}
        client_id = explicit.pop("client_id", memory.client_id)
        defaults = {**messages.DEFAULTS, **messages.remembered(memory, self.scope), **self._header_defaults(step.member)}
        request = messages.build_request(step.api, version, explicit, defaults, self.stage.topic_ids.get, step.place)
        assert client_id is None or isinstance(client_id, str)
        if is_answered(key, request):
            asked = _Asked(step.api, version, messages.as_values(request, version), next(self._numbers), step.bound)
            self.asked.setdefault(step.member, []).append(asked)
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
        self.asked.setdefault(step.member, []).append(_Asked("", 0, {}, bound=step.bound))
        self.stage.send_bytes(step.member, framed(data) if step.framed else data, step.token)
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

    def _connect(self, step: Connect) -> None:
        user = None if step.user is None else str(self.scope.evaluate(step.user, step.place))
        self.asked[step.member] = []
        self.peeked.pop(step.member, None)
        try:
            self.stage.open(step.member, Opening(step.listener, user, step.mechanism, step.certificate, step.bare))
        except Refused as refused:
            raise DialogueFailed(Failure(step.place, step.text, "", f"{user} is let in", str(refused), (str(refused),))) from None

    def _act(self, step: Act) -> None:
        if step.verb == "forgets":
            self.scope.members.pop(_name(step.member), None)
        elif step.verb == "is":
            own, other = self._memory(step.member), self._memory(step.other or "")
            self.scope.members[_name(step.member)] = MemberMemory(**vars(other) | {"client_id": own.client_id})
        elif step.verb != "reconnects":
            self.stage.hang_up(step.member, step.verb)
        else:
            self.stage.hang_up(step.member, "drops")
        # Answers on a closed connection never arrive. `finishes` closes one direction only, so answers may still arrive.
        if step.verb in ("drops", "resets", "reconnects"):
            self.asked[step.member] = []
            self.peeked.pop(step.member, None)

    def _marked(self, name: str, place: str) -> float:
        if name not in self.marks:
            raise ExchangeError(place, f"there was no 'mark {name}'")
        return self.marks[name]

    def _header_defaults(self, member: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for who in ("*", _name(member)):
            for name, value in self.variant.exchange.members.get(who, ()):
                if name != "client_id":
                    found[name] = self.scope.evaluate(value, self.variant.exchange.place)
        return found

    def _memory(self, member: str) -> MemberMemory:
        if (member := _name(member)) not in self.scope.members:
            self.scope.members[member] = made = MemberMemory(client_id=member)
            for who in ("*", member):
                for name, value in self.variant.exchange.members.get(who, ()):
                    if hasattr(made, name):
                        setattr(made, name, self.scope.evaluate(value, self.variant.exchange.place))
        return self.scope.members[member]

    def _judge(self, member: str, expects: Expectations, step: Step) -> None:
        expected = expects.of(self.stage.release)
        self._seen, self._off = "nothing", ((), 0.0)
        asked = next(iter(self.asked.get(member, ())), None)
        try:
            problems = getattr(self, f"_judge_{expected.kind}")(member, expected, step)
        except Closed:
            self._seen = "the connection was closed"
            problems = ["the broker closed the connection"]
        except Unreadable as what:
            self._seen = str(what)
            problems = [f"the broker sent {what}"]
        self._judged += 1
        if problems:
            sent = str(asked) if asked is not None else ""
            raise DialogueFailed(Failure(step.place, step.text, sent, expects.text, self._seen, tuple(problems), *self._off))

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
        return [f"no answer expected yet, but there is one: {self._noted(answer)}"]

    def _judge_sent(self, member: str, expected: Expectation, step: Step) -> list[str]:
        """Give the broker time to receive a request whose answer is not awaited. An answer that arrives meanwhile is judged by a later
        step."""
        answer = self.peeked.get(member) or self.stage.answer(member, self.stage.tolerance.quiet)
        if answer is not None:
            self.peeked[member] = answer
        return []

    def _noted(self, answer: Answer) -> str:
        self._seen = show(messages.as_values(answer.message, answer.version))
        return self._seen

    def _judge_closed(self, member: str, expected: Expectation, step: Step) -> list[str]:
        limit = expected.timing.highest + self.stage.tolerance.patience
        try:
            answer = self.stage.answer(member, limit)
        except Closed:
            self.asked[member] = []
            return self._timing_of_the_end(expected)
        if answer is None:
            return self._out_by(limit, "the connection stays open")
        return [f"the connection should be closed; an answer came: {self._noted(answer)}"]

    def _judge_bytes(self, member: str, expected: Expectation, step: Step) -> list[str]:
        data, closed = self.stage.heard(member, expected.timing.highest + self.stage.tolerance.patience)
        self.asked[member] = []
        self._seen = show(data)
        problems = list(Matcher(self.scope, step.place).mismatches(expected.fields[0][1], data, "bytes"))
        return problems + (self._timing_of_the_end(expected) if closed else ["the connection stays open"])

    def _timing_of_the_end(self, expected: Expectation) -> list[str]:
        """Judge when the broker closed a connection, if the exchange says when that is."""
        if expected.timing.kind == "at once":
            return []
        return self._span(expected, self.stage.now_ms() - self._step_ms)

    def _judge_any(self, member: str, expected: Expectation, step: Step) -> list[str]:
        answer = self._take(member, expected)
        if answer is None:
            return self._out_by(self._beyond(expected), "no answer")
        self._learn(member, self.asked[member].pop(0), answer)
        return []

    def _judge_answer(self, member: str, expected: Expectation, step: Step) -> list[str]:
        answer = self._take(member, expected)
        if answer is None:
            return self._out_by(self._beyond(expected), "no answer")
        asked = self.asked[member].pop(0)
        seen = messages.as_values(answer.message, answer.version)
        self.transcript.append(f"    seen {self._noted(answer)} {answer.at_ms - answer.sent_ms:.0f} ms after the request")
        # The ids in the answer are stored before the comparison, because `$A.member_id` in the expectation means the id in this answer.
        self._learn(member, asked, answer)
        problems = self._differences(answer, seen, expected, step)
        if asked.api:
            stated = {name for name, _ in expected.fields} | ({"error_code"} if expected.error is not None else set())
            standing = surprises(answer.api, answer.version, asked.request, seen, stated, self._memory(member), self.stage.release)
            problems += [sentence for row, sentence in standing if not self._noted_aside(row, sentence)]
        return problems + self._timing(expected, answer, step.place)

    def _noted_aside(self, row: str, sentence: str) -> bool:
        if not self._aside or row in self.variant.exchange.rows:
            return False
        self.asides.append((row, sentence))
        self.transcript.append(f"    aside ({row}): {sentence}")
        return True

    def _take(self, member: str, expected: Expectation) -> Answer | None:
        timing = expected.timing
        if member in self.peeked:
            return self.peeked.pop(member)
        due = timing.highest if timing.kind == "after" else 0
        return self.stage.answer(member, due + self._beyond(expected))

    def _beyond(self, expected: Expectation) -> float:
        """Return how many ms to await an answer after it is due."""
        tolerance = self.stage.tolerance
        return tolerance.eventually if expected.timing.kind == "eventually" else tolerance.patience

    def _timing(self, expected: Expectation, answer: Answer, place: str) -> list[str]:
        """Judge whether the answer came at the expected time. At once means before anything else happens on a virtual clock, and soon on
        a real one. After means within the tolerance of the stage."""
        timing, tolerance = expected.timing, self.stage.tolerance
        if timing.kind == "eventually":
            return []
        if timing.kind == "at once":
            late = answer.at_ms - self._step_ms
            if late <= tolerance.at_once:
                return []
            return self._out_by(late - tolerance.at_once, f"at once expected; the answer came {late:.0f} ms later")
        return self._span(expected, answer.at_ms - (answer.sent_ms if timing.since is None else self._marked(timing.since, place)))

    def _span(self, expected: Expectation, took: float) -> list[str]:
        timing, tolerance = expected.timing, self.stage.tolerance
        if timing.kind == "before":
            off = took - timing.highest
            return self._out_by(off, f"less than {timing.highest} ms expected; it took {took:.0f} ms") if off >= 0 else []
        if timing.lowest - tolerance.early <= took <= timing.highest + tolerance.late:
            return []
        span = f"{timing.lowest}" if timing.lowest == timing.highest else f"{timing.lowest}..{timing.highest}"
        off = max(timing.lowest - tolerance.early - took, took - timing.highest - tolerance.late)
        return self._out_by(off, f"{span} ms expected; it took {took:.0f} ms")

    def _out_by(self, ms: float, problem: str) -> list[str]:
        """Return a problem that concerns the time of an answer alone. `ms` says how far the time is out of bounds."""
        self._off = ((problem,), ms)
        return [problem]

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
        """Judge an expectation such as `entry=25` about LeaveGroup, which means the error of the only member, wherever the version has
        that error."""
        members = seen.get("members")
        if not isinstance(members, list):
            return list(matcher.mismatches(pattern, seen["error_code"], "error_code"))
        problems = list(matcher.mismatches(lifted(0), seen["error_code"], "error_code"))
        for each in members:
            assert isinstance(each, dict)
            problems += matcher.mismatches(pattern, each["error_code"], "members.error_code")
        return problems or ([] if members else ["members: none seen"])

    def _learn(self, member: str, asked: _Asked, answer: Answer) -> None:
        if asked.api:
            self._memory(member).learn(asked.number, answer.version, answer.message)
        if asked.bound is not None:
            self.scope.answers[asked.bound] = answer.message


def _name(member: str) -> str:
    """Return the member's name without the number of the connection: A for `A/2`."""
    return member.partition("/")[0]
