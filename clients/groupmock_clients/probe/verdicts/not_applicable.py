"""Decide what a broker may lack without being wrong, by a checked-in list of reasons (`exchanges/not_applicable.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache

from groupmock_codec.declare import Versions

from ..language.exchange import Send, Variant
from ..language.exchange_suite import FOLDER
from ..language.messages import KEYS
from ..language.syntax import Literal, Ref
from ..stages.release import offered_by
from .runner import LOOKS

FILE = FOLDER / "not_applicable.toml"


@cache
def reasons() -> Mapping[str, Mapping[str, str]]:
    """Return the reasons: `apis` maps an API to why a broker may lack it, `general` has those for versions and releases."""
    found: dict[str, dict[str, str]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return found


def not_offered(variant: Variant, release: str, versions: Callable[[int], Versions | None]) -> tuple[str, bool] | None:
    """Return what the dialogue needs and the broker does not offer, in words, and whether a broker may lack it. None if nothing is
    missing."""
    for step in variant.exchange.steps:
        if isinstance(step, Send) and step.api in KEYS and step.guard.holds(release, "tcp", variant.parameters):
            lack = _lack(step, variant, release, versions)
            if lack is not None:
                return lack
    return None


def _lack(step: Send, variant: Variant, release: str, versions: Callable[[int], Versions | None]) -> tuple[str, bool] | None:
    key, version = KEYS[step.api], _version(step, variant)
    offered = versions(key)
    if offered is None:
        if version is None and step.api in LOOKS:
            return None  # The dialogue can go on without this request, which only observes.
        reason = reasons()["apis"].get(step.api)
        return f"{step.api} is not advertised" + (f" ({reason})" if reason else ""), reason is not None
    if version is None or version in offered:
        return None
    known = offered_by(release).get(key)
    if known is not None and version not in known:
        return f"{step.api} v{version}: {release} has {known.lowest}-{known.highest}", True
    return f"{step.api} v{version} is not advertised ({offered.lowest}-{offered.highest} is: {reasons()['general']['versions']})", True


def _version(step: Send, variant: Variant) -> int | None:
    if isinstance(step.version, Literal) and isinstance(step.version.value, int):
        return step.version.value
    if isinstance(step.version, Ref):
        return variant.parameters.get(step.version.name)
    return None
