"""Changes the configs of one broker or of all brokers, with the checks and messages of Kafka in Kafka's order (ConfigAdminManager,
DynamicBrokerConfig)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes

from ..java.hashes import java_hash
from ..java.numbers import whole_number
from ..java.orders import SMALL_MAP, java_order, scala_table_order, scala_trie_order
from . import broker_checks, configs
from .broker_configs import CLUSTER_WIDE, ONE_BROKER, BrokerKey, Overrides, base_name, broker_keys, key_of, started
from .change import DELETE, OPERATION_NAMES, SET, Alteration, Change, made
from .config_keys import BITS, INT, LIST, ConfigKey
from .refusal import TopicRefused

if TYPE_CHECKING:
    from ..settings import Quirks
    from ..turn import Turn
    from .topics import Topics

PER_LISTENER: Final = tuple(
    f"ssl.{name}"
    for name in (
        "keystore.type",
        "keystore.location",
        "keystore.password",
        "key.password",
        "truststore.type",
        "truststore.location",
        "truststore.password",
        "keystore.certificate.chain",
        "keystore.key",
        "truststore.certificates",
    )
)
"""The configs that can be changed for a single listener, with the listener's name as prefix (SslConfigs.RECONFIGURABLE_CONFIGS)."""
LISTENERS_FOR_ALL: Final = ("max.connections", "max.connection.creation.rate", "num.network.threads")
"""The configs that can be set for a listener of all brokers at once. Kafka includes `num.network.threads` since 3.0."""
IN_SYNC: Final = "min.insync.replicas"


class ConfigTarget(NamedTuple):
    """The configs of one node or of all nodes ("") before a change, with all data that decides whether the change is allowed."""

    name: str
    keys: Mapping[str, BrokerKey]
    overrides: Overrides
    static: Mapping[str, str]

    @property
    def before(self) -> Mapping[str, str]:
        """Return the configs that were set on this resource at run time."""
        return self.overrides.cluster if self.name == CLUSTER_WIDE else self.overrides.node

    @property
    def plain(self) -> dict[str, ConfigKey]:
        """Return the config keys without the data that only broker configs have."""
        return {name: each.key for name, each in self.keys.items()}

    def effective(self, name: str) -> str:
        """Return the value that a config has if the resource does not set it: the value at broker start, or else Kafka's default
        (ConfigurationControlManager)."""
        return self.static.get(name, self.keys[name].default or "")


def target_of(turn: Turn, topics: Topics, node: int, name: str) -> ConfigTarget:
    """Return the configs of the node or of all nodes, for a name that `check_broker_name` has accepted."""
    static = started(turn.settings, turn.environment.identity, node)
    return ConfigTarget(name if name == CLUSTER_WIDE else str(node), broker_keys(turn.quirks), topics.broker_overrides(node), static)


def alter_broker(turn: Turn, topics: Topics, node: int, wanted: Alteration, validate_only: bool) -> None:
    """Change the configs of one node or of all nodes (""), or with `validate_only` only check the change. Raises TopicRefused."""
    check_broker_name(wanted.name, node, f"expected {node}", "Node")
    target = target_of(turn, topics, node, wanted.name)
    for change in wanted.changes:
        _check_operation(change, target.keys, turn.quirks)
    after = made(target.before, wanted, target.plain, target.effective)
    try:
        check_changed(target, after, turn.quirks)
    except configs.BadConfig as bad:
        raise TopicRefused(error_codes.INVALID_REQUEST, str(bad)) from None
    if turn.quirks.min_insync_replicas_pinned:
        _check_in_sync(target.name, wanted, after)
    if not validate_only:
        topics.configure_broker(turn, target.name, after)


def check_broker_name(name: str, node: int, expected: str, noun: str = "Broker") -> None:
    """Refuse the id of another node, because a broker only answers for itself and for all nodes (""). Raises
    TopicRefused(INVALID_REQUEST)."""
    if name == CLUSTER_WIDE:
        return
    node_id = whole_number(name, BITS[INT])
    if node_id is None:
        raise TopicRefused(error_codes.INVALID_REQUEST, f"{noun} id must be an integer, but it is: {name}")
    if node_id != node:
        raise TopicRefused(error_codes.INVALID_REQUEST, f"Unexpected broker id, {expected}, but received {name}")


def check_changed(target: ConfigTarget, after: Mapping[str, str], quirks: Quirks) -> None:
    """Check whether the configs `after` may replace the current configs. Raises BadConfig."""
    name, keys, overrides = target.name, target.keys, target.overrides
    _check_names(name, after, keys, quirks)
    _check_values(after, keys)
    _check_scope(name, after, keys, quirks)
    changed = overrides._replace(cluster=after) if name == CLUSTER_WIDE else overrides._replace(node=after)
    broker_checks.check_together(keys, target.static, overrides, changed)


def _check_operation(change: Change, keys: Mapping[str, BrokerKey], quirks: Quirks) -> None:
    if change.operation in (SET, DELETE):
        return
    if change.operation not in OPERATION_NAMES:
        raise TopicRefused(error_codes.INVALID_REQUEST, f"Unknown operations type {change.operation}")
    key = key_of(change.name, keys)
    if key is None:
        if quirks.topic_configs_before_4:
            raise TopicRefused(error_codes.UNKNOWN_SERVER_ERROR, "")
        raise TopicRefused(error_codes.INVALID_CONFIG, f"Unknown config name: {change.name}")
    if key.key.kind != LIST:
        verb = OPERATION_NAMES[change.operation].lower()
        raise TopicRefused(error_codes.INVALID_CONFIG, f"Config value {verb} is not allowed for config key: {change.name}")


def _check_names(name: str, after: Mapping[str, str], keys: Mapping[str, BrokerKey], quirks: Quirks) -> None:
    fixed = [each for each in after if each in keys and keys[each].fixed]
    if fixed:
        raise configs.BadConfig(f"Cannot update these configs dynamically: {_shown(fixed, quirks)}")
    bare = [each for each in PER_LISTENER if each in after]
    if bare:
        shown = _shown(bare, quirks, large=True)
        raise configs.BadConfig(f"These security configs can be dynamically updated only per-listener using the listener prefix: {shown}")


def _check_values(after: Mapping[str, str], keys: Mapping[str, BrokerKey]) -> None:
    """Check types and bounds of the values in the order of Kafka's definitions. An error in a listener's config names the config without
    the listener."""
    given = {base if (base := base_name(name)) in keys else name: value for name, value in after.items()}
    for name, key in keys.items():
        if name in given:
            configs.check(key.key, given[name])


def _check_scope(name: str, after: Mapping[str, str], keys: Mapping[str, BrokerKey], quirks: Quirks) -> None:
    if name != CLUSTER_WIDE:
        return
    for_all = (None, *LISTENERS_FOR_ALL)
    own = [each for each in after if (keys[each].change == ONE_BROKER if each in keys else base_name(each) not in for_all)]
    if own:
        raise configs.BadConfig(f"Cannot update these configs at default cluster level, broker id must be specified: {_shown(own, quirks)}")


def _check_in_sync(name: str, wanted: Alteration, after: Mapping[str, str]) -> None:
    """Check min.insync.replicas: with eligible leader replicas, the controller requires one value for the whole cluster (KIP-966)."""
    if name == CLUSTER_WIDE:
        if IN_SYNC not in after:
            raise TopicRefused(error_codes.INVALID_CONFIG, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
    elif any(change.name == IN_SYNC for change in wanted.changes):
        raise TopicRefused(error_codes.INVALID_CONFIG, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")


def _shown(names: Sequence[str], quirks: Quirks, large: bool = False) -> str:
    """Return a set of names as Kafka prints it: since Kafka 4 as a Java set, and before as a Scala set, which from five entries on has
    another name and order.

    Names that were filtered from a `large` set print as Scala's mutable set."""
    ordered = java_order(names, java_hash)
    if not quirks.topic_configs_before_4:
        return f"[{', '.join(ordered)}]"
    if large:
        return f"HashSet({', '.join(scala_table_order(names, java_hash))})"
    if len(names) > SMALL_MAP:
        return f"HashSet({', '.join(scala_trie_order(names, java_hash))})"
    return f"Set({', '.join(ordered)})"
