"""Convert the probe's exchanges to scripts, so that they are recorded from Kafka like generated ones.

Each is played on the core once: what it sends becomes the script, what it waits becomes pauses, names and ids become references. What a
script cannot say (bytes, commands of the core, settings of its own, minutes of waiting) is left out.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from functools import cache
from typing import Any, Final

from groupmock.rig.ask import Ask
from groupmock_clients.probe.language.exchange import BASE_SETTINGS, Exchange, Send, Step, Variant
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.language.matching import ABSENT
from groupmock_clients.probe.language.messages import as_values
from groupmock_clients.probe.language.syntax import Expr, Literal
from groupmock_clients.probe.stages.core_stage import CoreStage
from groupmock_clients.probe.verdicts.outcome import KEPT
from groupmock_clients.probe.verdicts.runner import play
from groupmock_codec.api_keys import API_VERSIONS, FETCH, FIND_COORDINATOR, INIT_PRODUCER_ID, JOIN_GROUP
from groupmock_codec.declare import Message

from ..generated.script import (
    Json,
    Script,
    TopicNeed,
    act,
    given,
    group,
    key_of,
    pause,
    request,
    told,
    topic,
    topic_id,
)
from ..generated.settings_classes import CLASSES

RECORDS: Final = "D-"
"""The prefix of rows (statements of the probe) about topics and records, whose scripts get topics of their own."""
LONGEST_MS: Final = 12_000
NUMBERS: Final = {FETCH: "session_id", INIT_PRODUCER_ID: "producer_id"}
"""Maps an API to the number in its answer that the broker draws, and that later requests refer to by the same field name."""


def generate(seed: int, release: str) -> Script:
    """Return exchange number `seed` among the probe's exchanges for a release. Raises LookupError, saying how many there are."""
    found = scripts(release)
    if not 0 <= seed < len(found):
        raise LookupError(f"there are {len(found)} exchanges for {release}, from 0 on; not {seed}")
    return found[seed]


@cache
def scripts(release: str) -> tuple[Script, ...]:
    """Return every exchange of a release that can be expressed as a script, in each of its versions."""
    found: list[Script] = []
    for exchange in load_suite().exchanges:
        settings = _class_of(exchange)
        if settings is None or exchange.lacking or release not in exchange.releases or not {"core", "tcp"} <= set(exchange.stages):
            continue
        for variant in exchange.variants():
            script = _script(variant, release, settings, len(found))
            if script is not None:
                found.append(script)
    return tuple(found)


def _class_of(exchange: Exchange) -> str | None:
    wanted = {name: value for name, value in exchange.wanted_settings.items() if BASE_SETTINGS.get(name) != value}
    base = CLASSES["plain"]
    return next(
        (name for name, told in CLASSES.items() if {key: value for key, value in told.items() if base.get(key) != value} == wanted), None
    )


def _script(variant: Variant, release: str, settings: str, seed: int) -> Script | None:
    exchange = variant.exchange
    stage = ScriptRecorder(release, exchange.wanted_settings)
    if play(variant, stage).verdict != KEPT or stage.now_ms() > LONGEST_MS or any(map(_of_the_broker, stage.steps)):
        return None
    about_records = any(row.startswith(RECORDS) for row in exchange.rows)
    configs = {"retention.ms": "-1"} if about_records else {}
    topics = [
        TopicNeed(partitions, about_records or name in exchange.own, configs | exchange.own.get(name, {}))
        for name, partitions in exchange.topics.items()
    ]
    return Script("exchanges", seed, release, settings, stage.steps, 1, topics)


def _of_the_broker(step: Step) -> bool:
    """Tell whether the answer to a step depends on the broker as a whole, such as its APIs or the presence of the transaction topic."""
    if not isinstance(step, Send):
        return False
    return key_of(step) == API_VERSIONS or (key_of(step) == FIND_COORDINATOR and given(step, "key_type") == Literal(1))


class ScriptRecorder(CoreStage):
    """A stage on the core that records the requests of a dialogue as the steps of a script."""

    def __init__(self, release: str, settings: Any) -> None:
        super().__init__(release, settings)
        self.steps: list[Step] = []
        self._group = super().group()
        self._passed_ms = 0.0
        self._under_way: dict[int, deque[int]] = {}
        self._told: dict[tuple[str, Json], tuple[int, str]] = {}

    def group(self) -> str:
        """Return the id of the only group of the script."""
        return self._group

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        """Send a request and record it as a step."""
        self._write_pause()
        self._under_way.setdefault(self.rig.connection(member).number, deque()).append(len(self.steps))
        self.steps.append(request(member, key, version, self._symbolic("", as_values(message, version)), client_id=client_id))
        super().send(member, key, version, client_id, message)

    def hang_up(self, member: str, how: str) -> None:
        """Close a connection and record that as a step."""
        super().hang_up(member, how)
        self._write_pause()
        self.steps.append(act(member, how))

    def close(self) -> None:
        """Record the final pause of the dialogue."""
        self._write_pause()

    def _write_pause(self) -> None:
        passed = math.ceil(self.now_ms() - self._passed_ms)
        if passed > 0:
            self.steps.append(pause(passed))
            self._passed_ms = self.now_ms()

    # -- what only a run can know

    def answered(self, ask: Ask) -> None:
        """Note an answer, whose fields later steps can name."""
        index, key, message = self._under_way[ask.request.connection].popleft(), ask.request.key, ask.answer
        if key == JOIN_GROUP and (member_id := getattr(message, "member_id", "")):
            self._told.setdefault(("", member_id), (index, "member_id"))
        if (name := NUMBERS.get(key)) is not None and (number := getattr(message, name)) > 0:
            self._told.setdefault((name, number), (index, name))
        super().answered(ask)

    def ended(self, ask: Ask) -> None:
        """Note that a request ended without an answer."""
        self._under_way[ask.request.connection].popleft()

    def _symbolic(self, name: str, value: Json) -> Json:
        """Return the value with references in place of names and ids. `name` is the field that contains the value."""
        if isinstance(value, list):
            return [self._symbolic(name, each) for each in value]
        if isinstance(value, dict):
            return {each: self._symbolic(each, inner) for each, inner in value.items() if each != ABSENT}
        if isinstance(value, bytes):
            return self._topic_id(value)
        if isinstance(value, str) and value == self._group:
            return group(1)
        if isinstance(value, str) and value in self.topic_ids:
            return topic(list(self.topic_ids).index(value) + 1)
        found = self._told.get(("" if isinstance(value, str) else name, value))
        return value if found is None or isinstance(value, bool) else self._named(*found)

    def _named(self, index: int, field: str) -> Expr:
        """Return an expression for a field of that step's answer, and give the answer a name."""
        step = self.steps[index]
        assert isinstance(step, Send)
        self.steps[index] = replace(step, bound=f"a{index}")
        return told(f"a{index}", field)

    def _topic_id(self, value: bytes) -> Json:
        ids = list(self.topic_ids.values())
        return topic_id(ids.index(value) + 1) if value in ids else value
