"""The flags that `serve`, `run` and `config` share, made from `config.OPTIONS`."""

from __future__ import annotations

import argparse
import os
import sys

from ..config.options import OPTIONS
from ..config.resolve import Config, ConfigError, resolve
from ..text.printable import one_line


def add_options(parser: argparse.ArgumentParser, without: tuple[str, ...] = ()) -> None:
    """Add groupmock's own options, --set and --config."""
    for option in OPTIONS:
        if option.name in without:
            continue
        if not option.metavar:
            parser.add_argument(f"--{option.name}", action="store_true", default=None, help=option.about)
            continue
        default = f" (default {option.default})" if option.default not in (None, ()) else ""
        action = "append" if option.name == "topic" else "store"
        parser.add_argument(f"--{option.name}", metavar=option.metavar, action=action, help=option.about + default)
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="sets",
        help="one of Kafka's settings (`groupmock config` lists them)",
    )
    parser.add_argument("--config", metavar="FILE", help="TOML file: options at the top, Kafka's settings in the table [set]")


def resolve_arguments(arguments: argparse.Namespace, **defaults: object) -> Config:
    """Merge profile, file, environment and flags. Raises ConfigError."""
    flags = {option.name: getattr(arguments, option.name.replace("-", "_"), None) for option in OPTIONS}
    flags |= {name: value for name, value in defaults.items() if flags.get(name) is None}
    if flags["topic"]:
        flags["topic"] = tuple(flags["topic"])
    return resolve(flags, arguments.sets, arguments.config, os.environ)


def bad_use(config: Config) -> tuple[type[Exception], ...]:
    """What a start may raise that is bad use: a plan or waivers that cannot be, where there are any, and an event loop that is none."""
    from ..net.loops import UnknownLoop

    found: tuple[type[Exception], ...] = (UnknownLoop,)
    if config.plan is not None:
        from ..faults.plan import BadPlan

        found = (*found, BadPlan)
    if config.like is not None:
        found = (*found, ConfigError)
    if config.seed_data is not None or config.like is not None:
        from ..data.seed import BadSeedData

        found = (*found, BadSeedData)
    if config.audit_waivers is not None:
        from ..audit.waivers import BadWaivers

        found = (*found, BadWaivers)
    return found


def tell_not_copied(verb: str, sentences: list[str]) -> None:
    """What `--like` left out, a line each on stderr."""
    for sentence in sentences:
        complain(verb, RuntimeError(f"not copied: {sentence}"))


def complain(verb: str, trouble: Exception) -> None:
    """One clear line on stderr."""
    print(one_line(f"groupmock {verb}: {trouble}"), file=sys.stderr)


__all__ = ["ConfigError", "add_options", "bad_use", "complain", "resolve_arguments", "tell_not_copied"]
