"""The flags that `serve`, `run` and `config` share, made from `config.OPTIONS`."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..config.options import OPTIONS
from ..config.resolve import Config, ConfigError, resolve
from ..text.printable import one_line

if TYPE_CHECKING:
    import argparse


def add_options(parser: argparse.ArgumentParser, without: tuple[str, ...] = ()) -> None:
    """Add groupmock's own options, --set and --config to a parser, except those in `without`."""
    for option in OPTIONS:
        if option.name in without:
            continue
        if not option.metavar:
            parser.add_argument(f"--{option.name}", action="store_true", default=None, help=option.about)
            continue
        default = f" (default {option.default})" if option.default not in (None, ()) else ""
        action = "append" if option.many else "store"
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


def plain_arguments(words: list[str]) -> SimpleNamespace | None:
    """Return what argparse would make of the words if each is one of these flags in full or the value after it, or None for other words,
    which argparse has to look at."""
    flags = {f"--{option.name}": option for option in OPTIONS}
    values: dict[str, str | bool | None] = dict.fromkeys((option.name.replace("-", "_") for option in OPTIONS), None) | {"config": None}
    lists: dict[str, list[str]] = {"sets": []}
    rest = iter(words)
    for word in rest:
        option, name = flags.get(word), word.removeprefix("--").replace("-", "_")
        if option is not None and not option.metavar:
            values[name] = True
            continue
        value = next(rest, "-")
        if value.startswith("-") or (option is None and word not in ("--set", "--config")):
            return None
        if word == "--set":
            lists["sets"].append(value)
        elif option is not None and option.many:
            lists.setdefault(name, []).append(value)
        else:
            values[name] = value
    return SimpleNamespace(**{**values, **lists})


def resolve_arguments(arguments: argparse.Namespace | SimpleNamespace, **defaults: object) -> Config:
    """Merge profile, file, environment and flags to a configuration. Raises ConfigError."""
    flags = {option.name: getattr(arguments, option.name.replace("-", "_"), None) for option in OPTIONS}
    flags |= {name: value for name, value in defaults.items() if flags.get(name) is None}
    flags |= {option.name: tuple(flags[option.name] or ()) for option in OPTIONS if option.many}
    config = resolve(flags, arguments.sets, arguments.config, os.environ)
    if config.ignored:
        from ..config.ignored import in_words

        print(f"groupmock: {in_words(config.ignored)}", file=sys.stderr)
    return config


def bad_use(config: Config) -> tuple[type[Exception], ...]:
    """Return the exceptions at a start that mean bad use: a wrong plan, waiver, seed data or event loop in this configuration."""
    from ..net.loops import UnknownLoop

    exceptions: tuple[type[Exception], ...] = (UnknownLoop,)
    if config.plan is not None:
        from ..faults.plan import BadPlan

        exceptions = (*exceptions, BadPlan)
    if config.like is not None:
        exceptions = (*exceptions, ConfigError)
    if config.seed_data is not None or config.like is not None:
        from ..data.seed import BadSeedData

        exceptions = (*exceptions, BadSeedData)
    if config.audit_waivers is not None:
        from ..audit.waivers import BadWaivers

        exceptions = (*exceptions, BadWaivers)
    return exceptions


def tell_not_copied(verb: str, sentences: list[str]) -> None:
    """Print what `--like` did not copy, one line of stderr for each sentence."""
    for sentence in sentences:
        complain(verb, RuntimeError(f"not copied: {sentence}"))


def complain(verb: str, trouble: Exception) -> None:
    """Print an error as one line of stderr."""
    print(one_line(f"groupmock {verb}: {trouble}"), file=sys.stderr)


__all__ = ["ConfigError", "add_options", "bad_use", "complain", "resolve_arguments", "tell_not_copied"]
