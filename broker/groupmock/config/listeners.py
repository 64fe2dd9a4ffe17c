"""The listeners, certificates and users of a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ..security.settings import OAUTHBEARER, PROTOCOLS, WITH_SASL, WITH_TLS, ListenerSettings, SecuritySettings
from ..text.printable import brief
from .listener_settings import settings_of_listeners
from .option_values import Address, ConfigError, ListenerSpec, one_of, path_of

FORM: Final = re.compile(r"(?P<name>[A-Za-z0-9_]+)=(?P<protocol>[A-Z_]+)://(?P<host>\[[0-9a-fA-F:.]+\]|[^:/\[\]]*):(?P<port>\d{1,5})")
MOST_LISTENERS: Final = 16
LAST_PORT: Final = 65_535
FROM_USERS: Final = "users"
ANY: Final = "any"
UNSECURED: Final = "unsecured"
SIGNED: Final = "signed"


class Password(str):
    """A password, whose repr hides it, so that no log shows it by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Password(...)"


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of secured listeners. `certificate`, `key` and `ca` are PEM files; without a certificate, throw-away ones are
    made, in `folder` if that is given. `any_user`: PLAIN accepts any user, and OAUTHBEARER any token. `signed`: without a key set of the
    user, tokens have to be signed by groupmock's own key. `listeners` has the settings of each listener, `prefixed` those that were given
    for one of them."""

    settings: SecuritySettings
    listeners: Mapping[str, ListenerSettings]
    prefixed: Mapping[str, Any]
    users: Mapping[str, Password]
    any_user: bool
    signed: bool
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
    listeners: Iterable[ListenerSpec],
    values: Mapping[str, Any],
    origins: Mapping[str, str],
    settings: Mapping[str, tuple[str, Any]],
    prefixed: Mapping[str, Any],
) -> Security:
    """Return what secured listeners need, out of the options and of their settings (Kafka's name -> field and value), and of those that
    were given for one listener (listener.name.NAME.SETTING -> value). Raises ConfigError."""
    one_of(values["tls"], ("auto",), origins["tls"])
    users = users_of(values["user"], origins["user"])
    path = path_of(values["users"], origins["users"])
    common = SecuritySettings(**dict(settings.values()))
    of_listeners, parsed = settings_of_listeners({each.name: each.protocol for each in listeners}, common, prefixed, origins)
    security = Security(
        settings=common,
        listeners=of_listeners,
        prefixed=parsed,
        users=users if path is None else {**users_in_file(path, origins["users"]), **users},
        any_user=one_of(values["sasl"], (FROM_USERS, ANY), origins["sasl"]) == ANY,
        signed=one_of(values["oauth"], (UNSECURED, SIGNED), origins["oauth"]) == SIGNED,
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
    if (security.certificate is None) != (security.key is None):
        place = origins["tls-cert" if security.certificate else "tls-key"]
        raise ConfigError(f"{place}: a certificate needs its key: give both --tls-cert and --tls-key")
    if protocols.isdisjoint(WITH_SASL) and (security.users or security.any_user or security.signed):
        place = origins["user" if security.users else "sasl" if security.any_user else "oauth"]
        raise ConfigError(f"{place}: no listener asks for users: add one such as --listener SASL=SASL_PLAINTEXT://127.0.0.1:9093")
    for each in listeners:
        settings = security.listeners[each.name].settings
        if each.protocol in WITH_SASL and not security.users and not security.any_user and settings.mechanisms != [OAUTHBEARER]:
            remedy = "add --user NAME:PASSWORD, or --sasl any, which accepts anybody"
            raise ConfigError(f"{origins['listener']}: nobody could authenticate: {remedy}")
        if each.protocol in WITH_TLS and settings.ssl_client_auth != "none" and security.certificate is not None and security.ca is None:
            raise ConfigError(f"{origins['tls-cert']}: clients show certificates (ssl.client.auth): add --tls-ca with who signs them")
