"""Play one plan of a simulation: its steps, then a calm phase without faults, then the final checks."""

from __future__ import annotations

from typing import Any, Final

from groupmock.core.timers import NAMES
from groupmock.faults.plan import read_plan, rule_as_data
from groupmock_codec.errors import CodecError
from groupmock_codec.group_states import STABLE

from .client import Client
from .consumer import Consumer
from .group_consumer import GroupConsumer
from .judges.findings import Finding
from .plan import CLASSIC, CONSUMER, SHARE, STREAMS, SimulationPlan
from .process import Process
from .producer import Producer
from .rest import ConsumerGroupsAtRest, GroupsAtRest, ShareGroupsAtRest, StreamsGroupsAtRest, TransactionsAtRest, undelivered
from .share_worker import ShareWorker
from .strangers import Strangers
from .streams_thread import StreamsThread
from .world import World
from .writer import Order, Writer

CLIENTS: Final[dict[str, type[Consumer | GroupConsumer | ShareWorker | StreamsThread]]] = {
    CLASSIC: Consumer, CONSUMER: GroupConsumer, SHARE: ShareWorker, STREAMS: StreamsThread,
}  # fmt: skip
"""Maps a group protocol to the simulated process that speaks it."""
LIVENESS: Final = "liveness"
SETTLING_MS: Final = 10
"""The time after which everything that hostile peers sent has arrived."""
LONGEST_DELAY_MS: Final = 40_000
"""The longest time for which a ready fault plan delays a request (acknowledgement-late), which may outlive its connection."""
SESSION_MS, REBALANCE_MS = 6_000, 8_000
"""The session and rebalance timeouts that bound a run without clients."""
LOOK_MS: Final = 500
"""The calm phase checks at this interval of virtual time whether everything has settled."""


def bound_ms(plan: SimulationPlan) -> int:
    """Return the virtual ms after which every group must be Stable and everything delivered, once the faults have ended.

    Whoever is dead is expelled after a session; two join phases may be spent on those who do not come back; a request that will never be
    answered is given up after a rebalance timeout and 5 s, then the coordinator is looked for. Twice that, and 10 s for the rest.
    """
    session = max((each.session_ms for each in plan.clients), default=SESSION_MS)
    rebalance = max((each.rebalance_ms for each in plan.clients), default=REBALANCE_MS)
    return 2 * (session + 3 * rebalance + 5_000) + 10_000


class Playing:
    """A simulated run in progress. `finding` is None as long as everything held."""

    def __init__(self, plan: SimulationPlan, sampled: bool) -> None:
        self.plan = plan
        self.world = World(plan, sampled)
        self.clients: dict[str, Client] = {each.name: CLIENTS[each.protocol](self.world, each) for each in plan.clients}
        self.consumer_groups = ConsumerGroupsAtRest(self.world, [each for each in self.clients.values() if isinstance(each, GroupConsumer)])
        self.streams_groups = StreamsGroupsAtRest(self.world, [each for each in self.clients.values() if isinstance(each, StreamsThread)])
        self.share_groups = ShareGroupsAtRest(self.world, [each for each in self.clients.values() if isinstance(each, ShareWorker)])
        self.writers = {each.name: Writer(self.world, each) for each in plan.writers}
        self.processes: dict[str, Process] = {**self.clients, **self.writers}
        self.transactions = TransactionsAtRest(self.world, list(self.writers.values()))
        self.producer = Producer(self.world)
        self.strangers = Strangers(self.world)
        self.faulty = False
        self.nobodys: set[str] = set()
        """The member ids that hostile peers left behind in groups."""

    @property
    def finding(self) -> Finding | None:
        """Return the first violation, or None if there was none."""
        return self.world.bench.finding

    def run(self) -> None:
        """Play the steps, then the calm phase, then the final checks."""
        bench = self.world.bench
        self.transactions.begin()
        for place, step in enumerate(self.plan.steps):
            bench.step = place
            bench.turns.turned()
            getattr(self, f"_{step[0]}")(*step[1:])
            bench.groups.look_at_all()
            bench.consumer_groups.look_at_all()
            bench.streams_groups.look_at_all()
            self.world.sweep()
            if self.finding is not None:
                return
        bench.step = len(self.plan.steps)
        self._peace()
        if bench.groups.failed & bench.groups.spoilt:
            return  # The unreadable Subscription of a deliberately hostile client blocks the join phase of 3.9 for five minutes (P1-b5).
        if self.finding is None:
            self._rest()
        if self.finding is None:
            self._close()

    # -- steps: see `plan`

    def _wait(self, ms: int) -> None:
        self.world.pass_time(ms)

    def _start(self, name: str) -> None:
        self.processes[name].start()

    def _kill(self, name: str, half_open: int) -> None:
        self.processes[name].kill(bool(half_open))

    def _leave(self, name: str) -> None:
        self.clients[name].leave()

    def _subscribe(self, name: str, topics: list[str]) -> None:
        self.clients[name].subscribe(topics)

    def _match(self, name: str, regex: str) -> None:
        self.clients[name].match(regex)

    def _create(self, topic: str, partitions: int) -> None:
        self.world.create_topic(topic, partitions)

    def _delete(self, topic: str) -> None:
        self.world.command("delete_topic", name=topic)

    def _transact(self, name: str, places: list[list[Any]], offset: bool, commit: bool, pause_ms: int, member: str) -> None:
        client = self.clients.get(member)
        records = {(topic, index): count for topic, index, count in places}
        self.writers[name].order(Order(records, offset, commit, pause_ms, None if client is None else client.member))

    def _commit(self, name: str) -> None:
        client = self.clients[name]
        if client.alive:
            client.commit()

    def _produce(self, topic: str, partition: int, records: int) -> None:
        count = self.world.counts().get(topic, 0)
        if count:
            self.producer.produce(topic, partition % count, records)

    def _cut(self, name: str, sizes: list[int]) -> None:
        for link in self.processes[name].links.values():
            link.wire.cuts.extend(sizes)

    def _glue(self, name: str, requests: int, sizes: list[int]) -> None:
        for link in self.processes[name].links.values():
            link.wire.glue = requests
            link.wire.cuts.extend(sizes)

    def _break(self, name: str, after: int) -> None:
        for link in self.processes[name].links.values():
            link.wire.left = after

    def _deaf(self, name: str, ms: int) -> None:
        for link in self.processes[name].links.values():
            link.wire.deaf = True
            self.world.later(ms, link.wire.hear)

    def _command(self, name: str, arguments: dict[str, Any]) -> None:
        self.world.command(name, **arguments)

    def _faults(self, name: str) -> None:
        self.faulty = True
        self.world.command("add_faults", rules=[rule_as_data(rule) for rule in read_plan(name).rule], origin=name)

    def _mutate(self, pick: int, changes: list[list[int]]) -> None:
        self.strangers.mutate(pick, changes)

    def _burst(self, what: str, requests: int, pieces: int) -> None:
        self.strangers.burst(what, requests, pieces)

    def _large(self, what: str, much: int) -> None:
        try:
            self.strangers.large(what, much)
        except CodecError:
            return  # Nothing is sent if the message is too large for the protocol.

    # -- peace

    def _peace(self) -> None:
        """End every fault and start every process that is not running."""
        world = self.world
        if self.faulty:
            world.command("clear_faults")
        self.strangers.go()
        for node in world.nodes:
            world.command("start_node", node=node)
        # A dict is used and not a set, because its order is the same for all hash seeds.
        for name in dict.fromkeys(each.group for each in self.plan.clients):
            self._release(name)
            # An operator who took the group's coordinator away gives it back.
            if world.core.cluster.groups.hosting.node_of(name) is None:
                world.command("move_coordinator", group=name)
        for wire in world.wires:
            wire.cuts.clear()
            wire.glue, wire.left = 0, None
            wire.hear()
        world.pass_time(SETTLING_MS)
        self.consumer_groups.hurry()
        self.streams_groups.hurry()
        self.share_groups.hurry()
        mine = {client.member_id for client in self.clients.values() if client.alive}
        for group in world.bench.groups.peopled():
            if group.group_id in world.bench.groups.spoilt:
                self.nobodys |= {*group.members, *group.pending_joins} - mine
        for client in self.clients.values():
            for topic in client.about.topics:  # The source topics of an application must exist.
                world.create_topic(topic, 1)
            client.start()
            client.subscribe(list(client.about.topics))
            client.match(client.about.regex)
        self.transactions.calm()

    def _release(self, name: str) -> None:
        world = self.world
        for member in getattr(world.core.environment.holds, "frozen", {}).copy():
            world.command("thaw_member", group=member[0], member=member[1])
        if name in getattr(world.core.environment.holds, "groups", {}):
            world.bench.groups.unsure.add(name)
        world.command("release_group", group=name)
        world.command("resume_deliveries", group=name)

    def _rest(self) -> None:
        """Wait until all groups and producers have settled, for as long as that may take."""
        left = bound_ms(self.plan)
        while (missing := self._missing()) is not None and left > 0 and self.finding is None:
            self._expel()
            self._reconcile()
            self.world.pass_time(LOOK_MS)
            left -= LOOK_MS
        if missing is not None:
            self.world.bench.found(LIVENESS, f"after {bound_ms(self.plan)} ms of peace {missing}")
        self.world.bench.groups.look_at_all()

    def _expel(self) -> None:
        """Remove the members that hostile peers left behind, as an operator does by hand."""
        for group in self.world.bench.groups.peopled():
            for member in sorted(self.nobodys & {*group.members, *group.pending_joins}):
                self.world.command("expire_member", group=group.group_id, member=member)

    def _reconcile(self) -> None:
        """Force a rebalance of groups that would not settle by themselves. After a load a group knows only one protocol per member, and
        may refuse another member's list (docs/kafka/group-protocol.md#after-load). A static member that came back gets its old
        assignment (KIP-345), and a partition that it had revoked before has no owner until the rebalance that it forgot to ask for
        (KIP-429). A SyncGroup that an operator held during a move of the coordinator may belong to a generation whose number was used
        again."""
        for client in self.clients.values():
            if client.at_odds:
                client.at_odds = False
                self.world.command("force_rebalance", group=client.about.group)
        unsure = self.world.bench.groups.unsure
        for group in self.world.bench.groups.peopled():
            if group.group_id in unsure and str(group.state) == STABLE:
                unsure.discard(group.group_id)
                self.world.command("force_rebalance", group=group.group_id)

    def _missing(self) -> str | None:
        """Say which group, record or transaction has not settled yet, or return None."""
        for name, clients in self._groups().items():
            group = self.world.bench.groups.group(name)
            if group is None or str(group.state) != STABLE:
                return f"group {name!r} is {'gone' if group is None else group.state}"
            if sorted(group.members) != sorted(client.member_id for client in clients):
                return f"group {name!r} has members {sorted(group.members)}"
            if not all(client.settled for client in clients):
                return f"not all clients of group {name!r} are settled"
            if not self.world.bench.history.topics_spoilt and name not in self.world.bench.groups.spoilt:
                subscribed = {topic for client in clients for topic in client.topics}
                if (missing := undelivered(self.world, name, clients, subscribed)) is not None:
                    return missing
        described = (missing for each in self._described() if (missing := each.missing()) is not None)
        return next(described, None) or self.transactions.missing()

    def _groups(self) -> dict[str, list[Consumer]]:
        """Return the classic groups of the run with their clients."""
        found: dict[str, list[Consumer]] = {}
        for client in self.clients.values():
            if isinstance(client, Consumer):
                found.setdefault(client.about.group, []).append(client)
        return found

    # -- the end

    def _close(self) -> None:
        """Check that nothing was lost, end all processes, and look for leaks."""
        bench, world = self.world.bench, self.world
        subscribed = {name: sorted({t for c in clients for t in c.about.topics}) for name, clients in self._groups().items()}
        for groups in self._described():
            subscribed |= groups.subscribed()
        bench.history.nothing_lost(subscribed)
        for client in self.clients.values():
            client.commit()
        world.pass_time(LOOK_MS)
        bench.shares.all_told()
        self.transactions.end()
        for process in self.processes.values():
            process.kill(half_open=False)
        described = (link for groups in self._described() for link in groups.links.values())
        for link in [*self.producer.links.values(), *described]:
            link.close()
        world.pass_time(10)
        for wire in world.wires:  # Reset the connections of processes that died without closing them.
            wire.reset()
        longest = max((each.session_ms + each.rebalance_ms for each in self.plan.clients), default=0)
        world.pass_time(max(longest, LONGEST_DELAY_MS if self.faulty else 0) + 1_000)
        self._left_over()

    def _described(self) -> tuple[GroupsAtRest[Any], ...]:
        return self.consumer_groups, self.streams_groups, self.share_groups

    def _left_over(self) -> None:
        world, bench, driver = self.world, self.world.bench, self.world.driver
        if driver.connections:
            bench.found("leaks", f"{len(driver.connections)} connections are open and nobody is there")
        if driver.counters.held_bytes:
            bench.found("leaks", f"{driver.counters.held_bytes} bytes are held for nobody")
        if len(driver.tickets):
            waiting = sorted({call.codec.name for call in driver.tickets.values()})
            bench.found("leaks", f"{len(driver.tickets)} requests are open and nobody is there: {', '.join(waiting)}")
        shares = world.core.cluster.shares
        parked = len(world.core.cluster.topics.fetches) + len(shares.fetches)
        if parked:
            bench.found("leaks", f"{parked} fetches wait for records and nobody is there")
        if sessions := sum(1 for _ in shares.all_sessions()):
            bench.found("leaks", f"{sessions} share sessions are open and nobody is there")
        if (held := bench.shares.in_flight) is not None:
            bench.found("leaks", f"nobody is there, and {held}")
        timers = world.core.environment.timers
        # A timer whose key has only the kind of timer belongs to the whole cluster, as for retention, and is not counted.
        armed = [key for name in NAMES for key in timers.armed(name) if len(key) > 1]
        if len(armed) > sum(len(group.members) + len(group.pending_joins) for group in bench.groups.peopled()):
            bench.found("leaks", f"timers are armed and nobody is there: {', '.join(' '.join(key) for key in sorted(armed))}")
        for judge in (bench.consumer_groups, bench.streams_groups):
            if left := judge.members:
                bench.found("leaks", f"{judge.judge} have members and nobody is there: {sorted(left)}")
        mine = [group for group in bench.groups.peopled() if group.group_id not in bench.groups.spoilt]
        for group in mine:
            if group.members:
                bench.found("leaks", f"group {group.group_id!r} has {len(group.members)} members and nobody is there")

    def end(self) -> None:
        """End the run, so that its journal is complete."""
        self.world.rig.close()
