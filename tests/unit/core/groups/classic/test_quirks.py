"""The comment at each quirk flag names the releases that have the quirk, and the profiles must agree."""

from __future__ import annotations

import inspect
import re

import msgspec
from cases import for_each

from groupmock.config import profiles
from groupmock.core import settings
from groupmock.core.settings import Quirks

LINE = re.compile(r"^ {4}(\w+): bool = False  # ((?:\d\.\d ?)+): ", re.MULTILINE)
DOCUMENTED = {name: set(releases.split()) for name, releases in LINE.findall(inspect.getsource(settings))}


def test_every_flag_names_its_releases() -> None:
    assert set(DOCUMENTED) == {field.name for field in msgspec.structs.fields(Quirks)}


@for_each("release", ["4.3", "3.9"])
def test_profiles_have_the_flags_their_comments_promise(release: str) -> None:
    assert profiles.load(f"kafka-{release}").quirks == {name for name, releases in DOCUMENTED.items() if release in releases}


def test_groupmocks_own_profile_has_none() -> None:
    assert not profiles.load("groupmock").quirks
