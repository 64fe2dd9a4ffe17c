"""Resolve the configuration of a run from profile, TOML file, environment and flags, of which a later one wins
(docs/reference/architecture.md#settings).

Kafka's settings keep Kafka's names and are declared once, in `core.settings` and `config.limits`; groupmock's own options are declared
once, in `options`. `Config.origins` records where each value came from (`groupmock config` shows it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from groupmock_codec.extras import LIBRARY, opens_all

from ..core.settings import Quirks, Settings
from . import profiles
from .contradictions import OPENS, contradiction
from .limits import Limits
from .option_values import LISTENER_PREFIX, ListenerSpec, one_of, path_of, racks_of, run_name, whole_number, yes
from .option_values import Address as Address
from .option_values import ConfigError as ConfigError
from .options import OPTIONS
from .profiles import Profile

if TYPE_CHECKING:
    from .listeners import Security

ENVIRONMENT: Final = "GROUPMOCK_"
ENVIRONMENT_SET: Final = "GROUPMOCK_SET_"
LOGS: Final = ("text", "json", "rows", "json-rows", "off")
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
# Clients connect to the host of Metadata and FindCoordinator responses, so the host must be reachable.
UNROUTABLE: Final = ("0.0.0.0", "::", "")
TOPIC_NAME: Final = r"[a-zA-Z0-9._-]{1,249}"  # This pattern of valid names is that of org.apache.kafka.common.internals.Topic.
MAX_NODES: Final = 64
MAX_NODE_ID: Final = 1_000_000
"""The largest id that may be given to the first node."""
MAX_COPIED: Final = 100_000
MAX_PARTITIONS: Final = 10_000
LEAST_JOURNAL: Final = 64 * 1024
"""The smallest size limit of a journal in bytes, which fits the header of any cluster, because the header names each node."""


class TopicSpec(msgspec.Struct, frozen=True):
    """A topic that is created when the cluster starts."""

    name: str
    partitions: int


class Like(msgspec.Struct, frozen=True):
    """A real cluster that is to be copied. `records` is the number of records of each partition; paths are PEM files for TLS."""

    address: str
    records: int
    tls: bool
    ca: str | None
    certificate: str | None
    key: str | None
    user: str | None = None
    mechanism: str | None = None
    password_file: str | None = None


class Token(str):
    """The secret text with which callers may use the control API. Its repr hides it, so that no log shows it by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Token(...)"


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration of one run."""

    profile: Profile
    settings: Settings
    limits: Limits
    host: str
    port: int
    advertise: Address | None
    nodes: int
    first_node_id: int
    racks: tuple[str, ...]
    topics: tuple[TopicSpec, ...]
    journal: str | None
    journal_max_bytes: int | None
    plan: str | None
    audit: bool
    audit_waivers: str | None
    control: Address | None
    token: Token | None
    log: str
    seed: int | None
    seed_data: str | None
    like: Like | None
    run: str | None
    origins: Mapping[str, str]
    ignored: tuple[str, ...] = ()
    listeners: tuple[ListenerSpec, ...] = ()
    """The listeners of each node, or none for one that is PLAINTEXT, at `host` and `port`."""
    security: Security | None = None
    """The certificates, users and settings of secured listeners, or None without listeners of their own."""


class _Layers:
    """Values by name, each with the place where it was given. A later layer replaces the values of earlier ones."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.ignored: list[str] = []

    def put(self, name: str, value: Any, origin: str) -> None:
        self.values[name] = value
        self.origins[name] = origin


def resolve(
    flags: Mapping[str, Any] | None = None,
    sets: Iterable[str | tuple[str, Any]] = (),
    file: str | None = None,
    environment: Mapping[str, str] | None = None,
    defaults: Mapping[str, Any] | None = None,
    place: Callable[[str], str] = "flag --{}".format,
) -> Config:
    """Merge the values of profile, file, environment and flags, and check each of them. Raises ConfigError. `flags`: option -> value
    (None: not given); `sets`: "KEY=VALUE" texts or pairs; `defaults` replace the default values of options; `place` gives an option's
    name in error messages."""
    table = _read_file(file) if file else {}
    options = _options(flags or {}, environment or {}, table, file, defaults or {}, place)
    profile = _profile(options)
    layers = _Layers()
    for key, value in profile.settings.items():
        layers.put(key, value, f"profile {profile.name}")
    if opens_all():
        layers.put(OPENS, True, f"{LIBRARY} is installed")
    _file_settings(table, file, layers)
    _environment_settings(environment or {}, layers)
    _flag_settings(sets, layers, place)
    settings, limits, of_security, of_listeners = _build(layers)
    values = options.values
    if not values["listener"]:
        layers.ignored.extend((*of_security, *of_listeners))
    nodes = whole_number(values["nodes"], options.origins["nodes"], 1, MAX_NODES)
    config = Config(
        profile=profile,
        settings=msgspec.structs.replace(settings, quirks=Quirks(**dict.fromkeys(profile.quirks, True))) if profile.quirks else settings,
        limits=limits,
        host=str(values["host"]),
        # The last node listens on port + nodes - 1, which must not exceed 65535.
        port=whole_number(values["port"], options.origins["port"], 0, 65536 - nodes),
        advertise=address_of(values["advertise"], options.origins["advertise"], nodes),
        nodes=nodes,
        first_node_id=whole_number(values["first-node-id"], options.origins["first-node-id"], 0, MAX_NODE_ID),
        racks=racks_of(values["racks"], options.origins["racks"], nodes),
        topics=topics_of(values["topic"], options.origins["topic"]),
        journal=path_of(values["journal"], options.origins["journal"]),
        journal_max_bytes=_journal_limit(values["journal-max-bytes"], options.origins["journal-max-bytes"]),
        plan=path_of(values["plan"], options.origins["plan"]),
        audit=yes(values["audit"], options.origins["audit"]),
        audit_waivers=path_of(values["audit-waivers"], options.origins["audit-waivers"]),
        control=_control(values["control"], options.origins["control"], values["token"]),
        token=token_of(values["token"], options.origins["token"]),
        log=one_of(values["log"], LOGS, options.origins["log"]),
        seed=_seed(values["seed"], options.origins["seed"]),
        seed_data=path_of(values["seed-data"], options.origins["seed-data"]),
        like=_like(values, options.origins),
        run=run_name(values["run"], options.origins["run"]),
        origins={**options.origins, **layers.origins},
        ignored=tuple(layers.ignored),
    )
    config = _with_listeners(config, values, of_security, of_listeners)
    _check(config)
    return config


def _with_listeners(config: Config, values: Mapping[str, Any], given: Mapping[str, tuple[str, Any]], prefixed: Mapping[str, Any]) -> Config:
    """Return the configuration with its listeners, if some are named, and with what they need."""
    if not values["listener"]:
        _without_listeners(config)
        return config
    from .listeners import listeners_of, security_of

    listeners = listeners_of(values["listener"], config.origins, config.nodes, config.advertise)
    return msgspec.structs.replace(config, listeners=listeners, security=security_of(listeners, values, config.origins, given, prefixed))


def _check(config: Config) -> None:
    """Refuse options that contradict each other."""
    if config.audit_waivers is not None and not config.audit:
        raise ConfigError(f"{config.origins['audit-waivers']}: nobody is audited: add --audit (audit = true, GROUPMOCK_AUDIT=true)")
    hosts = [each.host for each in config.listeners] or [config.host]
    if any(host in UNROUTABLE for host in hosts) and config.advertise is None:
        host = next(host for host in hosts if host in UNROUTABLE)
        raise ConfigError(
            f"listening on {host or 'every address'} gives clients no address to connect to: "
            "add --advertise HOST[:PORT] with the name or address they can reach"
        )


def _options(
    flags: Mapping[str, Any],
    variables: Mapping[str, str],
    table: Mapping[str, Any],
    file: str | None,
    defaults: Mapping[str, Any],
    place: Callable[[str], str],
) -> _Layers:
    options = _Layers()
    names = {option.name for option in OPTIONS}
    many = {option.name for option in OPTIONS if option.many}
    for option in OPTIONS:
        options.put(option.name, defaults.get(option.name, option.default), "default")
    for name, value in table.items():
        if name == "set":
            continue
        if name not in names:
            raise ConfigError(f"{file}: no option {name!r}: there are {', '.join(sorted(names))} and the table [set]")
        options.put(name, value, f"file {file}")
    for name in names:
        variable = ENVIRONMENT + name.upper().replace("-", "_")
        if variable in variables:
            text = variables[variable]
            options.put(name, tuple(text.split(",")) if name in many else text, f"environment {variable}")
    for name, value in flags.items():
        if value not in (None, ()):
            options.put(name, value, place(name))
    return options


def _without_listeners(config: Config) -> None:
    """Refuse options that only listeners of their own have a use for."""
    for name in (option.name for option in OPTIONS if option.secured):
        if config.origins[name] != "default":
            raise ConfigError(
                f"{config.origins[name]}: there is no secured listener: add one such as --listener SECURED=SASL_SSL://127.0.0.1:9093"
            )


def _profile(options: _Layers) -> Profile:
    try:
        return profiles.load(str(options.values["profile"]))
    except KeyError as unknown:
        raise ConfigError(f"{options.origins['profile']}: {unknown.args[0]}") from None


def _read_file(path: str) -> dict[str, Any]:
    from ..text import bounded as bounded_text

    try:
        with open(path, "rb") as source:
            return bounded_text.toml(source.read(bounded_text.MAX_BYTES + 1))
    except OSError as trouble:
        raise ConfigError(f"cannot read the configuration file {path}: {trouble.strerror}") from None
    except bounded_text.BadText as bad:
        raise ConfigError(f"{path} is {bad}") from None


def _file_settings(table: Mapping[str, Any], file: str | None, layers: _Layers) -> None:
    entries = table.get("set", {})
    if not isinstance(entries, dict):
        raise ConfigError(f'{file}: [set] must be a table of settings: a line [set], below it "group.initial.rebalance.delay.ms" = 0')
    for key, value in _flatten(entries):
        layers.put(key, value, f"file {file}")


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield keys with dots, whether they were quoted or not, because TOML reads an unquoted a.b.c as nested tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _environment_settings(variables: Mapping[str, str], layers: _Layers) -> None:
    given = sorted(name for name in variables if name.startswith(ENVIRONMENT_SET))
    if not given:
        return
    # Variables are matched to the list of all settings, because an underscore may stand for a dot or for itself.
    from .declared import all_settings
    from .ignored import ignored_settings

    by_variable = {ENVIRONMENT_SET + key.replace(".", "_").upper(): key for key in (*ignored_settings(), *all_settings())}
    for variable in given:
        if variable not in by_variable:
            raise ConfigError(
                f"environment {variable}: {_no_such_setting(variable.removeprefix(ENVIRONMENT_SET).replace('_', '.').lower())}"
            )
        layers.put(by_variable[variable], variables[variable], f"environment {variable}")


def _flag_settings(sets: Iterable[str | tuple[str, Any]], layers: _Layers, place: Callable[[str], str]) -> None:
    for entry in sets:
        key, mark, value = entry.partition("=") if isinstance(entry, str) else (entry[0], "=", entry[1])
        if not mark:
            raise ConfigError(f"--set takes KEY=VALUE, not {entry!r}: for instance --set group.initial.rebalance.delay.ms=0")
        layers.put(str(key).strip(), value, f"{place('set')} {str(key).strip()}")


def settings_by_name(config: Config) -> dict[str, Any]:
    """Return the value of every setting by Kafka's name."""
    from .declared import settings_of

    sources: list[tuple[Any, Mapping[str, Any]]] = [(config.settings, settings_of(Settings)), (config.limits, settings_of(Limits))]
    if config.security is not None:
        sources.append((config.security.settings, settings_of(type(config.security.settings))))
    return {name: getattr(values, setting.field) for values, declared in sources for name, setting in declared.items()}


def _no_such_setting(key: str) -> str:
    from ..text.suggest import did_you_mean
    from .declared import all_settings

    return f"no setting {key!r}: {did_you_mean(key, all_settings(), 3, 0.5) or '`groupmock config` lists them'}"


def _build(layers: _Layers) -> tuple[Settings, Limits, dict[str, tuple[str, Any]], dict[str, Any]]:
    """Return the settings of core and network, of all secured listeners (Kafka's name: field, value), and of one each (name: value)."""
    if layers.values in ({}, {OPENS: True}):  # A server that is told nothing else starts without reading all declarations.
        return Settings(compression_open=bool(layers.values)), Limits(), {}, {}
    from .declared import BadValue, settings_of
    from .ignored import is_ignored

    core, net = settings_of(Settings), settings_of(Limits)
    chosen: dict[str, dict[str, Any]] = {"core": {}, "net": {}}
    of_security: dict[str, tuple[str, Any]] = {}
    of_listeners: dict[str, Any] = {}
    for key, value in layers.values.items():
        setting = core.get(key) or net.get(key) or _of_security(key)
        if setting is None:
            if is_ignored(key):
                layers.ignored.append(key)
            elif key.startswith(LISTENER_PREFIX):
                of_listeners[key] = value
            else:
                raise ConfigError(f"{layers.origins[key]}: {_no_such_setting(key)}")
            continue
        try:
            parsed = setting.parse(value)
        except BadValue as bad:
            raise ConfigError(f"{layers.origins[key]}: {bad}") from None
        if key in core or key in net:
            chosen["core" if key in core else "net"][setting.field] = parsed
        else:
            of_security[key] = (setting.field, parsed)
    settings = Settings(**chosen["core"])
    wrong = contradiction(settings, layers.origins)
    if wrong is not None:
        raise ConfigError(wrong)
    return settings, Limits(**chosen["net"]), of_security, of_listeners


def _of_security(key: str) -> Any:
    """Return a setting of secured listeners, or None. Their declarations are loaded only for a name that nothing else has."""
    from ..security.settings import SecuritySettings
    from .declared import settings_of

    return settings_of(SecuritySettings).get(key)


def _seed(value: object, origin: str) -> int | None:
    return None if value is None else whole_number(value, origin, 0, 2**63 - 1)


def _journal_limit(value: object, origin: str) -> int | None:
    return None if value is None else whole_number(value, origin, LEAST_JOURNAL, 2**63 - 1)


def _like(values: Mapping[str, Any], origins: Mapping[str, str]) -> Like | None:
    if values["like"] is None:
        return None
    if values["seed-data"] is not None:
        remedy = "`groupmock like HOST:PORT > FILE` writes down what it copies: add the other lines there, and give it to --seed-data"
        raise ConfigError(f"{origins['like']}: seed data comes from a file or from a cluster: {remedy}")

    def text(name: str) -> str | None:
        return path_of(values[f"like-{name}"], origins[f"like-{name}"])

    records = whole_number(values["like-records"], origins["like-records"], 0, MAX_COPIED)
    texts = map(text, ("tls-ca", "tls-cert", "tls-key", "sasl-user", "sasl-mechanism", "sasl-password-file"))
    return Like(str(values["like"]), records, yes(values["like-tls"], origins["like-tls"]), *texts)


def address_of(value: object, origin: str, nodes: int = 1) -> Address | None:
    """Parse an address that clients are told to connect to. Raises ConfigError."""
    if value is None:
        return None
    host, mark, port = str(value).rpartition(":")
    if not mark or (host.count(":") and not host.startswith("[")):  # The value is a bare host, or an IPv6 address without a port.
        host, port = str(value), ""
    host = host.strip("[]")
    if not host or host in UNROUTABLE:
        raise ConfigError(f"{origin}: {value!r} is no address that a client can connect to")
    return Address(host, whole_number(port, origin, 1, 65536 - nodes) if port else None)


def _control(value: object, origin: str, token: object) -> Address | None:
    """Parse PORT (on loopback) or HOST:PORT for the control API. A token is needed unless the host is loopback."""
    if value is None:
        return None
    host, mark, port = str(value).rpartition(":")
    if mark and (not host or (":" in host and not host.startswith("["))):
        raise ConfigError(f"{origin}: {value!r} is neither PORT nor HOST:PORT ([HOST]:PORT for an IPv6 address)")
    address = Address(host.strip("[]") or LOOPBACK[0], whole_number(port, origin, 0, 65535))
    if address.host not in LOOPBACK and token is None:
        raise ConfigError(f"{origin}: whoever reaches {address.host} could steer the cluster: add --token TOKEN, or listen on loopback")
    return address


def token_of(value: object, origin: str) -> Token | None:
    """Check a token, where None means no token. Raises ConfigError, which does not show the value."""
    if value is None:
        return None
    if not (isinstance(value, str) and value and value.isascii() and value.isprintable() and " " not in value):
        raise ConfigError(f"{origin}: a token is a word of ASCII characters without blanks")
    return Token(value)


def parse_topic(text: str, origin: str) -> TopicSpec:
    """Parse NAME[:PARTITIONS] and check the name as Kafka checks topic names."""
    name, mark, count = text.partition(":")
    if not re.fullmatch(TOPIC_NAME, name) or name in (".", ".."):
        raise ConfigError(f"{origin}: {name!r} is no topic name: 1 to 249 of a-z A-Z 0-9 . _ -, and not . or ..")
    if mark and not count:
        raise ConfigError(f"{origin}: {text!r} ends in a colon: NAME or NAME:PARTITIONS")
    return TopicSpec(name, whole_number(count, f"{origin} {text}", 1, MAX_PARTITIONS) if mark else 0)


def topics_of(values: object, origin: str) -> tuple[TopicSpec, ...]:
    """Parse one topic as text, several of them, or a mapping of names to partitions. Raises ConfigError."""
    if isinstance(values, Mapping):
        values = [f"{name}:{partitions}" for name, partitions in values.items()]
    texts = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    found = []
    for text in texts:
        if not isinstance(text, str):
            raise ConfigError(f"{origin}: {text!r} is no topic: write 'orders', 'orders:12', a list of these, or {{'orders': 12}}")
        found.append(parse_topic(text, origin))
    seen: set[str] = set()
    for topic in found:
        if topic.name in seen:
            raise ConfigError(f"{origin}: topic {topic.name} is given twice")
        seen.add(topic.name)
    return tuple(found)
