"""Copy the cluster at an address into seed data, for `serve --like` and for the verb `like`."""

from __future__ import annotations

import ssl
from typing import Final, NamedTuple

import msgspec

from ..config.resolve import Config, Like
from ..core.log.config_keys import topic_keys
from ..record.reaching import Called, Where, address, credentials, tls_context
from ..security.login import Credentials
from .copied import Copy
from .newest_records import Records
from .source import Source


class Copied(NamedTuple):
    """The seed data as JSON Lines, and one sentence for each reason why something was left out."""

    lines: bytes
    left: list[str]


PASSWORD: Final = "GROUPMOCK_LIKE_SASL_PASSWORD"
CALLED: Final = Called("cluster", "--like", "--like-tls", "--like-sasl")
"""The names that error messages of `serve` use for the cluster that is copied and for its flags."""


async def copied_for(config: Config, like: Like) -> Copied:
    """Copy the cluster that a configuration names. Raises CannotStart, ConfigError."""
    tls = tls_context(like.tls, like.ca, like.certificate, like.key, CALLED.tls)
    known = credentials(like.user, like.mechanism, like.password_file, CALLED.sasl, PASSWORD)
    return await copied(address(like.address, CALLED.flag), tls, CALLED, config, like.records, known)


async def copied(
    where: Where,
    tls: ssl.SSLContext | None,
    called: Called,
    config: Config,
    most_records: int,
    known: Credentials | None = None,
) -> Copied:
    """Copy a cluster for a mock with this configuration, with at most `most_records` of each partition. `known`: credentials that the
    cluster knows. Raises CannotStart."""
    source = Source(where, tls, called, known)
    try:
        copy = Copy(source, topic_keys(config.settings.quirks), config.nodes)
        await copy.learn()
        lines = [*await copy.topic_lines(), *await Records(source, copy, most_records).lines(), *await copy.commit_lines()]
    finally:
        await source.close()
    return Copied(b"".join(msgspec.json.encode(line) + b"\n" for line in lines), copy.left())
