"""Generate exchanges of consumer groups (KIP-848) with members of both protocols, and with requests that describe the groups.

Member ids are the clients' own (ConsumerGroupHeartbeat v1). A member mostly goes on where it is, says what it was told to own or
a part of it, and now and then what it should not; answers may be taken for lost. Another target is computed with every heartbeat
(assignment interval 0), as when is a matter of the broker's clock.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from groupmock_clients.probe.language.exchange import Pause, Send
from groupmock_clients.probe.language.syntax import Expr
from groupmock_codec import APIS, api_keys

from ..generated.script import Script, TopicNeed, group, pause, request, told, topic, written
from .group_requests import PARTITIONS, commit_topics, fetch_topics

Fields = dict[str, Any]

NAMES: Final = ("A", "B", "C", "D")
INSTANCE: Final = {"C": "i1", "D": "i2"}
EPOCHS: Final = (-3, -2, -1, 0, 1, 2, 7, 2**31 - 1)
SUBSCRIPTIONS: Final[tuple[list[int], ...]] = ([1], [2], [1, 2], [1, 2, 3], [3, 4], [])
"""Lists of topics to subscribe to, by number, of which the fourth topic does not exist."""
RESOLVES_MS: Final = 400
Actions = tuple[tuple[Callable[..., None], int], ...]
"""The actions of members, each with its weight."""


class ConsumersAuthor:
    """Writes a script, and remembers which clients have joined and by which protocol. `write` takes each step, if it is not simply added to
    the script."""

    def __init__(self, script: Script, rng: Random, write: Callable[[Send | Pause], object] | None = None) -> None:
        self.script, self.rng = script, rng
        self.write = write or script.steps.append
        self.joined: set[str] = set()
        self.classic: set[str] = set()
        self.links = dict.fromkeys(NAMES, 1)

    def send(self, name: str, key: int, version: int, fields: Fields) -> None:
        """Send a request on a connection without a pending answer, because a classic member's JoinGroup or SyncGroup may wait for long."""
        links = self.links[name]
        named = {"group_id": group(1), **fields} if hasattr(APIS[key].request.message, "group_id") else fields
        self.write(request(name, key, version, named, name if links == 1 else f"{name}/{links}"))
        self.links[name] += key in (api_keys.JOIN_GROUP, api_keys.SYNC_GROUP)

    # -- the consumer protocol

    def join(self, name: str) -> None:
        """Join with epoch 0, subscribed by names or sometimes by a regular expression."""
        rng = self.rng
        fields: Fields = {
            "member_id": name, "member_epoch": 0,
            "rebalance_timeout_ms": rng.choice((300_000, 300_000, 0, -1)) if rng.random() < 0.1 else 300_000,
            "subscribed_topic_names": self._names(), "topic_partitions": [], "instance_id": INSTANCE.get(name),
        }  # fmt: skip
        if rng.random() < 0.15:
            fields |= {"subscribed_topic_regex": topic(rng.randint(1, 3)), "subscribed_topic_names": rng.choice((None, []))}
        if rng.random() < 0.1:
            fields["server_assignor"] = rng.choice(("range", "uniform", "nope"))
        self.send(name, 68, 1, fields)
        if fields.get("subscribed_topic_regex"):
            self.write(pause(RESOLVES_MS))
        self.joined.add(name)
        self.classic.discard(name)

    def beat(self, name: str) -> None:
        """Send a heartbeat, mostly at the member's epoch, with or without its owned partitions."""
        rng = self.rng
        owned: Any = rng.choice((None, None, told(name, "assigned"), told(name, "assigned"), []))
        epoch: Any = told(name, "epoch") if rng.random() < 0.93 else rng.choice((told(name, "epoch", -1), *EPOCHS))
        fields: Fields = {"member_id": name, "member_epoch": epoch, "instance_id": INSTANCE.get(name), "topic_partitions": owned}
        if rng.random() < 0.15:
            fields |= {"rebalance_timeout_ms": 300_000, "subscribed_topic_names": self._names()}
        if rng.random() < 0.03:
            fields["instance_id"] = rng.choice((None, "i1", "i9", ""))
        self.send(name, 68, 1, fields)

    def _names(self) -> list[Expr]:
        return [topic(number) for number in self.rng.choice(SUBSCRIPTIONS)]

    def leave(self, name: str) -> None:
        """Leave for good, or temporarily as a static member."""
        epoch = -2 if name in INSTANCE and self.rng.random() < 0.6 else -1
        self.send(name, 68, 1, {"member_id": name, "member_epoch": epoch, "instance_id": INSTANCE.get(name)})
        self.joined.discard(name)

    def resubscribe(self, name: str) -> None:
        """Send a heartbeat that subscribes to other names."""
        owned: Any = self.rng.choice((None, told(name, "assigned")))
        fields = {"member_id": name, "member_epoch": told(name, "epoch"), "subscribed_topic_names": self._names()}
        self.send(name, 68, 1, {**fields, "instance_id": INSTANCE.get(name), "topic_partitions": owned})

    # -- the classic protocol

    def classic_join(self, name: str) -> None:
        """Send JoinGroup as an eager member with the id of a member of the consumer protocol, or as a static member by its instance id
        alone."""
        rng = self.rng
        metadata = written("sub", *map(topic, rng.choice(((1,), (2,), (1, 2)))))
        instance = INSTANCE.get(name)
        lists = [{"name": each, "metadata": metadata} for each in rng.choice((["range"], ["range"], ["range", "sticky"], ["sticky"]))]
        member_id: Any = name if instance is None else rng.choice(("", told(name, "member_id")))
        fields: Fields = {
            "member_id": member_id, "session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000,
            "protocol_type": "consumer", "protocols": lists,
            "group_instance_id": instance,
        }  # fmt: skip
        self.send(name, 11, rng.choice((5, 9)), fields)
        self.classic.add(name)
        self.joined.add(name)

    def classic_sync(self, name: str) -> None:
        self.send(name, 14, 4, {**self._at_generation(name), "assignments": []})

    def classic_beat(self, name: str) -> None:
        self.send(name, 12, 4, self._at_generation(name))

    def _at_generation(self, name: str) -> Fields:
        member = {field: told(name, known) for field, known in (("generation_id", "generation"), ("member_id", "member_id"))}
        return {**member, "group_instance_id": INSTANCE.get(name)}

    def classic_leave(self, name: str) -> None:
        """Send LeaveGroup with any name, for the member itself or another one."""
        who = self.rng.choice((name, self.rng.choice(NAMES)))
        instance = INSTANCE.get(who) if self.rng.random() < 0.8 else None
        entry: Fields = {"member_id": told(who, "member_id"), "group_instance_id": instance}
        self.send(name, 13, 5, {"members": [entry]})

    # -- offsets and administration

    def commit(self, name: str) -> None:
        """Commit offsets, mostly at the member's own epoch."""
        rng, own = self.rng, "generation" if name in self.classic else "epoch"
        epoch: Any = told(name, own) if rng.random() < 0.75 else rng.choice((told(name, own, -1), -1, 0, 9))
        member_id: Any = told(name, "member_id") if rng.random() < 0.9 else rng.choice(("", "ghost"))
        fields = {"generation_id_or_member_epoch": epoch, "member_id": member_id, "topics": commit_topics(rng)}
        self.send(name, 8, rng.choice((7, 9, 9, 9)), fields)

    def fetch(self, name: str) -> None:
        """Fetch offsets as a member, or without a member id."""
        rng = self.rng
        member = {"member_id": told(name, "member_id"), "member_epoch": told(name, "epoch")}
        who: Fields = rng.choice(({}, member, {"member_epoch": 2}))
        groups = [{"group_id": group(1), "topics": fetch_topics(rng, False), **who}]
        self.send(name, 9, 9, {"groups": groups})

    def look(self, name: str) -> None:
        """Describe or list groups by one of three APIs."""
        rng = self.rng
        key = rng.choice((69, 69, 69, 15, 16))
        if key == api_keys.CONSUMER_GROUP_DESCRIBE:
            self.send(name, 69, rng.choice((0, 1)), {"group_ids": [group(number) for number in rng.choice(([1], [1], [1], [9]))]})
        elif key == api_keys.DESCRIBE_GROUPS:
            self.send(name, 15, rng.choice((5, 6)), {"groups": [group(1)]})
        else:
            self.send(name, 16, 5, {"states_filter": [], "types_filter": rng.choice(([], ["consumer"], ["classic"]))})

    def delete(self, name: str) -> None:
        self.send(name, 42, 2, {"groups_names": [group(1)]})

    # -- who does what

    def step(self) -> None:
        """Let one member act, mostly by a heartbeat or another regular request."""
        rng, name = self.rng, self.rng.choice(NAMES)
        if name not in self.joined:
            (self.classic_join if rng.random() < 0.2 else self.join)(name)
            return
        if name in self.classic:
            actions, weights = zip(*self.of_classics, strict=True)
        else:
            actions, weights = zip(*self.of_consumers, strict=True)
        rng.choices(actions, weights)[0](self, name)

    of_consumers: Actions = (
        (beat, 50), (resubscribe, 8), (leave, 6), (join, 4), (commit, 8), (fetch, 4), (look, 10), (classic_join, 2), (delete, 1),
        (classic_leave, 2)
    )  # fmt: skip
    of_classics: Actions = (
        (classic_beat, 26), (classic_sync, 22), (classic_join, 22), (classic_leave, 6), (commit, 6), (look, 8), (join, 4), (fetch, 2)
    )  # fmt: skip


def generate(seed: int, release: str) -> Script:
    rng = Random(f"consumers {release} {seed}")
    script = Script("consumers", seed, release, "consumers", [], 1, [TopicNeed(count) for count in PARTITIONS])
    author = ConsumersAuthor(script, rng)
    for _ in range(rng.randint(10, 30)):
        author.step()
    author.send("A", 69, 1, {"group_ids": [group(1)]})
    return script
