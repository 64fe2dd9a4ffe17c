"""The listeners, certificates and users of a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ..security.settings import MECHANISMS, PROTOCOLS, WITH_SASL, SecuritySettings
from ..text.printable import brief
from .option_values import Address, ConfigError, ListenerSpec, one_of, path_of

FORM: Final = re.compile(r"(?P<name>[A-Za-z0-9_]+)=(?P<protocol>[A-Z_]+)://(?P<host>\[[0-9a-fA-F:.]+\]|[^:/\[\]]*):(?P<port>\d{1,5})")
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
MOST_LISTENERS: Final = 16
LAST_PORT: Final = 65_535
FROM_USERS: Final = "users"
ANY: Final = "any"


class Password(str):
    """A password, whose repr hides it, so that no log shows it by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Password(...)"


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of secured listeners. `certificate`, `key` and `ca` are PEM files; without a certificate, throw-away ones are
    made, in `folder` if that is given. `any_user`: PLAIN accepts any user, and OAUTHBEARER any token."""

    settings: SecuritySettings
    users: Mapping[str, Password]
    any_user: bool
    certificate: str | None
    key: str | None
    ca: str | None
    folder: str | None


def listeners_of(values: object, origins: Mapping[str, str], nodes: int, advertise: Address | None) -> tuple[ListenerSpec, ...]:
    """Return the listeners of texts such as OUTSIDE=SASL_SSL://127.0.0.1:9094, or of a mapping of names to PROTOCOL://HOST:PORT. Raises
    ConfigError."""
    for name in ("host", "port"):
        if origins[name] != "default":
            raise ConfigError(f"{origins[name]}: each listener has its own host and port: leave --{name} out, or the listeners")
    found = _parsed(values, origins["listener"], nodes)
    if advertise is not None and advertise.port is not None and len(found) > 1:
        raise ConfigError(f"{origins['advertise']}: {len(found)} listeners cannot have the same advertised port: give the host alone")
    return found


def security_of(
    listeners: Iterable[ListenerSpec], values: Mapping[str, Any], origins: Mapping[str, str], settings: Mapping[str, tuple[str, Any]]
) -> Security:
    """Return what secured listeners need, out of the options and of their settings (Kafka's name -> field and value). Raises
    ConfigError."""
    one_of(values["tls"], ("auto",), origins["tls"])
    users = users_of(values["user"], origins["user"])
    path = path_of(values["users"], origins["users"])
    security = Security(
        settings=SecuritySettings(**dict(settings.values())),
        users=users if path is None else {**users_in_file(path, origins["users"]), **users},
        any_user=one_of(values["sasl"], (FROM_USERS, ANY), origins["sasl"]) == ANY,
        certificate=path_of(values["tls-cert"], origins["tls-cert"]),
        key=path_of(values["tls-key"], origins["tls-key"]),
        ca=path_of(values["tls-ca"], origins["tls-ca"]),
        folder=path_of(values["tls-dir"], origins["tls-dir"]),
    )
    _check(listeners, security, origins)
    return security


def _parsed(values: object, origin: str, nodes: int) -> tuple[ListenerSpec, ...]:
    if isinstance(values, Mapping):
        values = [f"{name}={address}" for name, address in values.items()]
    texts = [values] if isinstance(values, str) else list(values) if isinstance(values, Iterable) else [values]
    if len(texts) > MOST_LISTENERS:
        raise ConfigError(f"{origin}: {len(texts)} listeners, and no node has more than {MOST_LISTENERS}")
    found = tuple(_listener(text, origin, nodes) for text in texts)
    names = [each.name for each in found]
    if len(set(names)) != len(names):
        raise ConfigError(f"{origin}: two listeners have the same name: {', '.join(names)}")
    return found


def _listener(text: object, origin: str, nodes: int) -> ListenerSpec:
    parts = FORM.fullmatch(text) if isinstance(text, str) else None
    if parts is None:
        raise ConfigError(f"{origin}: {brief(text)} is no listener: write NAME=PROTOCOL://HOST:PORT, such as OUTSIDE=SASL_SSL://127.0.0.1:9094")
    if parts["protocol"] not in PROTOCOLS:
        raise ConfigError(f"{origin}: {parts['protocol']} is no security protocol: there are {', '.join(PROTOCOLS)}")
    port = int(parts["port"])
    # The last node listens on port + nodes - 1.
    if port > LAST_PORT - nodes + 1:
        raise ConfigError(f"{origin}: {port} is no port of the first of {nodes} node(s)")
    return ListenerSpec(parts["name"], parts["protocol"], parts["host"].strip("[]"), port)


def users_of(values: object, origin: str) -> dict[str, Password]:
    """Return the users of texts NAME:PASSWORD, or of a mapping of names to passwords. Raises ConfigError, which shows no password."""
    if isinstance(values, Mapping):
        pairs = [(str(name), ":", password) for name, password in values.items()]
    else:
        texts = [values] if isinstance(values, str) else list(values) if isinstance(values, Iterable) else [values]
        pairs = [str(text).partition(":") for text in texts]
    users: dict[str, Password] = {}
    for name, mark, password in pairs:
        if not (name and mark and isinstance(password, str) and password):
            raise ConfigError(f"{origin}: a user is NAME:PASSWORD, and neither may be empty")
        if name in users:
            raise ConfigError(f"{origin}: user {name} is given twice")
        users[name] = Password(password)
    return users


def users_in_file(path: str, origin: str) -> dict[str, Password]:
    """Read users from a file with one NAME:PASSWORD in each line. Empty lines and lines that begin with # are left out."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as trouble:
        reason = trouble.strerror if isinstance(trouble, OSError) else "it is no text in UTF-8"
        raise ConfigError(f"{origin}: cannot read the users {path}: {reason}") from None
    return users_of([line for line in lines if line.strip() and not line.startswith("#")], origin)


def _check(listeners: Iterable[ListenerSpec], security: Security, origins: Mapping[str, str]) -> None:
    """Check what the listeners need. Raises ConfigError."""
    protocols = {each.protocol for each in listeners}
    mechanisms = _mechanisms(security.settings, origins)
    _tls_versions(security.settings, origins)
    _mapping_rules(security.settings, origins)
    if (security.certificate is None) != (security.key is None):
        place = origins["tls-cert" if security.certificate else "tls-key"]
        raise ConfigError(f"{place}: a certificate needs its key: give both --tls-cert and --tls-key")
    if protocols.isdisjoint(WITH_SASL) and (security.users or security.any_user):
        place = origins["user" if security.users else "sasl"]
        raise ConfigError(f"{place}: no listener asks for users: add one such as --listener SASL=SASL_PLAINTEXT://127.0.0.1:9093")
    if not protocols.isdisjoint(WITH_SASL) and not security.users and not security.any_user and mechanisms != ["OAUTHBEARER"]:
        remedy = "add --user NAME:PASSWORD, or --sasl any, which accepts anybody"
        raise ConfigError(f"{origins['listener']}: nobody could authenticate: {remedy}")
    if security.settings.ssl_client_auth != "none" and security.certificate is not None and security.ca is None:
        raise ConfigError(f"{origins['tls-cert']}: clients show certificates (ssl.client.auth): add --tls-ca with who signs them")


def _mechanisms(settings: SecuritySettings, origins: Mapping[str, str]) -> list[str]:
    key = "sasl.enabled.mechanisms"
    names = [name.strip() for name in settings.sasl_enabled_mechanisms.split(",") if name.strip()]
    unknown = [name for name in names if name not in MECHANISMS]
    if unknown:
        raise ConfigError(f"{origins.get(key, key)}: {brief(unknown[0])} is not served: there are {', '.join(MECHANISMS)}")
    return names


def _tls_versions(settings: SecuritySettings, origins: Mapping[str, str]) -> None:
    key = "ssl.enabled.protocols"
    names = [name.strip() for name in settings.ssl_enabled_protocols.split(",") if name.strip()]
    if not names or any(name not in TLS_VERSIONS for name in names):
        known = ", ".join(TLS_VERSIONS)
        raise ConfigError(f"{origins.get(key, key)}: {brief(settings.ssl_enabled_protocols)} names other versions than {known}")


def _mapping_rules(settings: SecuritySettings, origins: Mapping[str, str]) -> None:
    from ..security.principals import BadRules, rules_of

    key = "ssl.principal.mapping.rules"
    try:
        rules_of(settings.ssl_principal_mapping_rules)
    except BadRules as bad:
        raise ConfigError(f"{origins.get(key, key)}: {bad}") from None
