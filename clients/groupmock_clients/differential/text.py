"""A script, with what came of it, as `.exchange` text: one language for people (docs/exchanges.md)."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence

from groupmock_codec import APIS

from .script import Drop, Json, Pause, Raw, Reconnect, Script, Send, Step, ending
from .settings_classes import CLASSES, known
from .shapes import _slots
from .transcript import ANSWERED, Event, Transcript


def as_text(script: Script, transcript: Transcript | None = None) -> str:
    """The whole exchange; with a transcript, what each request was answered."""
    return "\n".join([*_head(script), "", *_body(script, transcript), ""])


def _head(script: Script) -> Iterator[str]:
    yield f'exchange {script.family}-{script.seed} "Generated: family {script.family}, seed {script.seed}, release {script.release}"'
    yield f"settings: {' '.join(f'{key}={value}' for key, value in CLASSES[script.settings].items())}"
    if script.topics:
        yield f"topics: {' '.join(f't{at + 1}:{need.partitions}' for at, need in enumerate(script.topics))}"


def _body(script: Script, transcript: Transcript | None) -> Iterator[str]:
    if transcript is None:
        yield from (_line(step, "") for step in script.steps)
        return
    steps: Sequence[Step] = (*script.steps, *ending(script, known(transcript.facts.release, transcript.facts.settings).versions))
    for step, event in zip(steps, transcript.events, strict=False):
        yield _line(step, _outcome(event) if isinstance(step, Send | Raw) else "")
    if transcript.stopped:
        yield f"# stopped: {transcript.stopped}"


def _outcome(event: Event) -> str:
    if event.status != ANSWERED or event.answer is None:
        return f" -> {event.status}"
    late = (event.answered_ms or 0) - event.sent_ms
    told = {name: value for name, value in event.answer.items() if name not in ("throttle_time_ms", "error_code")}
    code = f"{event.answer['error_code']} " if "error_code" in event.answer else ""
    return f" -> {code}{_fields(told)}" + (f" after {late:.0f}" if late > 100 else "")


def _line(step: Step, outcome: str) -> str:
    if isinstance(step, Pause):
        return f"pause {step.ms}"
    if isinstance(step, Drop):
        return f"{step.link} {'resets' if step.how == 'rst' else 'drops'}"
    if isinstance(step, Reconnect):
        return f"{step.link} reconnects"
    if isinstance(step, Raw):
        return f'{step.link}: {"frame" if step.framed else "bytes"} x"{step.data.hex()}"{outcome}'
    present = _slots(APIS[step.key].request.message, step.version)
    fields = {name: value for name, value in step.fields.items() if name in present}
    return f"{step.link}: {APIS[step.key].name} v{step.version} {_fields(fields)}{outcome}"


def _fields(fields: dict[str, Json]) -> str:
    return " ".join(f"{name}={_value(value)}" for name, value in fields.items())


def _value(value: Json) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(each) for each in value)}]"
    if isinstance(value, dict):
        return _reference(value)
    if isinstance(value, str):
        return (
            value if value and all(c.isalnum() or c in "-_." for c in value) else f'"{value}"' if len(value) < 60 else f'"{value[:20]}..."'
        )
    return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)


def _reference(value: dict[str, Json]) -> str:
    if "$" in value:
        return f"${value['$']}" + (f"{value['+']:+}" if "+" in value else "")
    if "bytes" in value and isinstance(value["bytes"], str):
        return f'x"{b64decode(value["bytes"]).hex()}"'
    for name in ("group", "topic", "topic_id"):
        if value.keys() == {name} and isinstance(value[name], int):
            return f"${name}" if value[name] == 1 else f"${name}{value[name]}"
    if "assign" in value:
        return f"[{', '.join(f'for(${one}.member_id)' for one in value['assign'])}]"
    return "{" + ", ".join(f"{name}: {_value(each)}" for name, each in value.items()) + "}"
