"""Resolve the names in a script for one side of a play, from the broker's facts and the answers to each client."""

from __future__ import annotations

from string import ascii_uppercase
from typing import NamedTuple

from groupmock_clients.probe.language.exchange import Send
from groupmock_clients.probe.language.messages import build_request
from groupmock_clients.probe.language.scope import MemberMemory, Scope
from groupmock_codec.declare import Message

from .script import CLIENT_ID, Script, client_of, key_of, version_of
from .transcript import Facts

MOST_NAMES = 10
"""The numbers of groups and topics in scripts are below this."""


class Request(NamedTuple):
    """The request of a step, in which references are replaced by values."""

    key: int
    version: int
    client_id: str | None
    message: Message


def missing_topics(facts: Facts) -> list[str]:
    """Return the names by number of topics that do not exist at the begin of a play."""
    return [f"{facts.stem}-no-topic-{number}" for number in range(1, MOST_NAMES)]


class Memory:
    """The names and answers that one side of a play (the broker or the core) knows."""

    def __init__(self, script: Script, facts: Facts) -> None:
        self.scope = scope = Scope()
        self._ids = {fact.name: fact.topic_id for fact in facts.topics}
        scope.values |= {f"id of {name}": topic_id for name, topic_id in self._ids.items()}
        scope.values |= {f"t{number}": name for number, name in enumerate(missing_topics(facts), 1)}
        scope.values |= {f"t{number}": fact.name for number, fact in enumerate(facts.topics, 1)}
        scope.values |= {f"group{number}": f"{facts.stem}-no-group-{number}" for number in range(1, MOST_NAMES)}
        scope.values |= {f"group{number}": name for number, name in enumerate(facts.groups, 1)}
        scope.values |= {"group": scope.values["group1"], "stem": facts.stem}
        scope.members |= {name: MemberMemory(CLIENT_ID) for name in (*ascii_uppercase, *script.clients())}

    def of(self, client: str) -> MemberMemory:
        """Return what a client of the script remembers of its answers."""
        return self.scope.members[client]

    def request(self, step: Send) -> Request:
        """Return the request of a step with its references resolved. Raises ExchangeError for an unknown reference."""
        if step.bound is not None:
            self.scope.answers.setdefault(step.bound, None)
        values = {name: self.scope.evaluate(value, "generated") for name, value in step.fields}
        client_id = values.pop("client_id", CLIENT_ID)
        assert client_id is None or isinstance(client_id, str)
        version = version_of(step)
        return Request(key_of(step), version, client_id, build_request(step.api, version, values, {}, self._ids.get, "generated"))

    def learn(self, index: int, step: Send, version: int, answer: Message) -> None:
        """Remember the answer to a step, to which later steps may refer."""
        client = client_of(step)
        if client in self.scope.members:
            self.of(client).learn(index, version, answer)
        if step.bound is not None:
            self.scope.answers[step.bound] = answer
