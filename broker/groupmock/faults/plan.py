"""Fault rules are data: `when` selects calls, `stage` names the moment, and `do` says what happens. A rule also has a name, a lifetime and
a count. A plan is a seed and a list of rules.

A plan is TOML (`[[rule]]` tables) or the same in JSON ({"seed": 7, "rule": [...]}), and each mistake has one clear error. This module
imports neither `faults.kinds`, which knows the contents of `do`, nor the codec, which knows the fields of each version.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from ..text import bounded as bounded_text
from ..text.suggest import hint

STAGES: Final = ("connect", "request", "reply")
"""The stages of a call: after a client connected (connect), before the request is applied (request), and before the answer of an applied
request is sent (reply)."""
PLANS: Final = Path(__file__).parent / "plans"
ROLES: Final = ("leader", "follower")
STALE: Final = "stale"
"""This value of `topic_id` stands for an id that no topic has."""
_S = TypeVar("_S", bound=msgspec.Struct)
MAX_RULES: Final = 256
"""At most this many rules are registered at a time, because every request is compared with each of them."""
Name = Annotated[str, Meta(max_length=200)]
Pattern = Annotated[str, Meta(max_length=300)]
"""A text in a condition has at most 300 characters; longer ids are rare, and `*` can replace the rest of an id."""
Texts = Pattern | Annotated[list[Pattern], Meta(max_length=100)] | None
Version = int | Annotated[str, Meta(max_length=20)]
Versions = Version | Annotated[list[Version], Meta(max_length=100)] | None
Numbers = int | Annotated[list[int], Meta(max_length=100)] | None


class BadPlan(ValueError):
    """Raised if a fault rule or a fault plan is wrong. The text names the place and the remedy, and nothing was registered."""


class When(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The conditions by which a fault rule selects calls; a condition that is left out holds for every call. A text may be a list of
    alternatives, and `*` in it matches any text."""

    api: Texts = None
    version: Versions = None
    group: Texts = None
    member_id: Texts = None
    instance_id: Texts = None
    client_id: Texts = None
    generation: Numbers = None
    member_epoch: Numbers = None
    state: Texts = None
    role: str | None = None
    progress: Texts = None
    topic: Texts = None
    topic_id: Texts = None
    partition: Numbers = None
    resource: Texts = None
    transactional_id: Texts = None
    producer_epoch: Numbers = None
    transaction_state: Texts = None
    committed: bool | None = None
    acknowledgement: Texts = None
    record: Numbers = None
    delivery: Numbers = None
    listener: Texts = None
    principal: Texts = None
    authenticated: bool | None = None
    node: Numbers = None
    nth: int | None = None
    every: int | None = None
    after: Name | None = None
    probability: float | None = None
    window: tuple[float, float] | None = None


ABOUT: Final[dict[str, str]] = {
    "api": "Kafka's name of the API, as `SyncGroup`",
    "version": 'version of the request: 5, "2-4", "3-", "-2", or a list of such',
    "group": "a group that the request names",
    "member_id": "member id that the request names, or that its answer gives",
    "instance_id": "group instance id of the static member that calls",
    "client_id": "client id of the request's header",
    "generation": "generation that the request names",
    "member_epoch": "epoch of a member of a consumer group that the request names: 0 joins, -1 leaves, -2 leaves for a while",
    "state": "state of the group at that moment, as `PreparingRebalance`",
    "role": "leader or follower: what the member is in its group at that moment",
    "progress": "how far a member of a consumer group is with its target at that moment: `stable`, `unrevoked partitions` (it was told to "
    "give some up), `unreleased partitions` (it waits for others)",
    "topic": "a topic that the request names, or at stage reply its answer",
    "topic_id": "id of such a topic, as Kafka writes it or as a UUID; `stale`: one that no topic has (any more)",
    "partition": "number of a partition that it names, of that topic where one is said",
    "resource": "a resource of a config that it names, a log dir, user or feature: `orders`, `topic:orders`, `broker:1`, `user:anna`",
    "transactional_id": "a transactional id that it names; of a transactional Produce the one beside its batches",
    "producer_epoch": "producer epoch that a request to the transaction's or the group's coordinator names",
    "transaction_state": "state of that transactional id at that moment, as `Ongoing`",
    "committed": "EndTxn: true where it commits, false where it aborts",
    "acknowledgement": "ShareAcknowledge, ShareFetch: a type of acknowledgement that it has: accept, release, reject, renew or gap",
    "record": "ShareAcknowledge, ShareFetch: offset of a record that it acknowledges, or at stage reply its answer delivers",
    "delivery": "ShareFetch at stage reply: how often a record of its answer was delivered, from 1",
    "listener": "name of the listener it came in on",
    "principal": "who its connection belongs to, as `User:alice`; before an authentication, and without one, `User:ANONYMOUS`",
    "authenticated": "true if its client has authenticated itself by SASL: a SaslHandshake then begins a re-authentication (KIP-368)",
    "node": "id of the node whose listener it came in on",
    "nth": "only the n-th call for which all of the above holds, from 1",
    "every": "every n-th such call",
    "after": "only after the rule of that name fired",
    "probability": "chance of each such call, above 0 and up to 1, by the run's seed",
    "window": "[from, until] in seconds of the run's time",
}
"""The meaning of each condition, in the order in which they are checked."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One rule of a fault plan. `do` is {"kind": ..., ...}; without `stage` it fires at the usual stage of its kind; `times` is how
    often it fires (None: until it is removed)."""

    name: Name = ""
    when: When = When()
    stage: str | None = None
    do: dict[str, Any]
    times: int | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A fault plan with its rules. `about` says what the plan does and what a correct client must do; `seed` is the seed for its chances
    (default: the run's)."""

    about: str = ""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    rule: list[Rule] = []


def read_plan(path: str) -> Plan:
    """Read a fault plan from a file (JSON if its name ends in .json, otherwise TOML), or the ready plan of that name. Raises BadPlan,
    which names the file."""
    ready = PLANS / f"{path}.toml"
    if os.sep not in path and ready.is_file():
        path = str(ready)
    try:
        with open(path, "rb") as file:
            data = file.read(bounded_text.MAX_BYTES + 1)
    except OSError as trouble:
        known = "" if os.sep in path or "." in path else f" (ready plans: {', '.join(ready_plans())})"
        raise BadPlan(f"cannot read the plan {path}: {trouble.strerror}{known}") from None
    return parse_plan(data, path, json=path.endswith(".json"))


def ready_plans() -> list[str]:
    """Return the names of the fault plans that come with groupmock."""
    return sorted(file.stem for file in PLANS.glob("*.toml"))


def parse_plan(data: str | bytes, origin: str = "the plan", json: bool = False) -> Plan:
    """Parse a fault plan from TOML or JSON text. Raises BadPlan."""
    try:
        table = bounded_text.json(data) if json else bounded_text.toml(data)
    except bounded_text.BadText as bad:
        raise BadPlan(f"{origin} is {bad}") from None
    return make_plan(table, origin)


def make_plan(table: object, origin: str = "the plan") -> Plan:
    """Make a fault plan from plain data. Raises BadPlan."""
    if not isinstance(table, dict):
        raise BadPlan(f"{origin}: a plan is a table with the list `rule`, not {_shown(table)}")
    _known(table, Plan, origin)
    entries = table.get("rule", [])
    if not isinstance(entries, list):
        raise BadPlan(f"{origin}: `rule` is a list of rules: write [[rule]]")
    rules = [make_rule(entry, f"{origin}, rule {place}") for place, entry in enumerate(entries, 1)]
    # The fault plan is converted without its rules, which are made one by one, so that an error in a rule names its place.
    plan = _convert({**table, "rule": []}, Plan, origin)
    _distinct(rules, origin)
    return msgspec.structs.replace(plan, rule=rules)


def make_rule(table: object, origin: str = "the rule") -> Rule:
    """Make a fault rule from plain data and do the checks that do not depend on an API. Raises BadPlan."""
    if isinstance(table, Rule):
        _check(table, origin)
        return table
    if not isinstance(table, Mapping):
        raise BadPlan(f"{origin}: a rule is a table, not {_shown(table)}")
    if isinstance(name := table.get("name"), str) and name:
        origin = f'{origin} "{name}"'
    _known(table, Rule, origin)
    if "do" not in table:
        raise BadPlan(f'{origin}: there is no `do`: say what is to happen, as do = {{ kind = "drop" }}')
    if isinstance(table.get("when"), Mapping):
        _known(table["when"], When, f"{origin}, when")
    rule = _convert(dict(table), Rule, origin)
    _check(rule, origin)
    return rule


def rule_as_data(rule: Rule) -> dict[str, Any]:
    """Return the rule as plain data, in the form of a file or a journal row."""
    data: dict[str, Any] = msgspec.to_builtins(rule)
    return data


def texts(wanted: Texts) -> list[str]:
    """Return one or several texts as a list."""
    return [] if wanted is None else [wanted] if isinstance(wanted, str) else wanted


def topic_id_of(text: str) -> bytes | None:
    """Return the 16 bytes of a topic id, or None for `stale`. The text is URL-safe base64 without padding, as Kafka's Uuid.toString
    writes it, or the 32 digits of a UUID. Raises ValueError."""
    if text == STALE:
        return None
    digits = text.replace("-", "")
    try:
        topic_id = bytes.fromhex(digits) if len(digits) == 32 else urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        topic_id = b""
    if len(topic_id) != 16:
        raise ValueError(f"{text!r} is no topic id: write it as Kafka does (22 characters of base64), as a UUID, or {STALE}")
    return topic_id


def id_text(topic_id: bytes) -> str:
    """Return a topic id as Kafka writes it."""
    return urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def version_ranges(wanted: Versions) -> list[tuple[int, int]]:
    """Return the inclusive ranges of a `version` condition; [] means any version. Raises ValueError for a text that is no version."""
    if wanted is None:
        return []
    return [_range(each) for each in (wanted if isinstance(wanted, list) else [wanted])]


def _range(each: int | str) -> tuple[int, int]:
    if isinstance(each, int):
        return each, each
    low, dash, high = each.strip().partition("-")
    try:
        first = int(low) if low else 0
        # A range like "3-" has no end, so the largest int16 is used, which is the type of api_version on the wire.
        last = int(high) if high else 32767 if dash else first
    except ValueError:
        first, last = 1, 0
    if first > last or not (low or high):
        raise ValueError(f'{each!r} is no version: write 5, "2-4", "3-" or "-2"')
    return first, last


def _check(rule: Rule, origin: str) -> None:
    """Do those checks of a fault rule that do not depend on an API."""
    when = rule.when
    if rule.stage not in (None, *STAGES):
        raise BadPlan(f"{origin}: stage is one of {', '.join(STAGES)}, not {rule.stage!r}{hint(str(rule.stage), STAGES)}")
    if rule.times is not None and rule.times < 1:
        raise BadPlan(f"{origin}: times is 1 or more, not {rule.times}; left out: until it is removed")
    if when.role not in (None, *ROLES):
        raise BadPlan(f"{origin}, when: role is leader or follower, not {when.role!r}")
    for name in ("nth", "every"):
        number = getattr(when, name)
        if number is not None and number < 1:
            raise BadPlan(f"{origin}, when: {name} is 1 or more, not {number}")
    if when.nth is not None and when.every is not None:
        raise BadPlan(f"{origin}, when: nth and every exclude each other: nth is one call, every is many")
    if when.nth is not None and (rule.times or 1) > 1:
        raise BadPlan(f"{origin}: call number {when.nth} comes once, so it cannot fire {rule.times} times: use every, or leave times out")
    if when.probability is not None and not 0 < when.probability <= 1:
        raise BadPlan(f"{origin}, when: probability is above 0 and at most 1, not {when.probability:g}")
    if when.window is not None and not (0 <= when.window[0] < when.window[1] and isfinite(when.window[1])):
        raise BadPlan(f"{origin}, when: window is [from, until] in seconds with from before until, not {list(when.window)}")
    try:
        for text in texts(when.topic_id):
            topic_id_of(text)
    except ValueError as bad:
        raise BadPlan(f"{origin}, when: topic_id: {bad}") from None
    try:
        version_ranges(when.version)
    except ValueError as bad:
        raise BadPlan(f"{origin}, when: version: {bad}") from None


def _distinct(rules: list[Rule], origin: str) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.name and rule.name in seen:
            raise BadPlan(f'{origin}: two rules are called "{rule.name}": names are told apart')
        seen.add(rule.name)


def _known(table: Mapping[str, Any], kind: type[msgspec.Struct], origin: str) -> None:
    known = kind.__struct_fields__
    for key in table:
        if key not in known:
            raise BadPlan(f"{origin}: no key {str(key)!r}{hint(str(key), known)}: there are {', '.join(known)}")


def _convert(table: dict[str, Any], kind: type[_S], origin: str) -> _S:
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as wrong:
        what, _, where = str(wrong).partition(" - at `$")
        place = where.strip("`.")
        raise BadPlan(f"{origin}: {place + ': ' if place else ''}{what[:1].lower() + what[1:]}") from None


def _shown(value: object) -> str:
    return repr(value) if len(repr(value)) < 60 else f"{repr(value)[:57]}..."
