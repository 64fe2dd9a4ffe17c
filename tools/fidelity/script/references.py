"""What scripted clients remember of their answers, and what a script's references mean in one play."""

from __future__ import annotations

from typing import Final

from groupmock_codec import api_keys
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, NONE
from groupmock_codec.records import TRANSACTIONAL_BIT, NewRecord, encode_batch

from .message_json import binary, unbinary
from .script import Json, Send
from .transcript import Facts

FRESH: Final[dict[str, Json]] = {
    "member_id": "", "generation": -1, "leader": "", "protocol_type": None, "protocol_name": None, "epoch": 0, "assigned": []
}  # fmt: skip
NO_ID: Final = b"\xee" * 16


class References:
    """One side of one play: every client's memory, every step's answer."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.clients: dict[str, dict[str, Json]] = {}
        self.answers: dict[int, dict[str, Json]] = {}
        self._last_join: dict[str, int] = {}

    def of(self, client: str) -> dict[str, Json]:
        """That client's memory."""
        found = self.clients.get(client)
        if found is None:
            found = self.clients[client] = dict(FRESH)
        return found

    def learn(self, index: int, step: Send, answer: dict[str, Json]) -> None:
        """Take in the answer to a step."""
        self.answers[index] = answer
        if step.key == api_keys.JOIN_GROUP and answer["error_code"] in (NONE, MEMBER_ID_REQUIRED):
            if index < self._last_join.get(step.client, 0):
                return  # two joins of one client answered at once: the later request counts, whichever answer comes first
            self._last_join[step.client] = index
            self._joined(self.of(step.client), answer)
        elif step.key == api_keys.CONSUMER_GROUP_HEARTBEAT and answer["error_code"] == NONE:
            mine = self.of(step.client)
            mine["member_id"], mine["epoch"] = answer["member_id"], answer["member_epoch"]
            if answer["assignment"] is not None:
                mine["assigned"] = answer["assignment"]["topic_partitions"]
        elif (step.key == api_keys.INIT_PRODUCER_ID or (step.key == api_keys.END_TXN and step.version >= 5)) and answer[
            "error_code"
        ] == NONE:
            self.of(step.client).update(producer_id=answer["producer_id"], producer_epoch=answer["producer_epoch"])
        elif step.key == api_keys.FETCH and answer.get("session_id"):
            self.of(step.client)["session_id"] = answer["session_id"]

    @staticmethod
    def _joined(mine: dict[str, Json], answer: dict[str, Json]) -> None:
        mine["member_id"] = answer["member_id"]
        if answer["error_code"] == NONE:
            mine["generation"], mine["leader"] = answer["generation_id"], answer["leader"]
            mine["protocol_type"] = answer.get("protocol_type", "consumer")
            mine["protocol_name"] = answer["protocol_name"]

    # -- references

    def resolve(self, sender: str, value: dict[str, Json]) -> Json:
        """What the reference stands for; None: nothing has told it yet."""
        if "$" in value:
            return self._told(value["$"], value.get("+", 0))
        if "bytes" in value:
            return unbinary(value)
        if "group" in value:
            return self._name(self.facts.groups, value["group"], "group")
        if "topic" in value:
            return self._name([fact.name for fact in self.facts.topics], value["topic"], "topic")
        if "topic_id" in value:
            number = value["topic_id"]
            return self.facts.topics[number - 1].topic_id if number <= len(self.facts.topics) else NO_ID
        if "id" in value:
            return f"{self.facts.groups[0]}-x{value['id']}"
        if "assign" in value:
            return self._assignments(sender, value["assign"])
        if "records" in value:
            return self._batch(sender, value)
        raise ValueError(f"what does {value!r} refer to?")

    def _name(self, names: list[str], number: int, what: str) -> str:
        return names[number - 1] if number <= len(names) else f"{self.facts.stem}-no-{what}-{number}"

    def _told(self, path: str, plus: int) -> Json:
        if path.startswith("#"):
            found = self._path(path[1:])
        else:
            client, _, name = path.partition(".")
            found = self.of(client).get(name)
        return found + plus if plus and isinstance(found, int) else unbinary(found)

    def _path(self, path: str) -> Json:
        number, _, rest = path.partition(".")
        found: Json = self.answers.get(int(number))
        for name in rest.split(".") if rest else ():
            if isinstance(found, list):
                found = found[int(name)] if int(name) < len(found) else None
            else:
                found = found.get(name) if isinstance(found, dict) else None
        return found

    def _batch(self, sender: str, value: dict[str, Json]) -> bytes:
        """Records without times: what is found by time are markers."""
        told = {name: self.resolve(sender, each) if isinstance(each, dict) else each for name, each in value.items()}
        return encode_batch(
            [NewRecord(value=text.encode()) for text in told["records"]],
            producer_id=-1 if told["producer_id"] is None else told["producer_id"],
            producer_epoch=-1 if told["producer_epoch"] is None else told["producer_epoch"],
            base_sequence=told["sequence"],
            attributes=TRANSACTIONAL_BIT if told["transactional"] else 0,
        )

    def _assignments(self, sender: str, clients: list[str]) -> Json:
        mine = self.of(sender)
        if not mine["member_id"] or mine["leader"] != mine["member_id"]:
            return []
        ids = [(client, self.of(client)["member_id"]) for client in clients]
        return [
            {"member_id": member_id, "assignment": binary(f"{mine['generation']} {client}".encode())}
            for client, member_id in ids
            if member_id
        ]
