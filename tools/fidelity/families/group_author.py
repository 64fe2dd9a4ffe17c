"""Write an exchange of the groups family step by step, and play each step on the core to see the state of the groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from groupmock.core.groups.classic.states import COMPLETING, EMPTY, PREPARING
from groupmock.core.groups.classic.type import ClassicGroup
from groupmock_clients.probe.language.exchange import Act, Pause, Send
from groupmock_codec import api_keys, error_codes

from ..generated.script import Script, act, group, link_of, ms_of, pause, request, told, written
from ..generated.transcript import PARKED, imagined
from ..guided.core_player import STEP_MS, CorePlayer
from .group_requests import LISTS, Fields, commit_topics, delete_topics, fetch_topics, spoil

SPOILT: Final = 0.09
"""The share of requests that are wrong on purpose in scripts of the groups family."""
LONG: Final = 300_000
HIGHEST_PAUSE_MS: Final = 2500


@dataclass
class Client:
    """A simulated consumer process in a generated script. `fresh`: it has no member id, or has forgotten it."""

    name: str
    group: int
    instance: str | None
    client_id: str | None
    session_ms: int
    rebalance_ms: int
    list_at: int = 0
    fresh: bool = True
    links: int = 1

    @classmethod
    def make(cls, rng: Random, name: str, group: int, short: bool, instance: str | None = None) -> Client:
        session = rng.choice((900, 1300, 2000)) if short and rng.random() < 0.7 else LONG
        rebalance = rng.choice((700, 1100)) if short and rng.random() < 0.7 else LONG
        client_id = rng.choice(("c", "c", "c", "consumer-1", "", None))
        return cls(name, group, instance, client_id, session, rebalance, rng.choice((0, 0, 0, 1, 1, 2)))

    @property
    def link(self) -> str:
        """Return the name of the connection that the client uses now."""
        return self.name if self.links == 1 else f"{self.name}/{self.links}"


_Action = Callable[["GroupAuthor", Client], None]


class GroupAuthor:
    """Writes a script of the groups family while the core plays it."""

    def __init__(self, script: Script, rng: Random, clients: list[Client]) -> None:
        self.script, self.rng, self.clients = script, rng, clients
        self.player = CorePlayer(script, imagined(script))
        self.versions = self.player.known.versions
        self.now = 0.0
        self.static = any(client.instance is not None for client in clients)

    # -- looking

    def group(self, number: int) -> ClassicGroup | None:
        """Return the core's classic group of that number, or None."""
        group = self.player.core.cluster.groups.find(self.player.facts.groups[number - 1])
        return group if isinstance(group, ClassicGroup) else None

    def member_id(self, client: Client) -> str:
        return self.player.memory.of(client.name).member_id

    def waits(self, client: Client) -> bool:
        """Tell whether the client's current connection has an unanswered request."""
        events, link = self.player.events, client.link
        return any(
            isinstance(step, Send) and link_of(step) == link and event.status == PARKED
            for step, event in zip(self.script.steps, events, strict=True)
        )

    def version(self, key: int, lowest: int = 0) -> int:
        """Return a random version of an API, at least `lowest` if the release has it."""
        low, high = self.versions[key]
        return self.rng.randint(min(max(low, lowest), high), high)

    # -- writing

    def send(self, client: Client, key: int, version: int, fields: Fields) -> None:
        """Send one request, which is sometimes spoiled."""
        if self.rng.random() < SPOILT:
            fields = spoil(self.rng, key, fields, self.static)
        self._write(request(client.name, key, version, fields, client.link, client.client_id))
        event = self.player.events[-1]
        if key == api_keys.JOIN_GROUP and event.answer is not None:
            self._joined(client, event.answer["error_code"])

    def _joined(self, client: Client, error: int) -> None:
        if error in (error_codes.NONE, error_codes.MEMBER_ID_REQUIRED):
            client.fresh = False
        elif error in (error_codes.UNKNOWN_MEMBER_ID, error_codes.GROUP_MAX_SIZE_REACHED) and self.rng.random() < 0.8:
            client.fresh = True

    def _write(self, step: Send | Act | Pause) -> None:
        self.now += ms_of(step) if isinstance(step, Pause) else STEP_MS
        self.script.steps.append(step)
        self.player.play(step, self.now)
        for client in self.clients:
            group = self.group(client.group)
            if client.fresh and group is not None and self.member_id(client) in group.members:
                client.fresh = self.rng.random() < 0.02

    # -- moving on

    def progress(self) -> bool:
        """Send the next request that brings the group towards Stable, and return False if there is none to send."""
        number = self.rng.choice(self.clients).group
        group = self.group(number)
        mine = [client for client in self.clients if client.group == number]
        if group is None or group.state is EMPTY:
            return self._join_one(mine)
        if group.state is PREPARING:
            return self._join_one(mine) if self._missing(group, mine) or self.rng.random() < 0.2 else self.wait()
        if group.state is COMPLETING:
            return self._sync_one(group, mine)
        return self._join_one([client for client in mine if client.fresh]) if self.rng.random() < 0.2 else False

    def _missing(self, group: ClassicGroup, mine: list[Client]) -> bool:
        held = {self.member_id(client) for client in mine if not self.waits(client)}
        silent = {member.member_id for member in group.members.values() if member.join is None}
        return bool(held & (silent | group.pending_joins))

    def _join_one(self, mine: list[Client]) -> bool:
        free = [client for client in mine if not self.waits(client)]
        if not free:
            return False
        group = self.group(free[0].group)
        owing = [client for client in free if group is not None and self._owes_join(group, client)]
        self.join(self.rng.choice(owing or free))
        return True

    def _owes_join(self, group: ClassicGroup, client: Client) -> bool:
        member = group.members.get(self.member_id(client))
        return (member is not None and member.join is None) or self.member_id(client) in group.pending_joins

    def _sync_one(self, group: ClassicGroup, mine: list[Client]) -> bool:
        owing = [client for client in mine if self.member_id(client) in group.pending_syncs and not self.waits(client)]
        if not owing:
            return False
        self.sync(self.rng.choice(owing))
        return True

    def wait(self) -> bool:
        """Pause until the core's next deadline has passed, and return False if the deadline is too far away."""
        deadline = self.player.deadline_ms()
        if deadline is None or deadline - self.now > HIGHEST_PAUSE_MS:
            return False
        self._write(pause(max(int(deadline - self.now) + self.rng.choice((20, 100)), 1)))
        return True

    # -- what clients do

    def disturb(self) -> None:
        """Let a random client do something that disturbs the group."""
        action = self.rng.choices(self._ACTIONS, self._WEIGHTS)[0]
        free = [client for client in self.clients if not self.waits(client)]
        client = self.rng.choice(self._fit(action, free) or free or self.clients)
        if not free and self.rng.random() < 0.7:
            client.links += 1  # The client needs a second connection, because the first one waits for an answer.
        elif not free:
            self.wait()
            return
        action(self, client)

    def _fit(self, action: _Action, free: list[Client]) -> list[Client]:
        """Return the free clients that are members if the action needs a member, and none in other cases."""
        if action not in self._OF_MEMBERS or self.rng.random() < 0.12:
            return []
        return [one for one in free if (group := self.group(one.group)) is not None and self.member_id(one) in group.members]

    def administer(self) -> None:
        """Describe or delete something as an administrator."""
        free = [client for client in self.clients if not self.waits(client)] or self.clients
        self.rng.choice(self._OFFICE)(self, self.rng.choice(free))

    def _id(self, client: Client) -> Any:
        return "" if client.fresh else told(client.name, "member_id")

    def join(self, client: Client) -> None:
        """Send JoinGroup as a client library does."""
        static = client.instance is not None
        version = self.version(11, 5 if static else 0)
        fields: Fields = {
            "group_id": group(client.group),
            "session_timeout_ms": client.session_ms,
            "rebalance_timeout_ms": client.rebalance_ms,
            "member_id": self._id(client),
            "group_instance_id": client.instance,
            "protocol_type": "consumer",
            "protocols": LISTS[client.list_at],
        }
        if self.rng.random() < 0.1:
            fields["reason"] = "because"
        self.send(client, 11, version, fields)

    def sync(self, client: Client) -> None:
        """Send SyncGroup, with assignments if JoinGroup made the client the leader."""
        version = self.version(14, 3 if client.instance is not None else 0)
        named = [one.name for one in self.clients if one.group == client.group and self.rng.random() < 0.9]
        fields = {
            **self._membership(client, "generation_id"),
            "protocol_type": told(client.name, "joined_type") if self.rng.random() < 0.1 else "consumer",
            "protocol_name": told(client.name, "protocol_name"),
            "assignments": written("led", client.name, *named),
        }
        if self.player.memory.of(client.name).protocol_name is None:
            fields["protocol_name"] = "range"
        self.send(client, 14, version, fields)

    def _membership(self, client: Client, generation: str) -> Fields:
        return {
            "group_id": group(client.group),
            generation: told(client.name, "generation", 0 if self.rng.random() < 0.97 else self.rng.choice((-1, 1))),
            "member_id": told(client.name, "member_id"),
            "group_instance_id": client.instance,
        }

    def heartbeat(self, client: Client) -> None:
        self.send(client, 12, self.version(12, 3 if client.instance is not None else 0), self._membership(client, "generation_id"))

    def leave(self, client: Client) -> None:
        """Send LeaveGroup for the client, and sometimes for another client."""
        rng, version = self.rng, self.version(13)
        entries = [self._entry(client)]
        if rng.random() < 0.3:
            entries.append(self._entry(rng.choice(self.clients)))
        if rng.random() < 0.05:
            entries.append({"member_id": "ghost"})
        rng.shuffle(entries)
        self.send(client, 13, version, {"group_id": group(client.group), "member_id": told(client.name, "member_id"), "members": entries})
        client.fresh = client.fresh or rng.random() < 0.7

    def _entry(self, client: Client) -> Fields:
        by_instance = client.instance is not None and self.rng.random() < 0.5
        entry: Fields = {"member_id": "" if by_instance else told(client.name, "member_id")}
        if client.instance is not None and (by_instance or self.rng.random() < 0.7):
            entry["group_instance_id"] = client.instance
        if self.rng.random() < 0.2:
            entry["reason"] = self.rng.choice(("closed", "", None))
        return entry

    def commit(self, client: Client) -> None:
        version = self.version(8, 7 if client.instance is not None else 0)
        fields = {**self._membership(client, "generation_id_or_member_epoch"), "topics": commit_topics(self.rng)}
        if self.rng.random() < 0.1:
            fields["retention_time_ms"] = self.rng.choice((-1, 0, 60_000))
        self.send(client, 8, version, fields)

    def commit_alone(self, client: Client) -> None:
        """Send the OffsetCommit of a consumer without a group."""
        version = self.version(8)
        fields: Fields = {
            "group_id": group(client.group),
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "topics": commit_topics(self.rng),
        }
        self.send(client, 8, version, fields)

    def fetch(self, client: Client) -> None:
        """Send OffsetFetch for one group, or from v8 on for several."""
        rng, version = self.rng, self.version(9)
        fields: Fields = {"group_id": group(client.group), "topics": fetch_topics(rng, False), "require_stable": rng.random() < 0.2}
        if version < 2 and fields["topics"] is None:
            fields["topics"] = []
        if version >= 8:
            numbers = rng.choice(([client.group], [client.group], [1, 2], [9, client.group], []))
            groups: list[Fields] = [{"group_id": group(number), "topics": fetch_topics(rng, True)} for number in numbers]
            if version >= 9 and rng.random() < 0.3:
                groups = [{**one, "member_id": self._id(client), "member_epoch": rng.choice((-1, 0, 1))} for one in groups]
            fields = {"groups": groups, "require_stable": fields["require_stable"]}
        self.send(client, 9, version, fields)

    def describe(self, client: Client) -> None:
        rng = self.rng
        groups = [group(number) for number in rng.choice(([client.group], [client.group], [1, 2], [2, 9, 1]))]
        self.send(client, 15, self.version(15), {"groups": groups, "include_authorized_operations": rng.random() < 0.3})

    def list_groups(self, client: Client) -> None:
        states = self.rng.choice(([], [], ["Stable"], ["Empty", "Dead"], ["PreparingRebalance", "stable"], ["CompletingRebalance"]))
        self.send(client, 16, self.version(16), {"states_filter": states, "types_filter": self.rng.choice(([], [], ["Classic"]))})

    def find(self, client: Client) -> None:
        key = group(client.group)
        self.send(client, 10, self.version(10), {"key": key, "key_type": 0, "coordinator_keys": self.rng.choice(([key], [key, "x"], []))})

    def delete_offsets(self, client: Client) -> None:
        self.send(client, 47, self.version(47), {"group_id": group(client.group), "topics": delete_topics(self.rng)})

    def delete_group(self, client: Client) -> None:
        names = [group(number) for number in self.rng.choice(([client.group], [client.group], [1, 2], [9, 1]))]
        self.send(client, 42, self.version(42), {"groups_names": names})

    # -- what happens to clients

    def change(self, client: Client) -> None:
        """Change the client's topics or protocols and rejoin."""
        client.list_at = self.rng.randrange(len(LISTS))
        if self.rng.random() < 0.3:
            client.session_ms, client.rebalance_ms = self.rng.choice(((LONG, LONG), (1100, LONG), (LONG, 900)))
        self.join(client)

    def crash(self, client: Client) -> None:
        """End the process, so that the next one starts without a member id."""
        if self.rng.random() < 0.7:
            self._write(act(client.link, self.rng.choice(("drops", "resets"))))
        client.fresh, client.links = True, client.links + 1

    def drop_mid_wait(self, client: Client) -> None:
        """Close a connection while its request waits, and let the client continue on another one."""
        waiting = [one for one in self.clients if self.waits(one)]
        if waiting:
            one = self.rng.choice(waiting)
            self._write(act(one.link, self.rng.choice(("drops", "resets"))))
            one.links += 1
            one.fresh = one.fresh or self.rng.random() < 0.4
        else:
            self.join(client)

    def join_again_elsewhere(self, client: Client) -> None:
        """Send JoinGroup or SyncGroup on a second connection while the first one waits."""
        waiting = [one for one in self.clients if self.waits(one)]
        one = self.rng.choice(waiting or [client])
        one.links += 1
        (self.join if self.rng.random() < 0.7 else self.sync)(one)

    def look_elsewhere(self, client: Client) -> None:
        """Send a heartbeat, commit or leave on a second connection while the first one waits."""
        waiting = [one for one in self.clients if self.waits(one)]
        one = self.rng.choice(waiting or [client])
        links, one.links = one.links, one.links + 1
        self.rng.choice((self.heartbeat, self.commit, self.leave, self.describe))(one)
        if self.rng.random() < 0.6 and not self.waits(one):
            one.links = links

    def pass_time(self, client: Client) -> None:
        """Pause, mostly until the next deadline."""
        if self.rng.random() < 0.7 and self.wait():
            return
        self._write(pause(self.rng.choice((20, 120, 300, 700))))

    _WEIGHTED: Final[tuple[tuple[_Action, int], ...]] = (
        (join, 12), (sync, 9), (heartbeat, 7), (leave, 6), (commit, 8), (commit_alone, 2), (fetch, 5), (describe, 4), (list_groups, 2),
        (find, 2), (delete_offsets, 3), (delete_group, 2), (change, 5), (crash, 4), (drop_mid_wait, 2), (join_again_elsewhere, 2),
        (look_elsewhere, 4), (pass_time, 7),
    )  # fmt: skip
    _OF_MEMBERS: Final[tuple[_Action, ...]] = (sync, heartbeat, leave, commit)
    _ACTIONS: Final = tuple(action for action, _ in _WEIGHTED)
    _WEIGHTS: Final = tuple(weight for _, weight in _WEIGHTED)
    _OFFICE: Final[tuple[_Action, ...]] = (
        commit_alone, commit_alone, commit_alone, fetch, fetch, describe, list_groups, find, delete_offsets, delete_offsets, delete_group,
        join, heartbeat, leave, pass_time,
    )  # fmt: skip
