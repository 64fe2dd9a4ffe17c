"""Write the page about stock clients on secured listeners, which `tests/interop/secured` recorded on Apache Kafka and on groupmock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tools.records import RECORDS

from .markdown import notice, table

NOTICE = notice("secured_clients", "secured-clients.json")
WORKS: Final = "reads and commits"
REASONS: Final = {
    ("untrusted authority", "KafkaJS"): "The error is named after the chain. OpenSSL sends the authority's certificate along if it "
    "also checks clients by it (`--tls-ca`); Java sends what is in the keystore.",
    ("no client certificate", "KafkaJS"): "The error is named like the alert. Python's TLS is OpenSSL, which sends "
    "`certificate_required` of TLS 1.3; Java sends `bad_certificate`.",
}
"""Maps a way and a client with another outcome to its reason."""


class Pair(NamedTuple):
    """The outcomes of one client in one way. Kafka's is None while it is not recorded."""

    way: str
    client: str
    kafka: str | None
    ours: str

    @property
    def same(self) -> bool:
        return self.kafka in (None, self.ours)


def text() -> str:
    return page(json.loads((RECORDS / "secured-clients.json").read_text(encoding="utf-8")))


def page(data: dict[str, Any]) -> str:
    """Return the text of the page. `data` maps brokers to ways, these to clients, and these to what they did."""
    ours = data["brokers"]["groupmock"]
    others = {name: ways for name, ways in data["brokers"].items() if name != "groupmock"}
    name, kafka = next(iter(others.items()), ("Apache Kafka", dict[str, Any]()))
    pairs = [
        Pair(way, client, kafka.get(way, {}).get(client, {}).get("outcome"), entry["outcome"])
        for way, entries in ours.items()
        for client, entry in entries.items()
    ]
    clients = {client: entry["client"] for entries in ours.values() for client, entry in entries.items()}
    works = [way for way, entries in ours.items() if all(entry["outcome"] == WORKS for entry in entries.values())]
    lines = [NOTICE, "# Stock clients on secured listeners", "", *_introduction(pairs, name), "", "## What works", ""]
    lines += [*_table(pairs, works, list(clients), "protocol and mechanism"), "", "## What fails", "", *_of_failures(), ""]
    lines += [*_table(pairs, [way for way in ours if way not in works], list(clients), "mistake"), ""]
    lines += ["## Outcomes that differ", "", *_differences(pairs), "", "## Who was asked", ""]
    lines += [f"{', '.join(clients.values())}, on {name} and on groupmock with `--profile kafka-4.4`."]
    return "\n".join(lines) + "\n"


def _introduction(pairs: list[Pair], name: str) -> Iterator[str]:
    recorded = [each for each in pairs if each.kafka is not None]
    yield f"Each client consumes a record and commits, or makes a mistake, on {name} and on groupmock with the same listeners,"
    yield "users, certificates and rights ([secured listeners](../how-to/secured-listeners.md)). Signed tokens come from groupmock's token"
    yield "endpoint, whose key set both brokers read from a file; librdkafka and Java ask the endpoint by themselves"
    yield "(`sasl.oauthbearer.method=oidc`, OAuthBearerLoginCallbackHandler)."
    same = sum(each.same for each in recorded)
    yield f"**{same} of {len(recorded)}** runs have the same outcome. `tests/interop/secured` records them again."
    if len(recorded) < len(pairs):
        yield f"The other {len(pairs) - len(recorded)} runs are recorded on groupmock alone so far, and marked with an asterisk."


def _of_failures() -> Iterator[str]:
    yield "A cell names the errors of which the application is told within 25 seconds, by their class or their name; nothing means that"
    yield "the client tries again without telling the application."


def _table(pairs: list[Pair], ways: list[str], clients: list[str], head: str) -> list[str]:
    cells = {(each.way, each.client): _cell(each) for each in pairs}
    return table([head, *clients], ([way, *(cells.get((way, client), "") for client in clients)] for way in ways))


def _cell(pair: Pair) -> str:
    if not pair.same:
        return f"Kafka: {_names(pair.kafka or '')}; groupmock: {_names(pair.ours)}"
    return _names(pair.ours) + (" \\*" if pair.kafka is None else "")


def _names(outcome: str) -> str:
    return outcome.replace(WORKS, "works") if outcome in ("nothing", WORKS) else ", ".join(f"`{name}`" for name in outcome.split(", "))


def _differences(pairs: list[Pair]) -> list[str]:
    rows = [
        [each.way, each.client, _names(each.kafka or ""), _names(each.ours), REASONS.get((each.way, each.client), "not explained")]
        for each in pairs
        if not each.same
    ]
    return table(["way", "client", "Apache Kafka", "groupmock", "reason"], rows) if rows else ["None."]
