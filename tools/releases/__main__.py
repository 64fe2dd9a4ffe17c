"""Reports what a new release of Apache Kafka changes, and proposes a patch.

    python -m tools.releases 4.4.0                        # beside the newest release that has a profile
    python -m tools.releases 4.4.0 --part messages        # from the jars alone, in seconds
    python -m tools.releases 4.4.0 --seeds 500 --interop

It writes a report, the same as JSON, and a patch into build/. The parts: `messages` compares Kafka's schema files with the codec;
`broker` starts both releases and compares what they advertise, define and refuse; `probe` judges the new one under the newest profile;
`exchanges` plays generated exchanges; `clients` compiles the Java programs of tests/interop. It needs java, mvn and the developers' shared
folder.
docs/how-to/next-release.md says in which order to use what it finds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from groupmock.config import profiles
from groupmock_clients.probe.language.exchange import BASE_SETTINGS
from groupmock_codec import APIS
from tools.fidelity import on_kafka
from tools.fidelity.generated.settings_classes import BROKERS
from tools.oracle import NoOracle, classpath, kafka
from tools.runs import ROOT

from . import broker_changes, broker_facts, exchange_kinds, probe_rows, proposal, stock_clients
from .message_changes import changes
from .report import Findings, markdown
from .schemas import clients_jar, declared, read_jar

PARTS: Final = ("messages", "broker", "probe", "exchanges", "clients")
SEEDS: Final = 300
FIRST_SEED: Final = 1


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version or release, by which versions are ordered."""
    return tuple(map(int, version.split(".")))


def newest(version: str, older: bool = False) -> str:
    """Return the newest release with a profile, such as 4.3, whose broker is no newer than the version, or with `older` is older."""
    known = [release for release, broker in BROKERS.items() if numbers(broker) < numbers(version) or (broker == version and not older)]
    return max(known or BROKERS, key=numbers)


class Inquiry:
    """One run of the tool that examines a release. `found` grows part by part and is written after each, so that a run that is stopped
    leaves what it has."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked, self.version = asked, asked.version
        self.beside = asked.beside or BROKERS[newest(self.version, older=True)]
        self.release = newest(self.version)
        self.profile = profiles.load(f"kafka-{self.release}")
        self.ours = declared()
        self.here, self.there = (read_jar(clients_jar(classpath(each), each)) for each in (self.version, self.beside))
        self.facts: broker_facts.BrokerFacts | None = None
        known = {name: schema for name, schema in self.here.items() if name in self.ours}
        self.found = Findings(
            version=self.version,
            beside=self.beside,
            profile=self.profile.name,
            began=datetime.now(UTC).isoformat(timespec="minutes"),
            seconds={},
            against_codec=tuple(changes(self.ours, known)),
            against_beside=tuple(changes(self.there, self.here)),
        )

    def run(self) -> None:
        parts = {"broker": self.broker, "probe": self.probe, "exchanges": self.exchanges, "clients": self.clients}
        self._write()
        for name in self.asked.part or PARTS:
            if name in parts:
                with self._timed(name):
                    parts[name]()
                self._write()

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        self._say(f"{name} ...")
        yield
        self.found.seconds[name] = round(time.monotonic() - began, 1)
        self._say(f"{name}: {self.found.seconds[name]:.0f} s")

    @staticmethod
    def _say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def broker(self) -> None:
        """Start a broker of both releases, one after the other, and compare their APIs, features, configs and refusals."""
        facts = []
        for version in (self.beside, self.version):
            with kafka(version, BASE_SETTINGS) as bootstrap:
                facts.append(broker_facts.facts(version, bootstrap))
        before, self.facts = facts
        codec = {key: APIS[key].versions for key in APIS}
        names = {schema.key: schema.api for schema in (*self.there.values(), *self.here.values())}
        self.found.broker = broker_changes.compared(before, self.facts, codec, self.profile, names)

    def probe(self) -> None:
        """Probe the new broker, and probe the old one for the rows (rules) that the new one breaks."""
        self.found.probe = probe_rows.probed(self.version, self.beside, self.release, self.asked.rows)

    def exchanges(self) -> None:
        """Play generated exchanges on brokers of the new version, one started with each class of settings."""
        seeds = (self.asked.first_seed, self.asked.first_seed + self.asked.seeds)
        found: tuple[exchange_kinds.FamilyFindings, ...] = ()
        for run in on_kafka.runs([self.release]):
            # Invalid requests are sent first, because some name everything that the other tests would leave on the broker.
            families = sorted(run.families, key=lambda name: name != "bytes")
            families = [name for name in families if not self.asked.family or name in self.asked.family]
            if families:
                with kafka(self.version, on_kafka.settings_of(run)) as bootstrap:
                    found += tuple(exchange_kinds.played(run, name, bootstrap, seeds, self._say) for name in families)
                self.found.exchanges = found
                self._write()

    def clients(self) -> None:
        """Compile our Java programs against the new clients, and if that is asked for let these clients judge groupmock."""
        programs, problems = stock_clients.compiled(self.version)
        runs = stock_clients.interop(self.version, self.profile.name) if self.asked.interop else ()
        self.found.clients = stock_clients.ClientFindings(programs, problems, runs)

    def _texts(self) -> proposal.Proposal:
        keys = (ROOT / proposal.API_KEYS).read_text(encoding="utf-8")
        proposed = proposal.messages(self.ours, self.there, self.here, keys)
        texts = dict(proposed.texts)
        if self.facts is not None:
            codes = (ROOT / proposal.ERROR_CODES).read_text(encoding="utf-8")
            release = proposal.short(self.version)
            texts[proposal.ERROR_CODES] = proposal.with_errors(codes, release, broker_changes.unknown_errors(self.facts.errors))
            if release not in BROKERS:
                file = f"{proposal.PROFILES}/kafka_{{}}.py"
                source = (ROOT / file.format(self.release.replace(".", "_"))).read_text(encoding="utf-8")
                ranges = self.facts.ranges
                made = proposal.profile(source, BROKERS[self.release], self.version, ranges, self.facts.features)
                texts[file.format(release.replace(".", "_"))] = made
        return proposal.Proposal(texts, proposed.by_hand)

    def _write(self) -> None:
        """Write the report and the patch with the findings so far."""
        build: Path = self.asked.build
        build.mkdir(parents=True, exist_ok=True)
        stem = f"releases-{self.version}"
        texts, by_hand = self._texts()
        file, patch = build / f"{stem}.patch", proposal.patch(texts)
        file.write_text(patch, encoding="utf-8")
        self.found.patch, self.found.by_hand = str(file) if patch else "", by_hand
        self.found.patch_says = proposal.applies(file.resolve()) if patch else ""
        (build / f"{stem}.md").write_text(markdown(self.found), encoding="utf-8")
        (build / f"{stem}.json").write_bytes(msgspec.json.format(msgspec.json.encode(self.found)))


def main(words: Sequence[str] | None = None) -> int:
    """Return 0 when the report is written, whatever the findings are, and 2 if this machine lacks that version of Kafka."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.releases", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", help="the new release, for instance 4.4.0")
    parser.add_argument("--beside", metavar="VERSION", help="the release before it (default: the newest older one with a profile)")
    parser.add_argument("--part", action="append", choices=PARTS, help="only these parts; messages are always compared")
    parser.add_argument("--rows", action="append", default=[], metavar="ROW", help="probe: only these rows or exchanges")
    parser.add_argument("--family", action="append", metavar="NAME", help="exchanges: only these families")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="exchanges: how many of each family (%(default)s)")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="exchanges: the first one (%(default)s)")
    parser.add_argument("--interop", action="store_true", help="clients: let the Java consumer of that version judge groupmock")
    parser.add_argument("--build", type=Path, default=ROOT / "build", metavar="DIR", help="where the report goes")
    asked = parser.parse_args(words)
    try:
        inquiry = Inquiry(asked)
    except NoOracle as missing:
        parser.error(str(missing))
    inquiry.run()
    print(asked.build / f"releases-{asked.version}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
