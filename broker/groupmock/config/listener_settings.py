"""The settings of one listener: `listener.name.NAME.SETTING` wins over SETTING, as in Kafka (KIP-103, KIP-226, KIP-368)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ..security.settings import MECHANISMS, OAUTHBEARER, TLS_VERSIONS, ListenerSettings, SecuritySettings
from ..text.printable import brief
from .declared import BadValue, settings_of
from .option_values import LISTENER_PREFIX, ConfigError

OF_BROKER: Final = ("connection.failed.authentication.delay.ms",)
"""Settings of the whole broker, which Kafka does not read with a listener's prefix."""
REAUTHENTICATION: Final = "connections.max.reauth.ms"
OF_TOKENS: Final = "sasl.oauthbearer."
FILE: Final = "file:"


def settings_of_listeners(
    protocols: Mapping[str, str], common: SecuritySettings, prefixed: Mapping[str, Any], origins: Mapping[str, str]
) -> tuple[dict[str, ListenerSettings], dict[str, Any]]:
    """Return the settings of each listener (name -> protocol), and the parsed values of those that were given with a prefix. Raises
    ConfigError."""
    _check(common, {name: origins.get(name, name) for name in settings_of(SecuritySettings)})
    by_prefix = {name.lower(): name for name in protocols}
    chosen: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in protocols}
    parsed: dict[str, Any] = {}
    for key, value in prefixed.items():
        name, _, rest = key.removeprefix(LISTENER_PREFIX).partition(".")
        if name not in by_prefix:
            raise ConfigError(f"{origins[key]}: no listener is named {brief(name)}: there are {', '.join(by_prefix)} (in lower case)")
        mechanism, setting = _split(rest)
        declared = settings_of(SecuritySettings).get(setting)
        if declared is None or setting in OF_BROKER:
            raise ConfigError(f"{origins[key]}: {brief(setting)} is no setting that one listener can have")
        try:
            parsed[key] = declared.parse(value)
        except BadValue as bad:
            raise ConfigError(f"{origins[key]}: {bad}") from None
        chosen[by_prefix[name]].setdefault(mechanism, {})[declared.field] = parsed[key]
    places = {setting: origins[key] for key in parsed for setting in (_split(key.removeprefix(LISTENER_PREFIX).partition(".")[2])[1],)}
    found = {name: _merged(common, protocol, chosen[name]) for name, protocol in protocols.items()}
    for settings in found.values():
        for each in (settings.settings, *settings.of_mechanism.values()):
            _check(each, {**{name: origins.get(name, name) for name in settings_of(SecuritySettings)}, **places})
    return found, parsed


def _split(rest: str) -> tuple[str, str]:
    """Return the mechanism, or an empty text, and the setting of what follows a listener's name."""
    for mechanism in MECHANISMS:
        setting = rest.removeprefix(f"{mechanism.lower()}.")
        if setting != rest and (setting == REAUTHENTICATION or (mechanism == OAUTHBEARER and setting.startswith(OF_TOKENS))):
            return mechanism, setting
    return "", rest


def _merged(common: SecuritySettings, protocol: str, chosen: Mapping[str, Mapping[str, Any]]) -> ListenerSettings:
    # Kafka asks clients of SASL_SSL for certificates only if the listener itself is set to (ChannelBuilders).
    own = {"ssl_client_auth": "none"} if protocol == "SASL_SSL" else {}
    settings = msgspec.structs.replace(common, **{**own, **chosen.get("", {})})
    return ListenerSettings(
        settings, {mechanism: msgspec.structs.replace(settings, **values) for mechanism, values in chosen.items() if mechanism}
    )


def _check(settings: SecuritySettings, places: Mapping[str, str]) -> None:
    """Check the values that are more than one word. Raises ConfigError."""
    from ..security.principals import BadRules, rules_of

    unknown = [name for name in settings.mechanisms if name not in MECHANISMS]
    if unknown:
        raise ConfigError(f"{places['sasl.enabled.mechanisms']}: {brief(unknown[0])} is not served: there are {', '.join(MECHANISMS)}")
    versions = settings.tls_versions
    if not versions or any(name not in TLS_VERSIONS for name in versions):
        known = ", ".join(TLS_VERSIONS)
        raise ConfigError(f"{places['ssl.enabled.protocols']}: {brief(settings.ssl_enabled_protocols)} names other versions than {known}")
    try:
        rules_of(settings.ssl_principal_mapping_rules)
    except BadRules as bad:
        raise ConfigError(f"{places['ssl.principal.mapping.rules']}: {bad}") from None
    url = settings.sasl_oauthbearer_jwks_endpoint_url
    if url and not url.lower().startswith(FILE):
        remedy = "write file:///PATH; --oauth signed makes a key, and serves its key set and tokens"
        raise ConfigError(f"{places['sasl.oauthbearer.jwks.endpoint.url']}: key sets are read from files only: {remedy}")
