"""`python -m groupmock_clients.scenarios.demo`: a server, a producer and five stock consumers; the rebalances told as they happen.

Three aiokafka and two kafka-python members share a topic of 12 partitions. They arrive, one is killed, one leaves. What is told is
read from the server's journal, as any user could. Exit status 0 if the group settled each time and no record was lost, else 1 with
a sentence that says what was missing.
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from groupmock.journal.rows import Row

    from .story import Teller

TOPIC: Final = "orders"
PARTITIONS: Final = 12
GROUP: Final = "billing"
SESSION_MS: Final = 3_000
HEARTBEAT_MS: Final = 300
COMMIT_MS: Final = 1_000
RECORDS_PER_SECOND: Final = 40
READ_A_WHILE: Final = 1.5
PATIENCE: Final = 25.0
"""Seconds within which each act must reach its end."""


class Failed(Exception):
    """The demo cannot go on; the text is for the user."""


def say(text: str = "") -> None:
    """One line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def act(title: str, *lines: str) -> None:
    """What happens next, before it does."""
    say()
    say(f"--- {title} ---")
    for line in lines:
        say(f"    {line}")


class Follower:
    """A journal while it is written: the rows of the whole lines that came since the last call."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._header = b""
        self._half = b""

    def rows(self) -> Iterator[Row]:
        """May be none."""
        from groupmock.journal.read import Journal
        from groupmock.journal.rows import Row

        whole, _, self._half = (self._half + self._file.read()).rpartition(b"\n")
        if whole and not self._header:
            self._header, _, whole = whole.partition(b"\n")
        if whole:
            for row in Journal(io.BytesIO(self._header + b"\n" + whole + b"\n")):
                if isinstance(row, Row):
                    yield row

    def close(self) -> None:
        """Stop following."""
        self._file.close()


class Member:
    """A consumer in a process of its own, and what it says it read."""

    def __init__(self, name: str, library: str, process: Process) -> None:
        self.name = name
        self.library = library
        self.process = process
        self.read: Counter[str] = Counter()
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            word, *values = line.decode().split()
            if word == "read":
                self.read.update(values)

    async def end(self, how: signal.Signals) -> None:
        """Send the signal and wait for the end, killing what does not hear it."""
        with suppress(ProcessLookupError):
            self.process.send_signal(how)
        try:
            async with asyncio.timeout(10):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        await self._listening


class Demo:
    """The server, the producer, the members, and the teller who follows the journal."""

    def __init__(self, server: Process, bootstrap: str, journal: Path) -> None:
        from .story import Teller

        self.server = server
        self.bootstrap = bootstrap
        self.teller: Teller = Teller(GROUP, TOPIC)
        self.members: dict[str, Member] = {}
        self.gone: list[Member] = []
        self.sent = 0
        self.producing: asyncio.Task[None] | None = None
        self._follower = Follower(journal)
        self.epoch_ns = int(json.loads(journal.read_bytes().partition(b"\n")[0])["epoch_ns"])

    async def follow(self) -> None:
        """Tell what is new in the journal."""
        for row in self._follower.rows():
            for line in self.teller.tell(row):
                say(line)

    async def until(self, wanted: str, done: Callable[[], bool]) -> None:
        """Follow the journal until `done()`. Raises Failed after PATIENCE seconds or when a process that should live ended."""
        end = time.monotonic() + PATIENCE
        while True:
            await self.follow()
            if done():
                return
            for name, process in [("the server", self.server), *((each.name, each.process) for each in self.members.values())]:
                if process.returncode is not None:
                    raise Failed(f"{name} ended by itself with status {process.returncode} while waiting for: {wanted}")
            if time.monotonic() > end:
                raise Failed(f"waited {PATIENCE:g} s for: {wanted}. The group is {self.teller.state or 'not there'} with "
                             f"{len(self.teller.members)} members: {', '.join(sorted(self.teller.members)) or 'none'}")
            if self.producing is not None and self.producing.done():
                raise Failed(f"the producer gave up: {self.producing.exception()!r}")
            await asyncio.sleep(0.05)

    def mark(self, text: str) -> None:
        """Something that we do ourselves, with its time on the journal's clock."""
        from .story import at

        say(f"{at(time.time_ns() - self.epoch_ns)}  {text}")

    async def settle(self, members: int) -> None:
        """Until the group is Stable with that many members, and stays so for READ_A_WHILE seconds."""
        calm = 0.0
        since = time.monotonic()

        def calm_enough() -> bool:
            nonlocal calm, since
            now = time.monotonic()
            calm = calm + (now - since) if self.teller.settled(members) else 0.0
            since = now
            return calm >= READ_A_WHILE

        await self.until(f"a Stable group of {members} members", calm_enough)
        say(f"           So far {self.sent} records were produced and {len(self.read())} of them read.")

    async def arrive(self, library: str, *names: str) -> None:
        """Start members."""
        for name in names:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", f"{__package__}.demo_member", library, name, self.bootstrap, TOPIC, GROUP,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            )
            self.members[name] = Member(name, library, process)

    async def go(self, name: str, how: signal.Signals) -> None:
        """One member ends."""
        member = self.members.pop(name)
        self.gone.append(member)
        await member.end(how)

    async def produce(self) -> None:
        """Numbered records, evenly over the partitions, until cancelled."""
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(bootstrap_servers=self.bootstrap, client_id="producer")
        try:
            await producer.start()
            while True:
                await producer.send_and_wait(TOPIC, str(self.sent).encode(), partition=self.sent % PARTITIONS)
                self.sent += 1
                await asyncio.sleep(1 / RECORDS_PER_SECOND)
        finally:
            with suppress(TimeoutError):  # stop() waits for what was not acknowledged, for ever if the server is gone
                async with asyncio.timeout(3):
                    await producer.stop()

    def read(self) -> Counter[str]:
        """Record -> how often anybody read it."""
        return sum((each.read for each in [*self.members.values(), *self.gone]), Counter())

    async def close(self) -> None:
        """End everything that still runs."""
        for name in list(self.members):
            await self.go(name, signal.SIGKILL)
        if self.server.returncode is None:
            self.server.kill()
            await self.server.wait()
        self._follower.close()


async def start(where: Path) -> Demo:
    """A server of its own on a free port, with a journal."""
    journal = where / "journal.jsonl"
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "groupmock", "serve", "--port", "0", "--topic", f"{TOPIC}:{PARTITIONS}",
        "--journal", str(journal), "--log", "off",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            line = await server.stdout.readline()
    except TimeoutError:
        server.kill()
        await server.wait()
        raise Failed(f"the server did not print its ready line within {PATIENCE:g} s") from None
    if not line:
        raise Failed(f"the server ended with status {await server.wait()} before it was ready")
    ready = json.loads(line)
    say(f"groupmock {ready['version']} answers as a Kafka broker on {ready['bootstrap']}.")
    return Demo(server, str(ready["bootstrap"]), journal)


def introduce() -> None:
    """What a newcomer needs to know."""
    say(f'Topic "{TOPIC}" has {PARTITIONS} partitions. Consumers of the group "{GROUP}" share them: each partition is read by one member.')
    say("Whenever somebody comes or goes, the group makes a round (a rebalance): all members join again, the broker makes one of")
    say("them the leader, the leader shares out the partitions, and everybody reads on from the committed offsets.")
    say("Times are seconds since the server started. Everything below is read from the server's journal as it grows.")


async def story(demo: Demo) -> None:
    """The five acts."""
    act("Three aiokafka consumers arrive: ada, ben and cleo")
    await demo.arrive("aiokafka", "ada", "ben", "cleo")
    await demo.settle(3)
    act("Two kafka-python consumers arrive: dana and eli", "Two libraries in one group: they agree on an assignor that both have.")
    await demo.arrive("kafka-python", "dana", "eli")
    await demo.settle(5)
    held = demo.teller.owned.get("ben", [])
    act(
        "ben crashes (kill -9)",
        "Nobody says goodbye, so the broker cannot know. Until ben's session ends, "
        f"{SESSION_MS / 1000:g} s after his last heartbeat,",
        f"nobody reads his partitions {' '.join(map(str, held))}.",
    )
    demo.mark("kill -9 ben")
    await demo.go("ben", signal.SIGKILL)
    await demo.settle(4)
    act("dana leaves in good order", "She closes her consumer: it commits, sends LeaveGroup, and the round starts at once.")
    demo.mark("dana closes")
    await demo.go("dana", signal.SIGTERM)
    await demo.settle(3)


async def reckon(demo: Demo) -> None:
    """Every record came to somebody; those that came twice are named and explained."""
    wanted = {str(number) for number in range(demo.sent)}
    try:
        await demo.until("every record to be read", lambda: wanted <= demo.read().keys())
    except Failed as late:
        missing = sorted(map(int, wanted - demo.read().keys()))
        lost = f"{len(missing)} of {demo.sent} records were never read, the first of them number {missing[0]}" if missing else str(late)
        raise Failed(lost) from None
    act("Everybody goes home")
    await asyncio.gather(*(demo.go(name, signal.SIGTERM) for name in list(demo.members)))
    await demo.until("an empty group", lambda: demo.teller.state == "Empty")
    await settle_accounts(demo)


async def settle_accounts(demo: Demo) -> None:
    """The last word: numbers, and the server's clean end."""
    from .story import count

    twice = {value for value, times in demo.read().items() if times > 1}
    ben = next(each for each in demo.gone if each.name == "ben")
    by_crash = len(twice & ben.read.keys())
    say()
    say(f"{demo.sent} records were produced and every one was read, in {demo.teller.rounds} rounds.")
    if by_crash:
        say(f"Read twice: {count(by_crash, 'record')} that ben had read but not yet committed when he was killed;")
        say("whoever got his partitions began again at his last commit.")
    if len(twice) > by_crash:
        say(f"Read twice: {count(len(twice) - by_crash, 'record')} because a round came between reading and committing.")
    demo.server.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(10):
            code = await demo.server.wait()
    except TimeoutError:
        raise Failed("the server did not end within 10 s of SIGTERM") from None
    if code:
        raise Failed(f"the server ended with status {code}")


async def play() -> None:
    """The demo from start to end."""
    with tempfile.TemporaryDirectory(prefix="groupmock-demo-") as where:
        demo = await start(Path(where))
        try:
            introduce()
            producing = demo.producing = asyncio.create_task(demo.produce())
            try:
                await story(demo)
            finally:
                demo.producing = None
                producing.cancel()
                await asyncio.gather(producing, return_exceptions=True)
            await reckon(demo)
        finally:
            await demo.close()


def main() -> int:
    """0: told to the end; 1: something did not happen as it should; 2: a consumer library is missing."""
    missing = [name for module, name in (("aiokafka", "aiokafka"), ("kafka", "kafka-python")) if importlib.util.find_spec(module) is None]
    if missing:
        sys.stderr.write(f"The demo needs {' and '.join(missing)}: pip install 'groupmock[aiokafka,kafka-python]'\n")
        return 2
    began = time.monotonic()
    try:
        asyncio.run(play())
    except Failed as why:
        sys.stderr.write(f"\nThe demo failed: {why}.\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted.\n")
        return 130
    say(f"The demo took {time.monotonic() - began:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
