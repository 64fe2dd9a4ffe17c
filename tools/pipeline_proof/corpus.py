"""Journals for testing the pipeline, in two stages: irregular files, and scenarios with damaged copies.

A stage has what has arrived since: new files, files that grew, better copies, and another run in an old file. Its files are copied over the
previous ones.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import zstandard

from groupmock.cli import main as groupmock

EPOCH: Final = 1_790_000_000_000_000_000
LONG: Final = json.dumps({"kind": "note", "seq": 1, "t": 1, "what": "x" * (1 << 20)})
NOT_UTF8: Final = {
    "half": b"\xe4\xb8", "over": b"\xc0\x80", "surrogate": b"\xed\xa0\x80", "five": b"\xf8\x88\x80\x80\x80", "above": b"\xf4\x90\x80\x80",
}  # fmt: skip


def header(run: str, epoch: int = EPOCH, **more: Any) -> str:
    head = {"v": 1, "run": run, "product": "p", "seed": 1, "epoch_ns": epoch, "profile": "g", "config": {"a": 1}, "complete": False}
    return json.dumps(head | more)


def notes(first: int, last: int) -> list[str]:
    """Return note rows of a journal, with these numbers in order."""
    return [f'{{"kind":"note","seq":{number},"t":{number * 10},"what":"n{number}"}}' for number in range(first, last + 1)]


def end(number: int) -> str:
    """Return the last row of a closed journal."""
    return f'{{"kind":"note","seq":{number},"t":{number * 10},"what":"end"}}'


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
    return path


def odd(folder: Path) -> None:
    """Write journals with irregular names, encodings, ends or row numbers."""
    write(folder / "backwards.jsonl", header("backwards"), *notes(1, 3), *notes(6, 7), *notes(2, 2), *notes(9, 9))
    write(folder / "live.jsonl", header("live"), *notes(1, 5))
    write(folder / "no-header.jsonl", *notes(1, 4))
    write(folder / "long.jsonl", header("long"), LONG, *notes(2, 2))
    write(folder / "long-head.jsonl", header("x" * (1 << 20)), *notes(1, 2))
    (folder / "wide.jsonl").write_bytes((header("wide") + "\n" + "\n".join(notes(1, 2))).encode("utf-16"))
    (folder / "latin.jsonl").write_bytes((header("latin") + '\n{"kind":"note","seq":1,"t":1,"what":"\xe9"}\n').encode("latin-1"))
    (folder / "latin-head.jsonl").write_bytes(
        ("\n".join([header("latin").replace("latin", "l\xe4tin"), *notes(1, 1)]) + "\n").encode("latin-1")
    )
    raw = b'\n{"kind":"note","seq":1,"t":1,"what":"'
    for name, text in NOT_UTF8.items():
        (folder / f"utf8-{name}.jsonl").write_bytes(header(name).encode() + raw + text + b'"}\n' + notes(2, 2)[0].encode() + b"\n")
    (folder / "replaced.jsonl").write_bytes(header("replaced").encode() + raw + "\ufffd".encode() + b'"}\n')
    write(folder / "slow.jsonl", header("slow"), *notes(1, 1000), end(1001))
    write(folder / "empty-lines.jsonl", "", "", "")
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "empty.jsonl.gz").write_bytes(b"")
    (folder / "nothing.jsonl.gz").write_bytes(gzip.compress(b""))
    (folder / "nothing.jsonl.zst").write_bytes(zstandard.compress(b""))
    whole = ("\n".join([header("forms"), *notes(1, 50), end(51)]) + "\n").encode()
    for name, data in _forms(whole):
        (folder / name).write_bytes(data.replace(b"forms", b"forms"))
    write(folder / "notes.txt", "no journal")
    write(folder / "_hidden.jsonl", header("hidden"))
    write(folder / ".hidden.jsonl", header("hidden"))
    write(folder / "_below" / "hidden.jsonl", header("below"), *notes(1, 2))
    write(folder / "name with space & %41 = 'quote' \u00e9 [1] {a,b}*.jsonl", header("a name"), *notes(1, 2), end(3))
    write(folder / "day=2020-01-01" / "run=x" / "partition.jsonl", header("partition"), *notes(1, 2), end(3))


def _forms(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the same run in other encodings, each with the file name under which it is stored. Some names do not match the encoding."""
    packed, pressed = gzip.compress(data, mtime=0), zstandard.compress(data)

    def named(run: str) -> bytes:
        return data.replace(b'"forms"', f'"{run}"'.encode())

    half = data.index(b"\n", len(data) // 2) + 1
    yield "lies-plain.jsonl.gz", named("lies-plain-gz")
    yield "lies-plain.jsonl.zst", named("lies-plain-zst")
    yield "lies-gzip.jsonl", gzip.compress(named("lies-gzip"), mtime=0)
    yield "lies-zstd.jsonl", zstandard.compress(named("lies-zstd"))
    yield "lies-gzip.jsonl.zst", gzip.compress(named("lies-gzip-zst"), mtime=0)
    yield "members.jsonl.gz", gzip.compress(named("members")[:half], mtime=0) + gzip.compress(named("members")[half:], mtime=0)
    yield "frames.jsonl.zst", zstandard.compress(named("frames")[:half]) + zstandard.compress(named("frames")[half:])
    yield "after.jsonl.gz", gzip.compress(named("after-gz"), mtime=0) + b"garbage"
    yield "after.jsonl.zst", zstandard.compress(named("after-zst")) + b"garbage"
    yield "zeros.jsonl.gz", gzip.compress(named("zeros"), mtime=0) + bytes(100)
    yield "damaged.jsonl.gz", _damaged(gzip.compress(named("damaged-gz"), mtime=0))
    yield "damaged.jsonl.zst", _damaged(zstandard.compress(named("damaged-zst")))
    yield "checksum.jsonl.gz", packed[:-8] + bytes(8)
    yield "header-cut.jsonl.gz", packed[:5]
    yield "header-cut.jsonl.zst", pressed[:5]
    yield "no-end.jsonl", named("no-end-of-line")[:-1]
    yield "cut-in-row.jsonl", named("cut-in-row")[:-20]


def _damaged(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(each ^ 0xFF for each in data[middle : middle + 8]) + data[middle + 8 :]


def scenarios(folder: Path) -> None:
    """Write runs of scenarios, packed and truncated copies, and another run with the very same header."""
    played = folder / "played"
    for protocol, members in (("design-2", "2"), ("cooperative-sticky", "3")):
        sizes = ["--protocol", protocol, "--members", members]
        assert groupmock(["scenario", "run", "death-in-time", "rolling-bounce", *sizes, "--journal", str(played)]) == 0
    one, other = sorted(played.glob("death-*.jsonl"))[:2]
    data = one.read_bytes()
    head, _, _ = data.partition(b"\n")
    _, _, rest = other.read_bytes().partition(b"\n")
    one.rename(folder / "b-one.jsonl")
    (folder / "b-twin.jsonl").write_bytes(head + b"\n" + rest)
    (folder / "c-copy.jsonl.gz").write_bytes(gzip.compress(data))
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "c-copy.jsonl.zst").write_bytes(zstandard.compress(data))
    (folder / "a-cut.jsonl.gz").write_bytes(gzip.compress(data)[:-4000])
    half = data.index(b"\n", len(data) // 2)
    (folder / "a-cut.jsonl.zst").write_bytes(zstandard.compress(data[:half]) + zstandard.compress(data[half:])[:-100])
    (folder / "d-part.jsonl").write_bytes(data[: half + 1])
    lines = data.splitlines(keepends=True)
    (folder / "e-hole.jsonl").write_bytes(b"".join([*lines[:40], *lines[41:]]))
    (folder / "e-changed.jsonl").write_bytes(b"".join([*lines[:-1], lines[-1].replace(b'"t":', b'"t":1')]))
    (folder / "e-spaces.jsonl").write_bytes(data.replace(b'"kind":', b'"kind": '))
    (folder / "e-broken.jsonl").write_bytes(b"".join([*lines[:50], b"broken\n", *lines[51:]]))


def second(folder: Path, before: Path) -> None:
    """Write files that grew, that were replaced by others, and better copies."""
    write(folder / "live.jsonl", header("live"), *notes(1, 9), end(10))
    write(folder / "backwards.jsonl", header("another run at the same place"), *notes(1, 1))
    one = (before / "b-one.jsonl").read_bytes()
    (folder / "d-better.jsonl").write_bytes(one + b'{"kind":"note","seq":99999,"t":1,"what":"later"}\n')
    (folder / "d-part.jsonl").write_bytes(one)
    (folder / "a-cut.jsonl.gz").write_bytes(gzip.compress(one)[:-2000])
    shutil.copyfile(before / "slow.jsonl", folder / "slow.jsonl")
    write(folder / "empty.jsonl", header("not empty any more"), *notes(1, 3), end(4))
    write(folder / "cut-in-row.jsonl", header("cut-in-row"), *notes(1, 50), end(51))
    write(folder / "no-header.jsonl", header("has one now"), *notes(1, 4))
    write(folder / "heads" / "alone.jsonl", header("alone"), *notes(1, 3))
    write(folder / "new" / "new.jsonl", header("new"), *notes(1, 20), end(21))


def laid(stages: Sequence[Path], journals: Path) -> Iterator[int]:
    """Copy the files of one stage after the other over the journals. Each stage's files have an old modification time, so that none
    looks as if it were being written."""
    shutil.rmtree(journals, ignore_errors=True)
    for number, stage in enumerate(stages, 1):
        changed = EPOCH // 1_000_000_000 + number * 3600
        for path in sorted(each for each in stage.rglob("*") if each.is_file()):
            target = journals / path.relative_to(stage)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            os.utime(target, (changed, changed))
        yield number
