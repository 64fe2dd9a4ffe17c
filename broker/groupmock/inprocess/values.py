"""Convert the values that a test gives to those that the core takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Final

from groupmock_codec.units import MS_PER_S

from ..faults.plan import BadPlan, Plan, make_plan, parse_plan, read_plan

__tracebackhide__: Final = True
ConfigValues = Mapping[str, str | int | float | bool]
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
PlanLike = str | PathLike[str] | Mapping[str, Any] | Plan
"""A plan as a file, the name of a ready plan, TOML text (which has line ends), or plain data."""


def milliseconds(seconds: float | None) -> int | None:
    """Convert seconds to milliseconds; None stays None."""
    return None if seconds is None else round(seconds * MS_PER_S)


def content_bytes(content: bytes | str | None) -> bytes | None:
    """Return a record's key, value or header as bytes. Text is written as UTF-8."""
    if not isinstance(content, bytes | bytearray | str | None):
        raise TypeError(f"keys, values and headers are bytes, text or None, not {type(content).__name__}")
    return content.encode() if isinstance(content, str) else content


def config_texts(configs: ConfigValues | None) -> dict[str, str]:
    """Return config values as texts, which is Kafka's form. Raises ValueError for an argument that is not a mapping."""
    from ..data.seed import as_texts

    if configs is not None and not isinstance(configs, Mapping):
        raise ValueError(f'configs are a mapping: {{"retention.ms": 5}}, not {configs!r}')
    return as_texts(configs or {})


def config_changes(set: ConfigValues | None, unset: Iterable[str]) -> dict[str, Any]:
    """Return the arguments of the command that sets and unsets configs."""
    return {"set": config_texts(set), "unset": list(unset)}


def offset_rows(offsets: Mapping[str, Mapping[int, int]]) -> list[dict[str, Any]]:
    """Return the offsets of `commit_offsets`, one row for each partition. Raises ValueError for an argument of another form."""
    given: object = offsets  # The argument is checked at run time for callers without a type checker.
    if not (isinstance(given, Mapping) and all(isinstance(by_partition, Mapping) for by_partition in given.values())):
        raise ValueError(f'offsets: {{"orders": {{0: 17}}}}, not {offsets!r}')
    return [
        {"topic": topic, "partition": index, "offset": offset}
        for topic, by_partition in offsets.items()
        for index, offset in by_partition.items()
    ]


def as_plan(plan: PlanLike) -> Plan:
    """Return a plan from any of the forms of `PlanLike`. Raises BadPlan."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, str):
        return parse_plan(plan) if "\n" in plan else read_plan(plan)
    if isinstance(plan, PathLike):
        return read_plan(fspath(plan))
    if not isinstance(plan, Mapping):
        raise BadPlan(f"a plan is a file, the name of a ready plan, TOML text, or the same as data, not {plan!r}")
    return make_plan(dict(plan))


def given_of(**values: Any) -> dict[str, Any]:
    """Return the arguments that are given, without None, False and empty ones."""
    return {name: value for name, value in values.items() if value}
