"""Show every setting, its value and where the value came from.

Takes the same options as `serve`; nothing is started.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from typing import Any, Final

from ..config.declared import all_settings
from ..config.options import OPTIONS
from ..config.resolve import Config, Like, settings_by_name
from ..text.printable import one_line
from . import BAD_USE, OK
from ._options import ConfigError, add_options, complain, resolve_arguments

HIDDEN: Final = "(not shown)"
NOTHING_COPIED: Final = Like("", 0, False, None, None, None)
OF_LIKE: Final = {
    "like": "address", "like-records": "records", "like-tls": "tls", "like-tls-ca": "ca", "like-tls-cert": "certificate",
    "like-tls-key": "key", "like-sasl-user": "user", "like-sasl-mechanism": "mechanism", "like-sasl-password-file": "password_file",
}  # fmt: skip
"""Maps options that start with `like` to the fields of `Config.like` that they set."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--about", action="store_true", help="say what each one does")


def run(arguments: argparse.Namespace) -> int:
    try:
        config = resolve_arguments(arguments)
    except ConfigError as bad:
        complain("config", bad)
        return BAD_USE
    found = list(rows(config))
    if arguments.json:
        print(json.dumps(found, indent=1))
        return OK
    width = max(len(row["name"]) for row in found)
    values = max(len(str(row["value"])) for row in found)
    for row in found:
        about = f"  {row['about']}" if arguments.about else ""
        print(one_line(f"{row['name']:{width}}  {row['value']!s:{values}}  {row['from']}{about}"))
    return OK


def rows(config: Config) -> Iterator[dict[str, Any]]:
    """Yield {name, value, from, about} of groupmock's options, then of Kafka's settings by name."""
    for option in OPTIONS:
        yield {"name": option.name, "value": _option(config, option.name), "from": config.origins[option.name], "about": option.about}
    values = settings_by_name(config)
    for name, setting in sorted(all_settings().items()):
        origin = config.origins.get(name, "default")
        yield {"name": name, "value": values.get(name, setting.default), "from": origin, "about": setting.declared.about}
    for name, value in (config.security.prefixed if config.security is not None else {}).items():
        yield {"name": name, "value": value, "from": config.origins[name], "about": "the same for one listener"}
    loop = os.environ.get("GROUPMOCK_LOOP")
    yield {
        "name": "GROUPMOCK_LOOP",
        "value": loop or "uvloop",
        "from": "environment" if loop else "default",
        "about": "event loop: uvloop where there is one, or asyncio",
    }


OF_SECURITY: Final = {"tls-dir": "folder", "tls-cert": "certificate", "tls-key": "key", "tls-ca": "ca"}
"""Maps options about certificates to the fields of `Config.security` that they set."""


def _of_security(config: Config, name: str) -> Any:
    security = config.security
    if name == "listener":
        return ",".join(f"{each.name}={each.protocol}://{each.host}:{each.port}" for each in config.listeners) or None
    if security is None:
        return None
    if name == "user":
        return ",".join(security.users) or None
    if name == "sasl":
        return "any" if security.any_user else "users"
    if name == "oauth":
        return "signed" if security.signed else "unsecured"
    return "auto" if name == "tls" else None if name == "users" else getattr(security, OF_SECURITY[name])


def _option(config: Config, name: str) -> Any:
    if name == "token" and config.token is not None:
        return HIDDEN
    if name in (*OF_SECURITY, "listener", "tls", "user", "users", "sasl", "oauth"):
        return _of_security(config, name)
    if name == "topic":
        return ",".join(f"{topic.name}:{topic.partitions}" if topic.partitions else topic.name for topic in config.topics) or None
    if name == "profile":
        return config.profile.name
    if name == "advertise" and config.advertise is not None:
        return config.advertise.host + (f":{config.advertise.port}" if config.advertise.port else "")
    if name in OF_LIKE:
        value = getattr(config.like or NOTHING_COPIED, OF_LIKE[name])
        return None if value == "" else value
    return getattr(config, name.replace("-", "_"))
