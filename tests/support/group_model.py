"""Random members act on the pure core, and a judge checks after every step what they see and what must hold. The judge is written from
the specification and looks only at answers, effects and the groups' attributes."""

from __future__ import annotations

from dataclasses import dataclass, field

from core_world import Protocols, World, subscription

from groupmock.core.effects import Effect, Lease, Moved, TimerFired
from groupmock.core.groups.classic.group import Group
from groupmock.core.settings import Quirks
from groupmock.rig import Ask
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.units import NS_PER_MS

GROUPS = ("g", "my-group")
SESSIONS = (6_000, 10_000, 30_000)
REBALANCES = (5_000, 20_000, 60_000)
STEPS_MS = (100, 100, 200, 1, 1_000, 3_000, 5_999, 10_000, 20_000, 61_000)
LISTS: tuple[Protocols, ...] = (
    [("range", subscription("orders"))],
    [("range", subscription("orders")), ("sticky", subscription("orders"))],
    [("sticky", subscription("orders", user_data=b"1")), ("range", subscription("orders"))],
    [("range", subscription("orders", "pay"))],
)
JOIN_VERSIONS = (0, 3, 4, 5, 8, 9)
PARTITIONS = {"g": 3, "my-group": 12}
OLD = Quirks(
    new_member_at_generation_zero=True,
    expiry_keeps_initial_delay=True,
    sync_renews_session=True,
    refused_member_ends_phase=True,
    refused_reservation_ends_phase=True,
    scala_vote_order=True,
    scala_member_order=True,
    leaving_reservation_starts_nothing=True,
    duplicates_answered_once=True,
)


@dataclass
class Client:
    """One consumer process with the member id and generation that it believes to have."""

    group: str
    instance: str | None
    member_id: str = ""
    generation: int = -1
    list_at: int = 0
    session: int = SESSIONS[1]
    rebalance: int = REBALANCES[1]
    waits: Ask | None = None


@dataclass
class GroupModel:
    """A cluster, eight clients in two groups, and the expectations of the judge."""

    old: bool = False
    max_size: int = 2**31 - 1
    world: World = field(init=False)
    clients: list[Client] = field(init=False)
    given: dict[tuple[str, int, int], dict[str, bytes]] = field(
        default_factory=dict
    )  # Maps (group, life, generation) to the leader's assignments.
    lives: dict[str, int] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    offsets: dict[str, dict[int, int]] = field(default_factory=dict)
    # Maps (group, member id) to the time in ms of the member's last request or answer.
    signs: dict[tuple[str, str], int] = field(default_factory=dict)
    # Maps a group to a deadline in ms and the ids of members that have not sent SyncGroup until now.
    owed: dict[str, tuple[int, set[str]]] = field(default_factory=dict)
    leases: list[Lease] = field(default_factory=list)
    open: list[Ask] = field(default_factory=list)  # Requests whose answer the judge has not read yet.
    known: int = 0
    seen: int = 0

    def __post_init__(self) -> None:
        self.world = World.make(group_initial_rebalance_delay_ms=100, group_max_size=self.max_size, quirks=OLD if self.old else Quirks())
        self.clients = [
            Client(GROUPS[at % 2], f"i{at // 4}" if at >= 4 else None, session=SESSIONS[at % 3], rebalance=REBALANCES[at // 3])
            for at in range(8)
        ]

    # -- The actions

    def join(self, who: int, version: int) -> None:
        """Send a JoinGroup with the client's member id, which is empty at first. An id from MEMBER_ID_REQUIRED is used in the next
        JoinGroup."""
        client = self.clients[who]
        at = JOIN_VERSIONS[version % len(JOIN_VERSIONS)]
        if client.instance is not None:
            at = max(at, 5)
        self._waits(
            client,
            self.world.join(
                client.member_id,
                group=client.group,
                version=at,
                instance=client.instance,
                protocols=LISTS[client.list_at],
                session=client.session,
                rebalance=client.rebalance,
            ),
        )

    def sync(self, who: int, listed: int) -> None:
        """Send a SyncGroup, usually for a client that has not sent one in this generation. The leader assigns bytes to some of the
        members."""
        owing = [one for one in self.clients if one.waits is None and one.generation == self.generations.get(one.group, 0) > 0]
        client = owing[who % len(owing)] if owing and listed else self.clients[who]
        group = self._group(client)
        assignments: dict[str, bytes] = {}
        if group is not None and group.leader_id == client.member_id:
            named = sorted(group.members)[: listed % 4]
            assignments = {one: f"{client.group} {group.generation} {one}".encode() for one in named}
        before = str(group.state) if group is not None else ""
        asked = self.world.sync(client.member_id, client.generation, assignments, group=client.group, version=4, instance=client.instance)
        if asked.answer is None or asked.error == 0:
            self.owed.get(client.group, (0, set()))[1].discard(client.member_id)
        after = self._group(client)
        if before == "CompletingRebalance" and after is not None and str(after.state) == "Stable":
            self.given[client.group, self.lives.get(client.group, 0), after.generation] = assignments
        self._waits(client, asked)

    def _known(self, who: int) -> Client:
        """Return a client of the current generation if possible, otherwise any client with a member id."""
        current = [one for one in self.clients if one.member_id and one.generation == self.generations.get(one.group, 0) > 0]
        known = current if current and who % 4 else [one for one in self.clients if one.member_id]
        return known[who % len(known)] if known else self.clients[who]

    def heartbeat(self, who: int, leased: int) -> None:
        """Send a Heartbeat, whose error code must follow from the group's state. Sometimes a lease is renewed instead."""
        client = self._known(who)
        if leased % 2 and self.leases:
            lease = self.leases[who % len(self.leases)]
            if lease.epoch == lease.group.epoch:
                self.world.core.renew(lease).last = self.world.now * NS_PER_MS
                self._sign(lease.group.group_id, lease.member.member_id)
            return
        wanted = self._heartbeat_code(client)
        asked = self.world.beats(client.member_id, client.generation, group=client.group, instance=client.instance)
        assert asked.error == wanted, f"heartbeat of {client} got {asked.error}, not {wanted}"
        assert (asked.lease is not None) == (asked.error == 0)
        if asked.lease is not None:
            self.leases.append(asked.lease)
        if asked.error in (0, 27):
            self._sign(client.group, client.member_id)

    def leave(self, who: int, by_instance: int) -> None:
        """Send a LeaveGroup with the member id or only the instance id."""
        client = self._known(who)
        member_id = "" if by_instance % 2 and client.instance is not None else client.member_id
        self.world.leave((member_id, client.instance), group=client.group)

    def commit(self, who: int, partition: int) -> None:
        """Send an OffsetCommit, whose error code must follow from the group's state."""
        client = self._known(who)
        wanted, offset = self._commit_code(client), len(self.world.asked)
        answer = self.world.commit(
            client.member_id, client.generation, [("orders", partition % 4, offset)], group=client.group, instance=client.instance
        ).answer
        code = answer.topics[0].partitions[0].error_code
        assert code == wanted, f"commit of {client} got {code}, not {wanted}"
        if code == 0:
            self.offsets.setdefault(client.group, {})[partition % 4] = offset
            self._sign(client.group, client.member_id)

    def tick(self, step: int) -> None:
        self.world.sleep(STEPS_MS[step % len(STEPS_MS)])

    def crash(self, who: int, list_at: int) -> None:
        """Restart the process of a client: it loses its member id and changes its settings."""
        client = self.clients[who]
        client.member_id, client.generation = "", -1
        client.list_at = list_at % len(LISTS)
        client.session, client.rebalance = SESSIONS[list_at % 3], REBALANCES[(list_at + who) % 3]

    def change(self, who: int, list_at: int) -> None:
        self.clients[who].list_at = list_at % len(LISTS)

    def delete(self, who: int, _: int) -> None:
        name = self.clients[who].group
        group = self.world.find(name)
        wanted = 69 if group is None else 0 if str(group.state) == "Empty" else 68
        answer = self.world.send(DeleteGroupsRequest(groups_names=[name]), 42).answer
        assert answer.results[0].error_code == wanted

    def move(self, who: int, loading: int) -> None:
        partition = PARTITIONS[self.clients[who].group]
        self.world.command("load_coordinator", partition=partition, node=1, loading_ms=0)
        for name in GROUPS:
            group = self.world.find(name)
            for member_id in group.members if group is not None and group.partition == partition else ():
                self._sign(name, member_id)

    def describe(self, who: int, _: int) -> None:
        name = self.clients[who].group
        group = self.world.find(name)
        told = self.world.send(DescribeGroupsRequest(groups=[name]), 15).answer.groups[0]
        assert told.group_state == ("Dead" if group is None else str(group.state))
        assert {one.member_id for one in told.members} == set(() if group is None else group.members)

    # -- The reactions of clients to answers

    def _waits(self, client: Client, asked: Ask) -> None:
        client.waits = asked
        if client.member_id:
            self._sign(client.group, client.member_id)

    def _group(self, client: Client) -> Group | None:
        return self.world.find(client.group)

    def _sign(self, group: str, member_id: str) -> None:
        self.signs[group, member_id] = self.world.now

    def digest(self) -> None:
        """Let all clients process the answers that have arrived."""
        for client in self.clients:
            asked = client.waits
            if asked is None or asked.parked:
                continue
            client.waits = None
            if asked.answer is None:
                continue
            self._digest_one(client, asked)

    def _digest_one(self, client: Client, asked: Ask) -> None:
        key, code = asked.request.key, asked.error
        if key == 11 and code in (0, 79):
            client.member_id = asked.answer.member_id
            client.generation = asked.answer.generation_id
            self._sign(client.group, client.member_id)
        elif code in (25, 82):
            client.member_id, client.generation = "", -1
        elif code == 22:
            client.generation = -1
        # Code 0 or REBALANCE_IN_PROGRESS (27) ends a SyncGroup's wait (GroupCoordinator.propagateAssignment).
        elif key == 14 and code in (0, 27):
            self._sign(client.group, client.member_id)

    # -- The sentences of the specification

    def _member_code(self, client: Client, group: Group) -> int:
        if client.instance is not None:
            mapped = {one.group_instance_id: one.member_id for one in group.members.values()}.get(client.instance)
            if mapped is None:
                return 25
            if mapped != client.member_id:
                return 82
        return 0 if client.member_id in group.members else 25

    def _heartbeat_code(self, client: Client) -> int:
        group = self._group(client)
        if group is None:
            return 25
        code = self._member_code(client, group)
        if code:
            return code
        if client.generation != group.generation:
            return 22
        return {"PreparingRebalance": 27, "CompletingRebalance": 0, "Stable": 0}[str(group.state)]

    def _commit_code(self, client: Client) -> int:
        group = self._group(client)
        if group is None:
            return 0 if client.generation < 0 else 69
        if client.generation < 0 and str(group.state) == "Empty":
            return 0
        if client.generation < 0 and not client.member_id and client.instance is None:
            return 25
        code = self._member_code(client, group)
        if code:
            return code
        if client.generation != group.generation:
            return 22
        return {"PreparingRebalance": 0, "CompletingRebalance": 27, "Stable": 0}[str(group.state)]

    # -- The invariants

    def check(self) -> None:
        fresh = self.world.effects[self.seen :]
        self.seen = len(self.world.effects)
        self._check_moves(fresh)
        self._check_answers()
        self.digest()
        self._check_tickets()
        self._check_timers()
        self._check_leases()
        self._check_sessions()
        self._check_debts()
        self._check_offsets()

    def _check_moves(self, fresh: list[Effect]) -> None:
        fired = {one.subject[0] for one in fresh if isinstance(one, TimerFired) and one.timer == "join"}
        for one in fresh:
            if not isinstance(one, Moved):
                continue
            before = self.generations.get(one.group, 0)
            if one.before == "":
                self.lives[one.group] = self.lives.get(one.group, 0) + 1
                if one.cause != "coordinator_loaded":
                    assert one.generation == 0, f"a new group begins in generation {one.generation}"
            elif one.before == "PreparingRebalance" and one.after in ("CompletingRebalance", "Empty"):
                assert one.generation == before + 1, f"generation {before} is followed by {one.generation}: {one}"
            else:
                assert one.generation == before, f"generation {before} became {one.generation}: {one}"
            self.generations[one.group] = one.generation
            if one.after == "Dead" and one.cause != "coordinator_left":
                self.offsets.pop(one.group, None)
            if one.after != "Stable":
                self.owed.pop(one.group, None)
            if one.after == "CompletingRebalance":
                self._check_new_generation(one, one.group in fired)

    def _check_new_generation(self, move: Moved, by_timer: bool) -> None:
        group = self.world.find(move.group)
        if group is None or group.generation != move.generation:
            return
        for member_id in group.members:
            self._sign(move.group, member_id)
        if str(group.state) == "CompletingRebalance":
            longest = max(one.rebalance_timeout_ms for one in group.members.values())
            self.owed[move.group] = (self.world.now + longest, set(group.members))
        assert by_timer or not group.pending_joins, f"a reserved id did not hold up the phase: {move}"
        assert by_timer or move.cause != "initial_delay_over"

    def _check_answers(self) -> None:
        for ticket in range(self.known + 1, len(self.world.asked) + 1):
            self.open.append(self.world.asked[ticket])
        self.known = len(self.world.asked)
        for asked in self.open:
            if asked.answer is None:
                continue
            if asked.request.key == 11 and asked.error == 0:
                self._check_joined(asked)
            elif asked.request.key == 14 and asked.error == 0:
                self._check_synced(asked)

    def _check_joined(self, asked: Ask) -> None:
        answer, group = asked.answer, self.world.find(asked.request.message.group_id)  # type: ignore[attr-defined]
        ids = [one.member_id for one in answer.members]
        assert len(ids) == len(set(ids)), "the leader's list names a member twice"
        if ids:
            assert answer.member_id == answer.leader, "a follower got the list"
            assert answer.leader in ids, "the leader is not in its own list"
        elif asked.request.version >= 9:
            assert answer.member_id != answer.leader, "the leader got no list"
        if group is not None and group.generation == answer.generation_id and answer.member_id in group.members:
            assert answer.protocol_name == group.protocol_name

    def _check_synced(self, asked: Ask) -> None:
        message = asked.request.message
        name, member_id = message.group_id, message.member_id  # type: ignore[attr-defined]
        group = self.world.find(name)
        given = self.given.get((name, self.lives.get(name, 0), message.generation_id))  # type: ignore[attr-defined]
        member = None if group is None else group.members.get(member_id)
        if given is not None and member is not None and member.group_instance_id is None:
            assert asked.answer.assignment == given.get(member_id, b""), f"{member_id} got another assignment than the leader gave"

    def _check_tickets(self) -> None:
        self.open = [asked for asked in self.open if asked.parked]
        waiting = {asked.ticket for asked in self.open}
        parked = {
            one.ticket
            for group in self.world.groups()
            for member in group.members.values()
            for one in (member.join, member.sync)
            if one is not None
        }
        assert waiting == parked, f"lost: {sorted(waiting - parked)}, answered but parked: {sorted(parked - waiting)}"

    def _check_timers(self) -> None:
        timers, groups = self.world.environment.timers, self.world.groups()
        wanted: set[tuple[str, ...]] = set()
        for group in groups:
            wanted |= {("session", group.group_id, one) for one in group.pending_joins}
            for member in group.members.values():
                if member.join is None and member.sync is None:
                    wanted.add(("session", group.group_id, member.member_id))
            if str(group.state) == "PreparingRebalance":
                wanted.add(("join", group.group_id))
            if group.pending_syncs:
                wanted.add(("sync", group.group_id))
        missing = [key for key in wanted if key not in timers]
        assert not missing, f"not armed: {missing}"
        people = sum(len(group.members) + len(group.pending_joins) for group in groups)
        assert len(timers) <= people + 2 * len(groups) + 1, f"{len(timers)} timers for {people} members and ids"

    def _check_leases(self) -> None:
        self.leases = [one for one in self.leases[-16:] if one.epoch == one.group.epoch]
        for lease in self.leases:
            group, member = lease.group, lease.member
            assert self.world.find(group.group_id) is group, "a lease outlived its group"
            assert group.members.get(member.member_id) is member, "a lease outlived its member"
            assert str(group.state) in ("CompletingRebalance", "Stable"), "a lease outlived its generation"
            assert member.session.live, "a lease moves a dead timer"

    def _check_sessions(self) -> None:
        for group in self.world.groups():
            for member in group.members.values():
                if member.join is not None or member.sync is not None:
                    continue
                idle = self.world.now - self.signs.get((group.group_id, member.member_id), self.world.now)
                assert idle <= SESSIONS[-1], f"{member.member_id} lives although idle for {idle} ms"

    def _check_debts(self) -> None:
        for name, (deadline, ids) in self.owed.items():
            group = self.world.find(name)
            late = ids & group.members.keys() if group is not None and self.world.now > deadline else set()
            assert not late, f"{late} owe a SyncGroup since {deadline} ms and are members still"

    def _check_offsets(self) -> None:
        for name in GROUPS:
            group = self.world.find(name)
            stored = {} if group is None else {at[1]: one.offset for at, one in group.offsets.items()}
            assert stored == self.offsets.get(name, {}), f"offsets of {name}"

    def finish(self) -> None:
        """Check the end state without further requests: no request is parked, no members remain, and few timers run."""
        self.world.sleep(500_000)
        self.check()
        for group in self.world.groups():
            assert str(group.state) == "Empty", f"{group} never came to rest"
        assert not [one for one in self.world.asked.values() if one.parked], "somebody waits for ever"
        assert len(self.world.environment.timers) <= 1


ACTIONS = ("join", "sync", "heartbeat", "leave", "commit", "tick", "crash", "change", "delete", "move", "describe")
LIKELY = (
    *("join",) * 12,
    *("sync",) * 10,
    *("tick",) * 6,
    *("heartbeat",) * 4,
    *("commit",) * 3,
    *("change",) * 2,
    *("leave", "crash", "delete", "move", "describe"),
)
