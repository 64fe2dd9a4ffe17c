"""Random members of one consumer group keep the rules of its protocol, with lost answers, silences and restarts, against the pure core. The
judge knows the answers of each member and checks that:

- no partition has two owners: a member that must give one up owns it until its next heartbeat says otherwise;
- a member's epoch never falls, and never is ahead of the group's;
- a member never receives a partition of a topic that it does not subscribe to;
- when all members heartbeat for a while, the group is Stable and every subscribed partition has an owner.
"""

from __future__ import annotations

from typing import Any, Final

from consumer_world import GO_AWAY, LEAVE, ConsumerWorld
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from groupmock_codec.messages.k68_consumer_group_heartbeat import TopicPartitions

NAMES: Final = ("A", "B", "C", "D")
SUBSCRIPTIONS: Final = (("t",), ("u",), ("t", "u"), ("t", "nowhere"), ("[tu]",), ("u|later",))
"""Subscriptions with characters other than letters are regular expressions."""
FENCED: Final = frozenset((25, 82, 110))
STATIC: Final = ("A", "B")
Spot = tuple[bytes, int]


class Client:
    def __init__(self, name: str, instance: str | None, subscription: tuple[str, ...]) -> None:
        self.name, self.instance, self.subscription = name, instance, subscription
        self.epoch = 0
        self.owned: frozenset[Spot] = frozenset()
        self.told: frozenset[Spot] = frozenset()
        self.says_all = True

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of a heartbeat that repeats the whole state of the member."""
        (first, *_) = self.subscription
        return {
            "rebalance_timeout_ms": 10_000,
            "subscribed_topic_names": list(self.subscription) if first.isalpha() else [],
            "subscribed_topic_regex": "" if first.isalpha() else first,
        }


class ConsumerMachine(RuleBasedStateMachine):
    """Tests a consumer group step by step: each step is one heartbeat or an event that members do not notice."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ConsumerWorld(group_consumer_session_timeout_ms=20_000)
        self.clients: dict[str, Client] = {}
        self.sizes = 6

    # -- The actions of members

    @rule(name=st.sampled_from(NAMES), subscription=st.sampled_from(SUBSCRIPTIONS))
    def comes(self, name: str, subscription: tuple[str, ...]) -> None:
        if name not in self.clients:
            client = Client(name, f"i-{name}" if name in STATIC else None, subscription)
            self._beat(client, lost=False)

    @rule(name=st.sampled_from(NAMES), says=st.booleans(), lost=st.sampled_from((False, False, False, True)))
    def is_heard(self, name: str, says: bool, lost: bool) -> None:
        client = self.clients.get(name)
        if client is not None:
            client.says_all = client.says_all or says
            self._beat(client, lost)

    @rule(name=st.sampled_from(NAMES), subscription=st.sampled_from(SUBSCRIPTIONS))
    def subscribes(self, name: str, subscription: tuple[str, ...]) -> None:
        client = self.clients.get(name)
        if client is not None:
            client.subscription, client.says_all = subscription, True
            self._beat(client, lost=False)

    @rule(name=st.sampled_from(NAMES), epoch=st.sampled_from((LEAVE, GO_AWAY)))
    def goes(self, name: str, epoch: int) -> None:
        client = self.clients.get(name)
        if client is not None and (epoch == LEAVE or client.instance is not None):
            self.world.raw(member_id=name, member_epoch=epoch, instance_id=client.instance)
            del self.clients[name]

    @rule(name=st.sampled_from(NAMES))
    def begins_anew(self, name: str) -> None:
        client = self.clients.get(name)
        if client is not None and client.instance is None:
            self._drop(client)
            self._beat(client, lost=False)

    # -- The events around them

    @rule(seconds=st.sampled_from((1, 4, 9)))
    def time_passes(self, seconds: int) -> None:
        self.world.sleep(1000 * seconds)

    @rule()
    def a_topic_grows(self) -> None:
        if self.sizes < 12:
            self.sizes += 1
            self.world.topics.grow(self.world.turn(), "t", self.sizes)

    @rule()
    def a_topic_comes_or_goes(self) -> None:
        if "later" in self.world.topics:
            self.world.topics.delete(self.world.turn(), "later")
        else:
            self.world.topic("later", 2)

    # -- One heartbeat

    def _beat(self, client: Client, lost: bool) -> None:
        joins = client.epoch == 0
        client.owned &= client.told  # The member has given up its revoked partitions by now, as its heartbeat confirms.
        fields: dict[str, Any] = {"member_id": client.name, "member_epoch": client.epoch, "instance_id": client.instance}
        if client.says_all:
            fields |= client.fields | {"topic_partitions": _listed(client.owned)}
        answer = self.world.raw(**fields)
        if answer.error_code:
            assert answer.error_code in FENCED | ({111} if joins else frozenset()), (answer.error_code, answer.error_message)
            self.clients.pop(client.name, None)
            return
        self.clients[client.name] = client
        client.says_all = lost or joins
        if lost:
            return
        assert answer.member_epoch >= client.epoch, "an epoch fell"
        client.epoch = answer.member_epoch
        if answer.assignment is not None:
            client.told = frozenset((each.topic_id, index) for each in answer.assignment.topic_partitions for index in each.partitions)
            client.owned |= client.told
            client.says_all = True

    def _drop(self, client: Client) -> None:
        client.epoch, client.owned, client.told, client.says_all = 0, frozenset(), frozenset(), True

    # -- The invariants

    @invariant()
    def nothing_is_in_two_hands(self) -> None:
        group = self.world.group
        if group is None:
            return
        group.invariants()
        seen: dict[Spot, str] = {}
        for client in self.clients.values():
            if client.name in group.members and group.members[client.name].epoch >= 0:
                for spot in client.owned:
                    assert seen.setdefault(spot, client.name) == client.name, f"{spot} is in two hands"

    @invariant()
    def nobody_has_what_it_does_not_subscribe_to(self) -> None:
        group = self.world.group
        for member in group.members.values() if group is not None else ():
            if group is not None and group.at_rest(member) and group.generation == group.assignment_epoch and not group.stale:
                names = {group.home.topics.name_of(topic) for topic, _ in member.assigned}
                assert names <= group.subscription_of(member) | {None}

    def teardown(self) -> None:
        for _ in range(40):
            self.world.sleep(1500)
            for client in list(self.clients.values()):
                client.says_all = True
                self._beat(client, lost=False)
        group = self.world.group
        silent = group is None or any(each.epoch < 0 or each.member_id not in self.clients for each in group.members.values())
        if group is None or silent or not self.clients:
            return
        assert group.state == "Stable", group.state
        wanted = {(topic, index) for name, (topic, count) in group.topics.items() for index in range(count) if group.subscribed_to(name)}
        assert group.holders.keys() == wanted
        assert {spot for client in self.clients.values() for spot in client.owned & client.told} == wanted


def _listed(owned: frozenset[Spot]) -> list[TopicPartitions]:
    topics: dict[bytes, list[int]] = {}
    for topic, index in sorted(owned):
        topics.setdefault(topic, []).append(index)
    return [TopicPartitions(topic_id=topic, partitions=indexes) for topic, indexes in topics.items()]
