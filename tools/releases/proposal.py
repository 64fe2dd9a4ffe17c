"""Make the patch for a new release, in the form that `git apply` takes: message files, API keys, error codes and a profile."""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from groupmock.config.profiles import FeatureLevel
from groupmock_codec.declare import Versions
from tools.runs import ROOT

from .message_changes import change
from .message_source import ByHand, changed_file, constant, new_file, stem
from .schemas import Schema

CODEC: Final = "codec/groupmock_codec"
PROFILES: Final = "broker/groupmock/config/profiles"
API_KEYS: Final = f"{CODEC}/api_keys.py"
ERROR_CODES: Final = f"{CODEC}/error_codes.py"
_NUMBER: Final = re.compile(r"^([A-Z][A-Z_]*): Final = (-?\d+)$", re.MULTILINE)
_ROW: Final = re.compile(r"^( +)(\d+): \((\d+), (\d+)\),(.*)\n", re.MULTILINE)
_FEATURES: Final = re.compile(r"FeatureLevel\(\"([\w.]+)\", .*\)")


class ErrorCode(NamedTuple):
    """An error code in Kafka's table."""

    code: int
    name: str
    retriable: bool


class Proposal(NamedTuple):
    """The new texts of files by path, and the changes that our declarations cannot express."""

    texts: Mapping[str, str]
    by_hand: tuple[str, ...]


def messages(
    ours: Mapping[str, Schema], beside: Mapping[str, Schema], release: Mapping[str, Schema], keys: str, tree: Path = ROOT
) -> Proposal:
    """Return the message files that the release changes, and new ones for messages that its clients need and the codec lacks. `keys` is
    the text of api_keys.py."""
    texts: dict[str, str] = {}
    by_hand = []
    for api in sorted({schema.api for schema in release.values()}, key=lambda api: release[f"{api}Request"].key):
        request, response = release[f"{api}Request"], release[f"{api}Response"]
        path = f"{CODEC}/messages/{stem(request.key, api)}.py"
        try:
            if request.own in ours:
                found = tuple(each for half in (request, response) if (each := change(ours[half.own], half)) is not None)
                if found:
                    texts[path] = formatted(path, changed_file((tree / path).read_text(encoding="utf-8"), ours, release, found))
            elif "broker" in request.listeners and any(change(beside.get(half.own), half) for half in (request, response)):
                texts[path] = formatted(path, new_file(request, response))
                keys = with_key(keys, constant(api), request.key)
        except ByHand as why:
            by_hand.append(f"{api}: {why}")
    return Proposal({**texts, API_KEYS: keys}, tuple(by_hand))


def formatted(path: str, text: str) -> str:
    """Return the text of a file as `make format` would leave the file. Raises CalledProcessError with what the formatter does not
    understand."""
    for words in (("check", "--fix-only", "--quiet", "--select", "I"), ("format", "--quiet")):
        command = [sys.executable, "-m", "ruff", *words, "--stdin-filename", path, "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


def with_key(text: str, name: str, key: int) -> str:
    """Return the text of api_keys.py with one more key, in the order of the keys."""
    for found in _NUMBER.finditer(text):
        if int(found[2]) > key:
            return f"{text[: found.start()]}{name}: Final = {key}\n{text[found.start() :]}"
    return f"{text.rstrip()}\n{name}: Final = {key}\n"


def with_errors(text: str, release: str, codes: Sequence[ErrorCode]) -> str:
    """Return the text of error_codes.py with more codes, which are above the existing ones."""
    if not codes:
        return text
    end = list(_NUMBER.finditer(text))[-1].end()
    lines = "".join(f"\n{each.name}: Final = {each.code}" for each in codes)
    text = text[:end] + lines + text[end:]
    retriable = "".join(f"        {each.name},\n" for each in codes if each.retriable)
    text = text.replace("\n    }\n)", f"\n{retriable}    }}\n)", 1)
    return re.sub(r"in Kafka \d+\.\d+\.", f"in Kafka {release}.", text, count=1)


def profile(text: str, before: str, version: str, ranges: Mapping[int, Versions], features: Sequence[FeatureLevel]) -> str:
    """Return the file of a new profile, made of that of the release before, with the API rows and feature levels of a running broker.
    `before` is the version of that release, `4.3.0`."""
    text = text.replace(before, version).replace(f"kafka-{short(before)}", f"kafka-{short(version)}")
    levels = {each.name: each for each in features}

    def row(found: re.Match[str]) -> str:
        offered = ranges.get(int(found[2]))
        return "" if offered is None else f"{found[1]}{found[2]}: ({offered.lowest}, {offered.highest}),{found[5]}\n"

    def level(found: re.Match[str]) -> str:
        each = levels.get(found[1])
        return found[0] if each is None else f'FeatureLevel("{each.name}", {each.lowest}, {each.highest}, {each.finalized})'

    return _FEATURES.sub(level, _ROW.sub(row, text))


def short(version: str) -> str:
    """Return the release of a version, such as 4.3 for 4.3.0."""
    return ".".join(version.split(".")[:2])


def patch(texts: Mapping[str, str], tree: Path = ROOT) -> str:
    """Return the new texts of files as one patch against the tree. A text that is equal to its file is left out."""
    parts = []
    for path, text in sorted(texts.items()):
        file = tree / path
        before = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.is_file() else []
        lines = list(difflib.unified_diff(before, text.splitlines(keepends=True), f"a/{path}", f"b/{path}"))
        if not lines:
            continue
        if not before:
            lines[0] = "--- /dev/null\n"
        parts.append(f"diff --git a/{path} b/{path}\n" + ("" if before else "new file mode 100644\n") + "".join(lines))
    return "".join(parts)


def applies(file: Path, tree: Path = ROOT) -> str:
    """Return "" if `git apply` accepts the patch, else git's message."""
    done = subprocess.run(["git", "apply", "--check", str(file)], capture_output=True, text=True, check=False, cwd=tree)
    return done.stderr.strip()
