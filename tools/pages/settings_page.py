"""Write the page of settings: every option and setting, and the changes of each profile."""

from __future__ import annotations

from collections.abc import Iterator

from groupmock.config import profiles
from groupmock.config.declared import all_settings
from groupmock.config.ignored import ignored_settings
from groupmock.config.options import OPTIONS
from groupmock.core.settings import Quirks

from .markdown import cell, notice, table

BOUNDS = """The default profile bounds what a long run keeps: 64 MiB per partition (`log.retention.bytes`) and 1 GiB of requests that wait
(`queued.max.request.bytes`); DescribeConfigs shows both as changed settings. The profiles of Kafka's releases have
Kafka's values, which are no bound: records stay until the process ends, their topic is deleted or DeleteRecords drops them. groupmock
drops nothing by age (Kafka would after seven days). To write much with such a profile, bound it: `--set log.retention.bytes=...`, or while
it runs IncrementalAlterConfigs of a topic or a broker, or a `retention.bytes` per topic.

Every other config of Kafka's brokers is described and can be altered as that release does (350 on 4.4):
[differences](../kafka/differences.md) says what follows from a change."""


IGNORED = """The brokers of the releases that groupmock has profiles for have these settings, too. groupmock accepts each of them, so that
the settings of a real broker can be given as they are, and says in one line at the start that it does not use them. In the process,
`Broker` warns. groupmock behaves as with the defaults of these settings, also where they change on Kafka what groupmock serves, for
instance `max.decompressed.message.bytes`. A name that is neither here nor above is an error."""


def text() -> str:
    lines = [
        notice("settings"),
        "# Settings",
        "",
        "Profile < TOML file < environment < flags. `groupmock config` shows each value and where it came from.",
        "",
    ]
    lines += ["## groupmock's own options", "", *table(["option", "default", "what it does"], _options()), ""]
    lines += ["## Kafka's settings", ""]
    lines += [
        "`--set KEY=VALUE`, the TOML table `[set]`, or `GROUPMOCK_SET_<KEY>` with dots as underscores. Times are ms, sizes bytes.",
        "",
    ]
    lines += table(["setting", "default", "takes", "what it does"], _settings())
    lines += ["", BOUNDS]
    lines += ["", "## Kafka's settings that are ignored", "", IGNORED, "", ", ".join(f"`{name}`" for name in ignored_settings()) + "."]
    for name in profiles.names():
        lines += ["", *_profile(name)]
    return "\n".join(lines) + "\n"


def _options() -> Iterator[list[str]]:
    for option in OPTIONS:
        default = "" if option.default in (None, ()) else f"`{option.default}`"
        yield [f"`--{option.name} {cell(option.metavar)}`", default, cell(option.about)]


def _settings() -> Iterator[list[str]]:
    for name, setting in sorted(all_settings().items()):
        default = str(setting.default).lower() if setting.kind is bool else setting.default
        yield [f"`{name}`", f"`{default}`", setting.takes, cell(setting.declared.about)]


def _profile(name: str) -> list[str]:
    profile = profiles.load(name)
    lines = [f"## Profile `{name}`", "", profile.about]
    lines += [f"\nSettings: {', '.join(f'`{key}={value}`' for key, value in profile.settings.items())}."] if profile.settings else []
    ordered = [quirk for quirk in Quirks.__struct_fields__ if quirk in profile.quirks]
    lines += (
        [f"\nQuirks (`groupmock.core.settings.Quirks` says what each is): {', '.join(f'`{quirk}`' for quirk in ordered)}."]
        if ordered
        else []
    )
    return lines
