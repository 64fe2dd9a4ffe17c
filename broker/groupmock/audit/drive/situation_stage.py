"""The script of a situation uses these objects: a running cluster, the copies of the program, and the rows to wait for."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec.api_keys import API_VERSIONS, CONSUMER_GROUP_HEARTBEAT, HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, TXN_OFFSET_COMMIT
from groupmock_codec.group_states import STABLE

from ...core.events import Command
from ...core.groups.view import GroupView, MemberView
from ...core.steering import CannotSteer
from ...faults.plan import make_rule, rule_as_data
from ...journal.journal import Repeated, Sink
from ...journal.rows import ASKED_TO_STOP, FaultRow, ReplyRow, RequestRow, Row
from ...text.printable import one_line
from ..subjects import api_name
from .copies import Copy, environment_of
from .situation import CLASSIC, CONSUMER, NotReached, Situation

if TYPE_CHECKING:
    from ...server.running import Running

PRODUCE_S: Final = 0.2
"""While a situation runs, every partition gets a record at this interval (seconds), so that consumers have something to commit."""
STOP_S: Final = 15.0
"""A copy may take this many seconds to end after SIGTERM."""
ROUNDS: Final = 10
COMMITS: Final = (OFFSET_COMMIT, TXN_OFFSET_COMMIT)
Test = Callable[[Row], bool]


class Heard:
    """An event that a script waits for, with a count of the rows that have shown it since this object was made. `times` is how many rows
    must show the event, `rows` how many have shown it."""

    def __init__(self, what: str, test: Test, times: int = 1) -> None:
        self.what, self.rows = what, 0
        self._test, self._times = test, times

    @property
    def done(self) -> bool:
        return self.rows >= self._times

    def hear(self, row: Row) -> None:
        self.rows += self._test(row)


class Stage(Sink):
    """The run of one situation, with a cluster and copies of the judged program. `bound_s` is the longest wait for one event, and `remarks`
    are for the reader of the result. `clients` has the libraries and versions from ApiVersions (KIP-511). `commits` says whether the
    program commits (None: not known yet). `protocol` is that of the members, CLASSIC until one of them sends a ConsumerGroupHeartbeat.

    All methods are called on the cluster's loop.
    """

    routine = heartbeats = True

    def __init__(
        self, situation: Situation, running: Running, command: Sequence[str], count: int, folder: Path, bound_s: float,
        commits: bool | None, protocol: str = "",
    ) -> None:  # fmt: skip
        self.situation, self.running = situation, running
        self.bound_s, self.commits = bound_s, commits
        self.copies: list[Copy] = []
        self.remarks: list[str] = []
        self.clients: set[str] = set()
        self.protocol = protocol or CLASSIC
        self._command, self._count, self._folder = command, count, folder
        self._topics = [topic.name for topic in running.config.topics]
        self.topic, self.partitions = self._topics[0], running.config.topics[0].partitions or running.config.settings.num_partitions
        self._heard: list[Heard] = []
        self._mute: set[int] = set()
        self._committing: dict[int, str | None] = {}
        self._commits: Counter[str | None] = Counter()
        self._changed = asyncio.Event()
        running.server.journal.add(self)
        self._producing = asyncio.ensure_future(self._produce())

    # -- rows

    def take(self, row: Row) -> None:
        for heard in self._heard:
            if not heard.done:
                heard.hear(row)
        if isinstance(row, RequestRow) and row.api_key == API_VERSIONS:
            self._introduced(row)
        elif isinstance(row, RequestRow) and row.api_key == CONSUMER_GROUP_HEARTBEAT:
            self.protocol = CONSUMER
        elif isinstance(row, RequestRow) and row.api_key in COMMITS:
            self._committing[row.ticket] = row.client_id
        elif isinstance(row, ReplyRow) and row.api_key in COMMITS:
            self._committed(row)
        elif isinstance(row, FaultRow) and row.action == "drop" and row.connection is not None:
            self._mute.add(row.connection)
        self._changed.set()

    def take_repeated(self, repeated: Repeated) -> None:
        if self._heard:
            for row in repeated.rows():
                self.take(row)

    def close(self) -> None:
        self._changed.set()

    def _committed(self, row: ReplyRow) -> None:
        client = self._committing.pop(row.ticket, None)
        if row.delivered and row.message is not None and not any(errors_of(row.message)):
            self._commits[client] += 1

    def _introduced(self, row: RequestRow) -> None:
        name, version = (one_line(str(getattr(row.message, f"client_software_{each}", "") or ""))[:80] for each in ("name", "version"))
        if name and len(self.clients) < 10:
            self.clients.add(f"{name} {version}".strip())

    def hears(self, what: str, test: Test, times: int = 1) -> Heard:
        """Count the rows that show an event from now on; `stage.happens(...)` waits until there are enough."""
        heard = Heard(what, test, times)
        self._heard = [each for each in self._heard if not each.done]
        self._heard.append(heard)
        return heard

    def asks(self, key: int, by: Copy | str | None = None, times: int = 1) -> Heard:
        """Count the requests of an API from now on. `by` is a copy, the client id of a copy that starts later, or None for any client."""
        client = by.client_id if isinstance(by, Copy) else by

        def test(row: Row) -> bool:
            return isinstance(row, RequestRow) and row.api_key == key and client in (None, row.client_id)

        return self.hears(f"{client or 'a copy'} to send {'a' if times == 1 else times} {api_name(key)}", test, times)

    def beats(self, by: Copy | str | None = None, times: int = 1) -> Heard:
        """Count the heartbeats of the protocol that the copies use from now on."""
        return self.asks(CONSUMER_GROUP_HEARTBEAT if self.protocol == CONSUMER else HEARTBEAT, by, times)

    def joins(self, by: Copy | str | None = None) -> Heard:
        """Count the requests to join from now on: JoinGroups, or ConsumerGroupHeartbeats of epoch 0."""
        if self.protocol == CLASSIC:
            return self.asks(JOIN_GROUP, by)
        client = by.client_id if isinstance(by, Copy) else by

        def test(row: Row) -> bool:
            return isinstance(row, RequestRow) and joins_again(row) and client in (None, row.client_id)

        return self.hears(f"{client or 'a copy'} to send a ConsumerGroupHeartbeat of epoch 0", test)

    # -- waiting

    async def until(self, what: str, test: Callable[[], bool], seconds: float | None = None) -> None:
        """Wait until `test` is true, which is checked after every row and after the end of a copy. Raises NotReached when the time is
        over or no copy runs."""
        bound = self.bound_s if seconds is None else seconds
        end = asyncio.get_running_loop().time() + bound
        while not test():
            if not any(copy.alive for copy in self.copies):
                raise NotReached(f"waited for {what}, but no copy runs any more: {'; '.join(self.ends())}")
            self._changed.clear()
            try:
                async with asyncio.timeout_at(end):
                    await self._changed.wait()
            except TimeoutError:
                raise NotReached(f"waited for {what}, which did not happen within {bound:g} s") from None

    async def happens(self, heard: Heard, seconds: float | None = None) -> None:
        """Wait until enough rows have shown an event."""
        await self.until(heard.what, lambda: heard.done, seconds)

    def struck(self, rule: str, times: int = 1) -> bool:
        """Return whether a fault rule has fired at least `times` times since it was registered."""
        return any(each.name == rule and each.fired >= times for each in self.running.server.driver.rules.reports())

    async def strikes(self, rule: str, times: int = 1) -> None:
        """Wait until a fault rule has fired `times` times."""
        await self.until(f"the fault {rule!r} to strike", lambda: self.struck(rule, times))

    async def strikes_in_rounds(self, rule: str) -> None:
        """Wait until a fault rule that needs a rebalance has fired. A settled group is rebalanced again, up to ROUNDS times."""
        for _ in range(ROUNDS):
            await self.until(f"the fault {rule!r} to strike", lambda: self.struck(rule) or self._is_settled())
            if self.struck(rule):
                return
            await self.next_round(await self.rebalance())
        await self.strikes(rule)

    async def mute_noticed(self) -> None:
        """Wait until the clients have closed connections on which a fault rule stopped all answers, which they do after a timeout of
        their own."""
        connections = self.running.server.driver.connections
        await self.until("a copy to give up the connection that is mute", lambda: self._mute.isdisjoint(connections))

    async def watches(self, seconds: float, test: Callable[[], bool] = lambda: False) -> None:
        """Wait some seconds, or until `test` is true, so that rules can judge what the copies do meanwhile."""
        with suppress(NotReached):
            await self.until("nothing", test, seconds)

    async def rebalance(self) -> int:
        """Rebalance the group as soon as it is Stable. Return the generation before."""
        await self.settled()
        before = self.generation
        self.steer("force_rebalance", group=self.group, reason="groupmock audit --drive")
        return before

    async def settled(self) -> None:
        """Wait until the group is Stable with all running copies and no other member."""
        await self.until("the group to be Stable with every copy that runs", self._is_settled)

    async def works(self) -> None:
        """Wait until every copy that has partitions has committed. The wait is not repeated for a program that never commits."""
        if self.commits is False:
            return
        began = self._commits.copy()
        try:
            await self.until("every copy that has partitions to commit", lambda: not self._idle(began))
            self.commits = True
        except NotReached as why:
            if self.commits:
                raise NotReached(f"{why} (not done: {', '.join(sorted(map(str, self._idle(began))))})") from None
            self.commits = False
            self.remarks.append(f"no copy committed an offset within {self.bound_s:g} s: rules about commits are not exercised")

    def _idle(self, began: Counter[str | None]) -> set[str | None]:
        """Return the clients that have partitions and have not committed offsets since `began`. If the program chooses its client ids
        itself, any commit counts."""
        view = self.view
        holders: set[str | None] = set() if view is None else {each.client_id for each in view.members if each.assignment}
        known = {copy.client_id for copy in self.copies if copy.alive and not copy.frozen}
        busy = {client for client, count in self._commits.items() if count > began[client]}
        if holders & known:
            return (holders & known) - busy
        return set() if busy else {None}

    async def goes_on(self) -> None:
        """Wait until the group is Stable again and its members commit offsets."""
        await self.settled()
        await self.works()

    async def next_round(self, since: int) -> None:
        """Wait until the group is Stable in a generation after the generation `since`."""
        await self.until(f"a generation after {since}", lambda: self.generation > since and self._is_settled())

    def _is_settled(self) -> bool:
        view = self.view
        if view is None or view.state != STABLE:
            return False
        names = {member.client_id for member in view.members}
        running = [copy for copy in self.copies if copy.alive and not copy.frozen]
        if not running:
            return False
        # The program chooses its client ids itself, so only the number of members can be compared.
        if not names & {copy.client_id for copy in self.copies}:
            return len(view.members) >= len(running)
        here = {copy.client_id for copy in running}
        gone = {copy.client_id for copy in self.copies if not copy.alive and copy.instance_id is None} - here
        return names >= here and not names & gone

    # -- the group

    @property
    def view(self) -> GroupView | None:
        """Return the group of the copies, which is the one that their environment names, or else the group with the most members."""
        groups = [group.view() for group in self.running.cluster.groups.all()]
        named = [group for group in groups if group.group_id == self.situation.name and group.members]
        return max(named or groups, key=lambda group: len(group.members), default=None)

    @property
    def group(self) -> str:
        """Return the id of the copies' group. Raises NotReached if no copy joined a group."""
        view = self.view
        if view is None:
            raise NotReached("no copy joined a group")
        return view.group_id

    @property
    def generation(self) -> int:
        """Return the generation of the group, or -1 without a group."""
        view = self.view
        return -1 if view is None else view.generation

    @property
    def coordinator(self) -> int:
        """Return the node that coordinates the group. Raises NotReached if no node does."""
        node = self.running.cluster.groups.hosting.leader_of(self.running.cluster.groups.hosting.partition_of(self.group))
        if node is None:
            raise NotReached("no node coordinates the group")
        return node

    def member_of(self, copy: Copy) -> MemberView:
        """Return the member that has the copy's client id. Raises NotReached."""
        view = self.view
        found = [] if view is None else [member for member in view.members if member.client_id == copy.client_id]
        if not found:
            raise NotReached(
                f"no member of the group calls itself {copy.client_id!r}: let the program take its client id from GROUPMOCK_CLIENT_ID"
            )
        return found[0]

    def check_static(self) -> None:
        """Raise NotReached if no member of the group is static."""
        view = self.view
        if view is not None and not any(member.group_instance_id for member in view.members):
            raise NotReached("no member is static: the program takes no group.instance.id from GROUPMOCK_INSTANCE_ID")

    @property
    def newest(self) -> Copy:
        """Return the running copy that was started last."""
        return [copy for copy in self.copies if copy.alive][-1]

    @property
    def next_name(self) -> str:
        """Return the name of the copy that will be started next."""
        return f"copy-{len(self.copies) + 1}"

    @property
    def rest(self) -> int:
        """Return how many copies of the run have not been started yet."""
        return self._count - len(self.copies)

    # -- doing

    def steer(self, name: str, /, **arguments: Any) -> None:
        """Run a command of the core. Raises NotReached if the command is impossible now."""
        try:
            self.running.submit(Command(name, arguments))
        except CannotSteer as cannot:
            raise NotReached(f"{name}: {cannot}") from None

    async def steer_when(self, name: str, /, **arguments: Any) -> None:
        """Run a command of the core as soon as it is possible."""

        def done() -> bool:
            try:
                self.running.submit(Command(name, arguments))
            except CannotSteer:
                return False
            return True

        await self.until(f"{name} to be possible", done)

    def break_by(self, *rules: dict[str, Any]) -> None:
        self.running.submit(Command("add_faults", {"rules": [rule_as_data(make_rule(each)) for each in rules]}))

    async def start(self, instance: str | None = None, again: Copy | None = None) -> Copy:
        """Start one more copy of the program. `instance` is its group.instance.id; with `again` it gets the names and number of a copy that
        has ended."""
        place = len(self.copies) + 1
        number = place if again is None else again.number
        if again is not None:
            instance = again.instance_id
        elif instance is None and self.situation.static:
            instance = f"copy-{number}"
        environment = environment_of(number, self.running.bootstrap, self.topic, self.situation.name, instance)
        said = self._folder / f"{self.situation.name}.copy-{place}.txt"
        copy = await Copy.start(self._command, number, environment, said, self._ended)
        self.copies.append(copy)
        return copy

    def stop(self, copy: Copy) -> None:
        """Ask a copy to stop by SIGTERM. A row records this, because the end is judged as a clean one from there on."""
        self._say(copy, ASKED_TO_STOP, signal="SIGTERM")
        copy.signal(signal.SIGTERM)

    def kill(self, copy: Copy) -> None:
        """Kill the copy (SIGKILL), so that it cannot leave the group."""
        self._say(copy, "killed", signal="SIGKILL")
        copy.signal(signal.SIGKILL)

    def freeze(self, copy: Copy) -> None:
        """Stop the copy with SIGSTOP, so that its connections stay open."""
        self._say(copy, "frozen", signal="SIGSTOP")
        copy.signal(signal.SIGSTOP)

    def thaw(self, copy: Copy) -> None:
        """Let a stopped copy continue with SIGCONT."""
        self._say(copy, "goes on", signal="SIGCONT")
        copy.signal(signal.SIGCONT)

    def _say(self, copy: Copy, what: str, **fields: Any) -> None:
        self.running.server.client_says(copy.client_id, what, {"copy": copy.number, **fields})

    def _ended(self, copy: Copy) -> None:
        if not copy.asked:
            self.remarks.append(copy.how_it_ended)
        self._changed.set()

    def ends(self) -> Iterator[str]:
        """Yield a sentence for each copy that ended without being asked to."""
        return (copy.how_it_ended for copy in self.copies if copy.status is not None and not copy.asked)

    async def over(self) -> None:
        """Stop all copies, cleanly if possible, and wait until none is left."""
        self._producing.cancel()
        running = [copy for copy in self.copies if copy.alive]
        for copy in running:
            if copy.frozen:
                self.thaw(copy)
            self.stop(copy)
        for copy, in_time in zip(running, await asyncio.gather(*(copy.end(STOP_S) for copy in running)), strict=True):
            if not in_time:
                self.remarks.append(f"copy {copy.number} did not end within {STOP_S:g} s of SIGTERM and was killed")

    async def abandon(self) -> None:
        """Kill all copies, because the run itself ends."""
        self._producing.cancel()
        for copy in self.copies:
            copy.signal(signal.SIGKILL)
        await asyncio.gather(*(copy.over for copy in self.copies))

    async def _produce(self) -> None:
        number = 0
        while True:
            number += 1
            for topic in self._topics:
                for partition in range(self.running.cluster.topics.partitions(topic) or 0):
                    self.running.produce(topic, partition, b"%d" % number, b"%s-%d-%d" % (topic.encode(), partition, number), [], None)
            await asyncio.sleep(PRODUCE_S)


def joins_again(row: RequestRow) -> bool:
    """Return whether a heartbeat of a consumer group joins the group."""
    return row.api_key == CONSUMER_GROUP_HEARTBEAT and getattr(row.message, "member_epoch", None) == 0


def errors_of(commit: Any) -> Iterator[int]:
    """Yield the error code of each partition in an answer to OffsetCommit or TxnOffsetCommit, including 0."""
    return (partition.error_code for topic in commit.topics for partition in topic.partitions)


def says(row: Row, *codes: int) -> bool:
    """Return whether an answer has one of these errors, for the whole request or for a partition of a commit."""
    if not isinstance(row, ReplyRow):
        return False
    if row.api_key in COMMITS and row.message is not None:
        return any(error in codes for error in errors_of(row.message))
    return getattr(row.message, "error_code", 0) in codes
