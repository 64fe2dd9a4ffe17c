"""Group configs are settings of single groups, config resource type 32 (KIP-848, KIP-932, KIP-1071), with the messages of Kafka 4.3.0
(CG-150 to CG-157).

They belong to an id, not to a group: any id may have them, whether the group exists or not and whatever its type will be, and they outlive
the group. Settings that a group does not have come from the broker's own `group.*`, set at start or, for assignment intervals, at run
time.

A change is checked as a whole (GroupConfig, GroupConfigManager): first the names; then each value by its type and lowest value, in the
order of `KEYS`; then the broker's bounds, in the order of `_BOUNDED`; then each session timeout against its heartbeat interval, with the
broker's values for settings that are not set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes

from ..java.hashes import java_hash
from ..java.numbers import whole_number
from ..java.orders import java_order
from ..log import configs
from ..log.broker_configs import DEFAULT, Overrides, Synonym, broker_keys, chain, started_with
from ..log.change import Alteration, made
from ..log.config_keys import BOOLEAN, INT, LIST, LONG, LONG_MAX, STRING, ConfigKey, number_of, split_list, written
from ..log.described import Described
from ..log.refusal import TopicRefused
from ..log.value_checks import at_least, fine, one_of, something

if TYPE_CHECKING:
    from ..settings import Settings

GROUP: Final = 32  # Kafka's ConfigResource.Type.GROUP has this number.
DYNAMIC_GROUP: Final = 8  # Kafka's ConfigSource.DYNAMIC_GROUP_CONFIG has this number.
MOST_GROUPS: Final = 10_000
MOST_TEXT: Final = 1024 * 1024
"""The largest number of characters in the names of all groups with configs."""
TOO_MANY: Final = f"This broker keeps configs of at most {MOST_GROUPS} groups whose names have at most {MOST_TEXT} characters."

SESSION: Final = "consumer.session.timeout.ms"
HEARTBEAT: Final = "consumer.heartbeat.interval.ms"
ASSIGNMENT: Final = "consumer.assignment.interval.ms"
_NOTHING_FOLLOWS: Final = "Kept and returned: nothing here follows from it."
_RESET: Final = "share.auto.offset.reset"
_DURATION: Final = re.compile(
    r"\+?P(?=[0-9T+])(?:\+?([0-9]+)D)?(?:T(?=[0-9+])(?:\+?([0-9]+)H)?(?:\+?([0-9]+)M)?(?:\+?([0-9]+)(?:[.,][0-9]{0,9})?S)?)?", re.IGNORECASE
)
"""The durations that `java.time.Duration.parse` accepts and that are not negative."""
_UNITS_S: Final = (86_400, 3600, 60, 1)
_FRACTION: Final = re.compile(r"[.,]([0-9]+)S", re.IGNORECASE)


def _is_duration(text: str) -> bool:
    """True if Java can read the text as a duration that is not negative and whose seconds fit a `long`."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return False
    counts = [whole_number(count or "0", 63) for count in found.groups()]
    return sum(LONG_MAX + 1 if count is None else count * unit for count, unit in zip(counts, _UNITS_S, strict=True)) <= LONG_MAX


def duration_ms(text: str) -> int:
    """Return the milliseconds of a duration in the form of ISO 8601, which was checked."""
    found = _DURATION.fullmatch(text)
    assert found is not None
    fraction = _FRACTION.search(text)
    whole = sum(int(count or "0") * unit for count, unit in zip(found.groups(), _UNITS_S, strict=True)) * 1000
    return whole + (int(fraction[1][:3].ljust(3, "0")) if fraction is not None else 0)


def _reset(value: str) -> str | None:
    kind, _, duration = value.partition(":")
    if value in ("earliest", "latest") or (kind == "by_duration" and _is_duration(duration)):
        return None
    forms = "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    return f"Invalid value `{value}` for configuration {_RESET}. {forms}"


KEYS: Final = {
    key.name: key
    for key in (
        ConfigKey(SESSION, INT, "45000", f"group.{SESSION}", at_least(1), "How long a silent member of a consumer group is kept."),
        ConfigKey(
            HEARTBEAT, INT, "5000", f"group.{HEARTBEAT}", at_least(1), "How often members of a consumer group are told to heartbeat."
        ),
        ConfigKey(ASSIGNMENT, INT, "1000", f"group.{ASSIGNMENT}", at_least(0), "Least time between two targets of a consumer group."),
        *(
            ConfigKey(name, INT, default, f"group.{name}", at_least(lowest), about)
            for name, default, lowest, about in (
                ("share.session.timeout.ms", "45000", 1, "How long a silent member of a share group is kept."),
                ("share.heartbeat.interval.ms", "5000", 1, "How often members of a share group are told to heartbeat."),
                ("share.record.lock.duration.ms", "30000", 1000, "How long a member of a share group has for a record that it got."),
                ("share.delivery.count.limit", "5", 2, "How often a record is delivered to a share group before it is archived."),
                ("share.partition.max.record.locks", "2000", 100, "Most records of a partition that a share group has in flight."),
            )
        ),
        ConfigKey(_RESET, STRING, "latest", None, _reset, "Where a share group begins in a partition of which nothing is stored."),
        ConfigKey(
            "share.isolation.level",
            STRING,
            "read_uncommitted",
            None,
            one_of("read_committed", "read_uncommitted"),
            "Whether a share group gets records of open and of aborted transactions.",
        ),
        ConfigKey("share.renew.acknowledge.enable", BOOLEAN, "true", None, fine, "Whether members of a share group may renew locks."),
        ConfigKey(
            "share.assignment.interval.ms",
            INT,
            "1000",
            "group.share.assignment.interval.ms",
            at_least(0),
            "Least time between two targets of a share group.",
        ),
        *(
            ConfigKey(name, INT, default, f"group.{name}", at_least(lowest), about)
            for name, default, lowest, about in (
                ("streams.session.timeout.ms", "45000", 1, "How long a silent member of a streams group is kept."),
                ("streams.heartbeat.interval.ms", "5000", 1, "How often members of a streams group are told to heartbeat."),
                ("streams.num.standby.replicas", "0", 0, "Standby tasks for each task of a streams group that has state."),
                ("streams.initial.rebalance.delay.ms", "3000", 0, "How long the first target of an empty streams group waits."),
                ("streams.assignment.interval.ms", "1000", 0, "Least time between two targets of a streams group."),
            )
        ),
    )
}
TAGS: Final = "streams.rack.aware.assignment.tags"
ASSIGNOR: Final = "streams.assignor.name"
DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"


def _keys_since_4_4() -> Iterator[ConfigKey]:
    """Yield the group configs of Kafka 4.4 in the order in which their values are checked."""
    for key in KEYS.values():
        yield key
        if key.name.endswith(".assignment.interval.ms"):
            offload = key.name.replace("assignment.interval.ms", "assignor.offload.enable")
            yield ConfigKey(offload, BOOLEAN, "true", f"group.{offload}", fine, _NOTHING_FOLLOWS)
    for name, kind, default, lowest, about in (
        ("streams.task.offset.interval.ms", INT, "60000", 1, "How often members of a streams group are told to report offsets."),
        ("streams.num.warmup.replicas", INT, "2", 0, _NOTHING_FOLLOWS),
        (TAGS, LIST, "", None, "The client tags that members of a streams group have to have."),
        ("streams.acceptable.recovery.lag", LONG, "10000", 0, "The lag that members of a streams group are told."),
    ):
        yield ConfigKey(name, kind, default, f"group.{name}", fine if lowest is None else at_least(lowest), about, something)
    yield ConfigKey(ASSIGNOR, STRING, "sticky", "group.streams.assignors", fine, "The assignor of a streams group, of which there is one.")
    yield ConfigKey(DEAD_LETTERS, STRING, "", None, fine, "The topic to which archived records of a share group are reported.")
    copies = "Whether a dead letter has the key and the value of its record."
    yield ConfigKey("errors.deadletterqueue.copy.record.enable", BOOLEAN, "false", None, fine, copies)


KEYS_SINCE_4_4: Final = {key.name: key for key in _keys_since_4_4()}
"""The configs of a group since Kafka 4.4, by name."""
HIDDEN: Final = frozenset(
    (
        "consumer.assignor.offload.enable", "share.assignor.offload.enable", "streams.assignor.offload.enable",
        "streams.task.offset.interval.ms", "streams.num.warmup.replicas", "streams.acceptable.recovery.lag",
    )
)  # fmt: skip
"""The configs that Kafka calls internal: DescribeConfigs shows them only for a group that has them."""
_BOUNDED: Final = (
    HEARTBEAT,
    SESSION,
    ASSIGNMENT,
    "share.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.session.timeout.ms",
    "streams.num.standby.replicas",
    "streams.assignment.interval.ms",
    "streams.task.offset.interval.ms",
    "streams.num.warmup.replicas",
)
"""The group configs that the broker limits by a `group.TYPE.min.REST`, a `group.TYPE.max.REST`, or both."""


class GroupConfigs:
    """The configs that were set for single groups, and the values in effect. `overrides_of` returns the broker configs that were changed
    at run time on a node. `changed` is called with the id of a group whose configs changed."""

    def __init__(self, settings: Settings, overrides_of: Callable[[int], Overrides], changed: Callable[[str], None]) -> None:
        self._settings, self._overrides_of, self._changed = settings, overrides_of, changed
        self._by_name = settings.quirks.configs_before_4_4
        self._keys = KEYS if self._by_name else KEYS_SINCE_4_4
        self.own: dict[str, dict[str, str]] = {}
        """Maps a group id to the configs that were set for the group, unparsed."""
        self._text = 0
        self._numbers: dict[str, int] = {}

    def number(self, group_id: str, name: str) -> int:
        """Return the value of a group's config that is a number, or the value with which the broker started."""
        own = self.own.get(group_id)
        if own is not None and own.get(name):
            return number_of(own[name])
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = number_of(self._started(f"group.{name}"))
        return found

    def number_now(self, group_id: str, name: str, node: int) -> int:
        """Return the value of a group's config that is a number and whose broker value may change at run time, so that `node` has to be
        the coordinator's."""
        return number_of(self.effective(group_id, name, node))

    def _started(self, name: str) -> str:
        """Return the value that a broker config had when the broker started."""
        return started_with(name, self._settings) or broker_keys(self._settings.quirks)[name].default or ""

    def of(self, group_id: str) -> Mapping[str, str]:
        """Return the configs that were set for the group, unparsed."""
        return self.own.get(group_id, {})

    def listed(self) -> list[str]:
        """Return the ids of groups with configs, in the order of ListConfigResources."""
        return java_order(self.own, java_hash)

    def described(self, group_id: str, node: int) -> list[Described]:
        """Return every config of the group as DescribeConfigs shows it. Raises TopicRefused."""
        if not group_id:
            raise TopicRefused(error_codes.INVALID_REQUEST, "Group name must not be empty")
        found, changed = self.own.get(group_id, {}), self._overrides_of(node)
        shown = [name for name in self._keys if name not in HIDDEN or name in found]
        return [self._described(self._keys[name], found, changed) for name in java_order(shown, java_hash)]

    def _described(self, key: ConfigKey, found: Mapping[str, str], changed: Overrides) -> Described:
        synonyms = [Synonym(key.name, written(key, found[key.name]), DYNAMIC_GROUP)] if key.name in found else []
        synonyms += self._broker_values(key, changed)
        nearest = synonyms[0]
        value = written(key, nearest.value or "")
        return Described(key.name, value, nearest.source, key.kind, key.about, read_only=False, synonyms=synonyms)

    def _broker_values(self, key: ConfigKey, changed: Overrides) -> list[Synonym]:
        if key.synonym is None:
            return [Synonym(key.name, key.default, DEFAULT)]
        keys = broker_keys(self._settings.quirks)
        given = started_with(key.synonym, self._settings)
        static = {} if given is None or key.synonym not in keys or given == keys[key.synonym].default else {key.synonym: given}
        return chain(key.synonym, keys, changed, static)

    def effective(self, group_id: str, name: str, node: int) -> str:
        """Return the value of a group's config, or else the broker's value on that node."""
        return self._effective(name, self.own.get(group_id, {}), node)

    def _effective(self, name: str, found: Mapping[str, str], node: int) -> str:
        own = found.get(name)
        return own if own is not None else self._broker_values(self._keys[name], self._overrides_of(node))[0].value or ""

    def alter(self, node: int, wanted: Alteration, validate_only: bool) -> None:
        """Change the configs of one group, or with `validate_only` only check the change. Raises TopicRefused."""
        before = self.own.get(wanted.name, {})
        # APPEND and SUBTRACT find no list here, because Kafka's controller does not know the types of group configs.
        after = made(before, wanted, {}, lambda name: self._keys[name].default)
        if not wanted.name:
            raise TopicRefused(error_codes.INVALID_REQUEST, "Default group resources are not allowed.")
        try:
            self._check(after, node)
        except configs.BadConfig as bad:
            raise TopicRefused(error_codes.INVALID_CONFIG, str(bad)) from None
        if after and not before and (len(self.own) >= MOST_GROUPS or self._text + len(wanted.name) > MOST_TEXT):
            raise TopicRefused(error_codes.POLICY_VIOLATION, TOO_MANY)
        if not validate_only:
            self._keep(wanted.name, after)

    def _keep(self, group_id: str, after: dict[str, str]) -> None:
        if self.own.pop(group_id, None) is not None:
            self._text -= len(group_id)
        if after:
            self.own[group_id] = after
            self._text += len(group_id)
        self._changed(group_id)

    def _check(self, after: Mapping[str, str], node: int) -> None:
        """Check the configs of one group together. Raises BadConfig for the first problem."""
        for name in after:
            if name not in self._keys:
                raise configs.UnknownConfig(f"Unknown group config name: {name}")
        tags = [tag for tag in split_list(after.get(TAGS, "")) if tag]
        if len(set(tags)) < len(tags):
            raise configs.BadConfig(f"{TAGS} must not contain duplicate tag keys.")
        for name, key in self._keys.items():
            if name in after:
                configs.check(key, after[name])
        for name in _BOUNDED:
            if name in after:
                self._check_bounds(name, number_of(after[name]))
        known = self._started("group.streams.assignors") if ASSIGNOR in after else ""
        if ASSIGNOR in after and after[ASSIGNOR] not in (names := split_list(known)):
            text = f"{ASSIGNOR} '{after[ASSIGNOR]}' is not a registered task assignor. Registered assignors are: [{', '.join(names)}]."
            raise configs.BadConfig(text)
        for kind in ("consumer", "share", "streams"):
            session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
            silent, beat = (number_of(self._effective(name, after, node)) for name in (session, heartbeat))
            if after.keys() & {session, heartbeat} and silent <= beat:
                raise configs.BadConfig(f"{session} must be greater than {heartbeat}")
        if after.get(DEAD_LETTERS, "").startswith("__"):
            raise configs.BadConfig(f"{DEAD_LETTERS}: DLQ topic name must not start with '__'")

    def _check_bounds(self, name: str, value: int) -> None:
        """Check that a value is within the bounds that Kafka requires. If the broker's own value is beyond them, it is the bound
        instead: Kafka would not start such a broker (docs/kafka/differences.md)."""
        kind, _, rest = name.partition(".")
        keys = broker_keys(self._settings.quirks)
        lowest, highest = f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest.removeprefix('num.')}"
        own = number_of(self._started(f"group.{name}"))
        least = min(own, number_of(self._started(lowest))) if lowest in keys else None
        most = max(own, number_of(self._started(highest))) if highest in keys else None
        below, above = least is not None and value < least, most is not None and value > most
        if (below or above) and least is not None and most is not None and not self._by_name:
            raise configs.BadConfig(f"{name} must be in the range {least} to {most} inclusive.")
        if below:
            raise configs.BadConfig(f"{name} must be greater than or equal to {lowest if self._by_name else least}")
        if above:
            raise configs.BadConfig(f"{name} must be less than or equal to {highest if self._by_name else most}")
