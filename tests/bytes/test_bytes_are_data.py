"""Bytes from the network are only data: requests that contain paths, code and pickles make the server open, run and load nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

MARK = "groupmock-was-here"

PROGRAM = r'''
import json, os, pickle, random, sys

from groupmock.core.log.broker_configs import broker_keys
from groupmock.journal.file import FileSink
from groupmock.rig.wire import request
from groupmock.rig.wire_rig import WireRig
from groupmock_codec import APIS, samples

MARK, JOURNAL = sys.argv[1:]

class Touch:
    def __reduce__(self):
        return os.system, (f"touch {MARK}",)

NAMES = [f"../../../../tmp/{MARK}", f"/tmp/{MARK}", f"file:///tmp/{MARK}", f"__import__('os').system('touch {MARK}')", "%s%n", "topic",
         "{0.__class__}", f"$(touch {MARK})", f"; touch {MARK}", f"!!python/object/apply:os.system ['touch {MARK}']", "${jndi:ldap://127.0.0.1/x}"]
BYTES = [pickle.dumps(Touch()), b"import os; os.system('touch " + MARK.encode() + b"')", b"\x80\x04.", b"#!/bin/sh\n"]
numbers = samples.scalar
samples.scalar = lambda wire, dice: (
    dice.choice(NAMES) if wire.kind == "string" else dice.choice(BYTES) if wire.kind in ("bytes", "records") else numbers(wire, dice)
)

OURS = tuple({os.path.realpath(each) + os.sep for each in [sys.prefix, sys.base_prefix, *sys.path] if os.path.isdir(each)})
WRITTEN = ("groupmock_codec.messages.", "<frozen ")  # Generated code is named by the module of its message.
RUNS = ("exec", "compile")
NEVER = ("subprocess.", "os.", "pickle.", "socket.", "ctypes.", "shutil.", "urllib.", "code.", "tempfile.", "glob.", "http.", "ftplib.")
seen, watching = [], False

def from_a_module(name):
    """Modules that are imported on first use, and functions that the codec writes from its own declarations."""
    name = os.fsdecode(name) if isinstance(name, (str, bytes, os.PathLike)) else ""
    return name.startswith(WRITTEN) or os.path.realpath(name).startswith(OURS)

def watch(event, arguments):
    if not watching:
        return
    if event == "open":
        fine = isinstance(arguments[0], int) or from_a_module(arguments[0])
    elif event in RUNS:
        fine = from_a_module(arguments[0].co_filename if event == "exec" else arguments[1])
    else:
        fine = not event.startswith(NEVER) or event in ("os.listdir", "os.scandir") and from_a_module(arguments[0])
    if not fine:
        seen.append([event, repr(arguments)[:200]])

rig = WireRig.make(topics={"topic": 2}, sinks=[FileSink(JOURNAL, failed=seen.append)])
def ask(times, seed):
    """Every API in every version."""
    dice, answers = random.Random(seed), 0
    for row in rig.core.environment.identity.advertised:
        for version in range(row.lowest, row.highest + 1):
            codec = APIS[row.key].request
            for _ in range(times):
                message = samples.sample(codec.message, version, codec.flexible(version), dice)
                wire = rig.connect()
                wire.send(request(row.key, version, message, 1, dice.choice(NAMES)))
                answers += len(wire.take())
                rig.sleep(1)
    return answers

ask(1, 1)  # annotations of messages are read (compiled, as Python has it) when a codec is first made
for row in rig.core.environment.identity.advertised:  # and of answers that nobody got so far
    for version in range(row.lowest, row.highest + 1):
        APIS[row.key].response.encoder(version)
rig.core.cluster.topics.record_limit('topic', 1)  # and those of settings, by the first log that is written to
broker_keys(rig.core.environment.settings.quirks)  # and by who asks for configs first
sys.addaudithook(watch)
watching = True
answered = ask(12, 14)
rig.sleep(600_000)
watching = False
rig.close()
print(json.dumps({"seen": seen, "answered": answered, "rows": sum(1 for _ in open(JOURNAL))}))
'''


def test_nothing_that_is_received_is_run_or_names_a_file(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PROGRAM, MARK, str(tmp_path / "journal.jsonl")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["answered"] > 500 and told["rows"] > 1000, "it was asked"
    assert told["seen"] == []
    assert [each.name for each in tmp_path.iterdir()] == ["journal.jsonl"] and not Path("/tmp", MARK).exists()
