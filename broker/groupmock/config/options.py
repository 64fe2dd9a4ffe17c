"""The declarations of groupmock's own options. Flags, keys of the TOML file and environment variables are made from them
(`config.resolve`)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from . import profiles


class Option(msgspec.Struct, frozen=True):
    """An option of groupmock is the flag `--name`, the key `name` of the TOML file, and the environment variable GROUPMOCK_NAME with
    underscores. An option without a `metavar` is on or off."""

    name: str
    metavar: str
    about: str
    default: Any
    many: bool = False
    """True if the option may be given several times."""
    secured: bool = False
    """True if only a secured listener has a use for the option."""


OPTIONS: Final = (
    Option("host", "HOST", "address to listen on", "127.0.0.1"),
    Option("port", "PORT", "port of the first node; the others take the next ones; 0: each a free one", 9092),
    Option("advertise", "HOST[:PORT]", "address that clients are told to connect to, where it differs from the one listened on", None),
    Option(
        "listener", "NAME=PROTOCOL://HOST:PORT", "listener of each node, in place of --host and --port: PLAINTEXT, SSL, "
        "SASL_PLAINTEXT or SASL_SSL (repeatable; docs/how-to/secured-listeners.md)", (), many=True,
    ),
    Option("tls", "auto", "make throw-away certificates for TLS listeners, unless there is a --tls-cert", "auto"),
    Option(
        "tls-dir", "DIR", "where the throw-away certificates are written (default: a temporary folder, removed at the end)", None,
        secured=True,
    ),
    Option("tls-cert", "FILE", "certificate of TLS listeners with its chain (PEM)", None, secured=True),
    Option("tls-key", "FILE", "its private key (PEM, not encrypted)", None, secured=True),
    Option("tls-ca", "FILE", "CA certificates that sign those of clients (PEM; --set ssl.client.auth=required)", None, secured=True),
    Option(
        "user", "NAME:PASSWORD", "who may authenticate on SASL listeners (repeatable). Whoever lists processes sees a flag: "
        "--users keeps it apart", (), many=True, secured=True,
    ),
    Option("users", "FILE", "the same in a file, one NAME:PASSWORD in each line", None, secured=True),
    Option("sasl", "users|any", "any: whoever authenticates by PLAIN or OAUTHBEARER is accepted; SCRAM needs users", "users", secured=True),
    Option(
        "oauth", "unsecured|signed", "signed: OAUTHBEARER wants tokens of groupmock's own token endpoint, which needs --control "
        "(docs/how-to/secured-listeners.md)", "unsecured", secured=True,
    ),
    Option("nodes", "N", "brokers in this process, each on a port of its own", 1),
    Option("first-node-id", "N", "id of the first node, the others count on from it (clients' own tests often expect node 0)", 1),
    Option("racks", "RACK[,RACK...]", "broker.rack of each node, the first node's first (fetch from follower: replica.selector.class)", ()),
    Option("topic", "NAME[:PARTITIONS]", "topic to have from the start (repeatable)", (), many=True),
    Option("profile", "NAME", "whose versions, defaults and quirks", profiles.DEFAULT),
    Option(
        "journal",
        "FILE",
        "write every frame, state change, timer and member change to this file (JSON Lines); DIR/: to RUN.jsonl in it",
        None,
    ),
    Option("journal-max-bytes", "BYTES", "of that file: whole rows, the last says what is left out (default: no limit)", None),
    Option("control", "[HOST:]PORT", "serve the control API (docs/reference/control.md), on loopback unless told; 0: a free port", None),
    Option(
        "token",
        "TOKEN",
        "what the control API wants to be shown; needed where it does not listen on loopback. Whoever lists processes "
        "sees a flag: the variable and the file keep it apart",
        None,
    ),
    Option(
        "seed-data",
        "FILE",
        "topics, records, committed offsets and configs to have from the start: JSON Lines (docs/how-to/seed-and-read.md)",
        None,
    ),
    Option(
        "like", "HOST:PORT", "a real cluster to copy topics, configs and committed offsets of at the start (docs/how-to/cluster.md)", None
    ),
    Option("like-records", "N", "copy the newest N records of each of its partitions as well", 0),
    Option("like-tls", "", "speak TLS to it", False),
    Option("like-tls-ca", "FILE", "CA certificates that it is checked against (default: the system's)", None),
    Option("like-tls-cert", "FILE", "client certificate, where it wants one", None),
    Option("like-tls-key", "FILE", "its key, where it is not in the same file", None),
    Option("like-sasl-user", "NAME", "authenticate to it as this user", None),
    Option("like-sasl-mechanism", "NAME", "by PLAIN (default), SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", None),
    Option(
        "like-sasl-password-file", "FILE", "file with the password or token (default: the variable GROUPMOCK_LIKE_SASL_PASSWORD)", None
    ),
    Option(
        "log",
        "text|json|rows|json-rows|off",
        "what is said on stderr: a line per rebalance, with rows a line per row of the journal that is worth one",
        "text",
    ),
    Option("plan", "FILE", "fault rules from the start (docs/how-to/faults.md): a TOML or JSON file, or the name of a ready plan", None),
    Option(
        "audit",
        "",
        "judge the clients as they speak: a broken rule is a row, a line on stderr, and in the control API (groupmock explain)",
        False,
    ),
    Option("audit-waivers", "FILE", "findings that do not count, each with its reason and last day (TOML)", None),
    Option("seed", "N", "seed of every id that is drawn; a run with the same seed draws the same ids", None),
    Option("run", "NAME", "what its journal calls this run: a scenario, a client's version, ... (default: the seed)", None),
)
