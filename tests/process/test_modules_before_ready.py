"""A server imports before its ready line only what the first members of a classic group need."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

PATIENCE: Final = 60
MOST: Final = 150
"""The number of groupmock's modules that a start may import. Each costs about 0.2 ms, beside 54 ms of `import uvloop`."""
CORE: Final = "groupmock.core."
LATE: Final = {
    "consumer groups": (f"{CORE}groups.consumer.", f"{CORE}groups.modern"),
    "share groups": (f"{CORE}groups.share.", f"{CORE}share."),
    "transactions": (f"{CORE}transactions.coordinator", f"{CORE}transactions.states", f"{CORE}transactions.markers"),
    "regular expressions of consumers": (f"{CORE}re2j",),
    "Java's maps": (f"{CORE}java.hash_maps", f"{CORE}java.tree_bins"),
    "rights": (f"{CORE}authorizer.authorizer", f"{CORE}authorizer.acl_requests", f"{CORE}gate", f"{CORE}scram"),
    "quotas and configs": (f"{CORE}quotas", f"{CORE}groups.configs", f"{CORE}log.configs", f"{CORE}log.tables."),
    "commands": (f"{CORE}steering",),
    "records": ("groupmock_codec.records", "groupmock_codec.message_sets", "groupmock_codec.compression", f"{CORE}log.partition"),
    "secured listeners": ("groupmock.security", "groupmock.net.secured", "groupmock.net.tls"),
    "faults, control, audit": ("groupmock.faults.", "groupmock.control", "groupmock.audit", "groupmock.net.fault"),
    "stories and pictures": ("groupmock.story", "groupmock.rounds", "groupmock.timeline", "groupmock.journal.ring"),
    "libraries": ("argparse", "gettext", "shutil", "json", "hashlib", "structlog", "aiohttp", "construct"),
}  # fmt: skip
"""The parts that nobody needs before the ready line, with the beginnings of their modules' names."""
SCRIPT: Final = """
import os, sys
real = os.write
def write(fd, data):
    if fd == 1:
        real(1, " ".join(sorted(sys.modules)).encode())
        os._exit(0)
    return real(fd, data)
os.write = write
from groupmock.cli import main
from groupmock.net import codecs
codecs.ApiCodec.kept = property(lambda codec: True)  # As if an earlier process had kept the code of all codecs.
sys.exit(main(["serve", "--port", "0"]))
"""


@pytest.fixture(scope="module")
def imported() -> list[str]:
    """Return the modules that `groupmock serve` has when it writes its ready line."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("part", LATE)
def test_a_part_that_nobody_has_asked_for_is_not_imported(part: str, imported: list[str]) -> None:
    assert [name for name in imported if name.startswith(LATE[part])] == []


def test_a_start_imports_few_modules(imported: list[str]) -> None:
    ours = [name for name in imported if name.split(".")[0] in ("groupmock", "groupmock_codec")]
    assert len(ours) <= MOST, ours
    assert f"{CORE}apis.k11_join_group" in ours  # The first JoinGroup finds everything there.
