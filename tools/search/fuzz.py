"""Fuzz with coverage guidance (atheris): the codec against its reference, and the driver on the virtual clock.

    python -m tools.search.fuzz codec --seconds 60 --seed 7 --corpus build/search/fuzz-codec --finds tests/found

Finds are written under tests/found, as by other properties. The corpus, the inputs that reached new code, is kept between searches.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from groupmock.version import __version__
from tools.runs import SUPPORT, ended

from .report import SearchPart
from .suite import SearchRequest

PARTS: Final = {"fuzz-codec": "codec", "fuzz-driver": "driver"}
"""Maps a part of the fuzzing to the function that makes its target."""
MOST: Final = 5
"""The number of written failing cases after which a run ends."""
LONGEST: Final = {"codec": 512, "driver": 2048}
"""The greatest length of a fuzzed input in bytes."""
GRACE_S: Final = 120
DONE: Final = re.compile(r"Done (\d+) runs|stat::number_of_executed_units: (\d+)")
COVERED: Final = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")


def search(name: str, wanted: SearchRequest) -> SearchPart:
    """Fuzz one target in a process of its own."""
    part = SearchPart(name)
    if importlib.util.find_spec("atheris") is None:
        return part.lacks("atheris (pip install --group search; Linux and macOS, Python 3.11 to 3.13)")
    corpus = wanted.folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    words = [PARTS[name], "--seconds", f"{max(1, wanted.seconds):.0f}", "--seed", str(wanted.seed), "--corpus", str(corpus)]
    done = ended([sys.executable, "-m", "tools.search.fuzz", *words, "--finds", str(wanted.finds)], wanted.seconds + GRACE_S)
    runs, covered = DONE.search(done.output), COVERED.findall(done.output)
    part.finds = re.findall(r"^find: (\S+)$", done.output, re.MULTILINE)
    part.reds = re.findall(r"^red: (.*)$", done.output, re.MULTILINE)
    if runs is None and not part.reds:
        return part.failed(done.output)
    reached = f", {covered[-1][0]} places, {covered[-1][1]} features, corpus of {covered[-1][2]}" if covered else ""
    part.did.append(f"{next(filter(None, runs.groups())) if runs else 'some'} inputs{reached}")
    return part


def main(words: Sequence[str] | None = None) -> int:
    """Fuzz one target until the time is over. libFuzzer ends the process."""
    parser = argparse.ArgumentParser(prog="python -m tools.search.fuzz")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--finds", type=Path, required=True)
    asked = parser.parse_args(words)
    sys.path.insert(0, str(SUPPORT))
    import atheris

    with atheris.instrument_imports(include=["groupmock", "groupmock_codec"]):
        one, seeds = TARGETS[asked.target](atheris, asked.finds)
    for number, data in enumerate(seeds):
        (asked.corpus / f"seed-{number}").write_bytes(data)
    options = [f"-max_total_time={asked.seconds}", f"-seed={asked.seed % 2**31 or 1}", f"-max_len={LONGEST[asked.target]}"]
    atheris.Setup([sys.argv[0], *options, "-timeout=30", "-rss_limit_mb=3000", str(asked.corpus)], one)
    atheris.Fuzz()
    return 0


class _Finds:
    """Writes the failing cases of a fuzzed target to files, each case once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: set[str] = set()

    def check(self, asked: Any, case: dict[str, Any]) -> None:
        """Check a case of a property, and write the case to a file if the check fails."""
        from found import Shown, Unrepeated, failure_of, write

        failure = failure_of(asked, case)
        if failure is None:
            return
        try:
            file = write(self.folder, Shown(asked, case), {"date": time.strftime("%Y-%m-%d"), "by": "atheris", "version": __version__})
        except Unrepeated as held:
            print(f"red: {held}", flush=True)
            return
        if file.name not in self.written:
            self.written.add(file.name)
            print(f"find: {file.name}\nred: {asked.name}: {type(failure).__name__}: {str(failure).splitlines()[0][:200]}", flush=True)
        if len(self.written) >= MOST:
            raise failure


One = Callable[[bytes], None]


def _codec(atheris: Any, finds: Path) -> tuple[One, list[bytes]]:
    """Make a fuzz target that checks that the compiled decoder agrees with the reference. Two bytes choose a request and its version,
    the rest is its body."""
    from found import packed
    from properties.codec import DAMAGED, types

    kinds = sorted(kind for kind in types() if kind.endswith("Request"))
    found = _Finds(finds)

    @cache
    def instrumented(kind: str, version: int) -> Callable[[bytes, int], object]:
        decoder: Callable[[bytes, int], object] = atheris.instrument_func(types()[kind].codec.decoder(version))
        return decoder

    def one(data: bytes) -> None:
        if len(data) < 2:
            return
        kind = kinds[data[0] % len(kinds)]
        versions = types()[kind].versions()
        version = versions[data[1] % len(versions)]
        try:
            instrumented(kind, version)(data[2:], 0)
        except ValueError:
            pass  # The decoder is called for its coverage only, because the property judges the result.
        found.check(DAMAGED, {"kind": kind, "version": version, "bytes": packed(data[2:])})

    return one, [bytes((number, version)) + bytes(24) for number in range(len(kinds)) for version in (0, 5)]


def _driver(atheris: Any, finds: Path) -> tuple[One, list[bytes]]:
    """Make a fuzz target that feeds pieces of bytes to the driver. The first byte says into how many pieces the rest is cut: frames that
    are whole, cut, or invalid."""
    from found import packed
    from properties.driver_bytes import DRIVER_BYTES

    from groupmock.rig.wire import request
    from groupmock_codec import APIS
    from groupmock_codec.errors import CodecError

    found = _Finds(finds)

    def one(data: bytes) -> None:
        if not data:
            return
        size = max(1, -(-(len(data) - 1) // (1 + data[0] % 8)))
        found.check(DRIVER_BYTES, {"pieces": [packed(data[at : at + size]) for at in range(1, len(data), size)]})

    seeds = []
    for key in APIS:
        for version in (APIS[key].request.versions.lowest, APIS[key].request.versions.highest):
            try:
                seeds.append(b"\0" + request(key, version) * 2)
            except CodecError:
                continue
    return one, seeds


TARGETS: Final[dict[str, Callable[[Any, Path], tuple[One, list[bytes]]]]] = {"codec": _codec, "driver": _driver}


if __name__ == "__main__":
    sys.exit(main())
