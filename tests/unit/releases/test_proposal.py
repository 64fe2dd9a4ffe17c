"""The patch of tools/releases: API keys, error codes, a profile, and a form that `git apply` takes."""

from __future__ import annotations

import subprocess
from pathlib import Path

from groupmock.config.profiles import FeatureLevel
from groupmock_codec.declare import Versions
from tools.releases.proposal import ErrorCode, patch, profile, with_errors, with_key

ERRORS = '''"""Codes, each by its name in Kafka 4.3. More words."""

NONE: Final = 0
LAST: Final = 133

NAMES: Final = {}

RETRIABLE: Final = frozenset(
    {
        LAST,
    }
)
'''
PROFILE = '''"""Apache Kafka 4.3.0."""
PROFILE = Profile(
    name="kafka-4.3",
    versions={
        0: (0, 13),  # Produce
        18: (0, 4),  # ApiVersions
        33: (0, 2),  # AlterConfigs
    },
    features=(
        FeatureLevel("metadata.version", 7, 30, 30),
    ),
)
'''


def test_key_is_put_between_its_neighbours() -> None:
    assert with_key("A: Final = 1\nC: Final = 9\n", "B", 5) == "A: Final = 1\nB: Final = 5\nC: Final = 9\n"
    assert with_key("A: Final = 1\n", "B", 5) == "A: Final = 1\nB: Final = 5\n"


def test_error_codes_go_behind_the_last_one_and_retriable_ones_into_their_set() -> None:
    text = with_errors(ERRORS, "4.4", [ErrorCode(134, "NEW_ONE", retriable=False), ErrorCode(135, "AGAIN", retriable=True)])
    assert "LAST: Final = 133\nNEW_ONE: Final = 134\nAGAIN: Final = 135\n\nNAMES" in text
    assert "        LAST,\n        AGAIN,\n    }" in text
    assert "in Kafka 4.4. More" in text
    assert with_errors(ERRORS, "4.4", []) == ERRORS


def test_profile_has_the_rows_and_levels_of_the_running_broker() -> None:
    ranges = {0: Versions(1, 13), 18: Versions(0, 5)}
    text = profile(PROFILE, "4.3.0", "4.4.0", ranges, [FeatureLevel("metadata.version", 7, 33, 33)])
    assert 'name="kafka-4.4"' in text
    assert "0: (1, 13),  # Produce\n        18: (0, 5),  # ApiVersions\n    }" in text
    assert 'FeatureLevel("metadata.version", 7, 33, 33)' in text


def test_patch_of_new_and_changed_files_is_taken_by_git(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "same.py").write_text("c = 3\n")
    texts = {"old.py": "a = 1\nb = 4\n", "same.py": "c = 3\n", "folder/new.py": "d = 5\n"}
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", "-"], input=patch(texts, tmp_path), cwd=tmp_path, check=True, text=True)
    assert {name: (tmp_path / name).read_text() for name in texts} == texts
