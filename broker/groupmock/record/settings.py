"""Make the settings of a recording from the flags of its command."""

from __future__ import annotations

import argparse
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..config.resolve import LOGS, UNROUTABLE, Address, ConfigError, address_of
from .reaching import PASSWORD, Where, address, credentials, tls_context

if TYPE_CHECKING:
    from ..faults.plan import Plan
    from ..security.login import Credentials
    from .listener import RecordingListener


class Settings(NamedTuple):
    """The settings of a recording. `port` 0 takes a free port for each node, `journal` is a path, and `tls` is the context for the
    upstream cluster, None for plain text."""

    upstream: Sequence[Where]
    journal: str
    host: str = "127.0.0.1"
    port: int = 0
    advertise: Address | None = None
    journal_max_bytes: int | None = None
    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None
    listener: RecordingListener | None = None
    plan: Plan | None = None
    plan_name: str = "the plan"
    seed: int = 0
    run: str = "recorded"
    log: str = "off"


def settings_of(flags: argparse.Namespace) -> Settings:
    """Return the settings of a recording from the command's flags. Raises ConfigError, BadPlan."""
    if not flags.upstream or not flags.journal:
        raise ConfigError("say what to record and where to: --upstream HOST:PORT --journal FILE")
    listener = None
    known = credentials(flags.sasl_user, flags.sasl_mechanism, flags.sasl_password_file, "--sasl", PASSWORD)
    if flags.listener is not None:
        from .listener import recording_listener

        if (flags.host, flags.port) != ("127.0.0.1", "0"):
            raise ConfigError("--listener has its own host and port: leave --host and --port out")
        advertise = address_of(flags.advertise, "--advertise")
        listener = recording_listener(
            flags.listener, flags.listener_cert, flags.listener_key, flags.listener_dir, advertise, known is not None
        )
        flags.host, flags.port = listener.spec.host, str(listener.spec.port)
    if flags.host in UNROUTABLE and flags.advertise is None:
        raise ConfigError(
            f"listening on {flags.host or 'every address'} gives clients no address to connect to: "
            "add --advertise HOST[:PORT] with the name or address they can reach"
        )
    if flags.log not in LOGS:
        raise ConfigError(f"--log: {flags.log!r}: there are {', '.join(LOGS)}")
    plan = _plan(flags.plan)
    return Settings(
        upstream=[address(each, "--upstream") for each in flags.upstream.split(",")],
        journal=flags.journal,
        host=flags.host,
        port=_number(flags.port, "--port", 65535),
        advertise=address_of(flags.advertise, "--advertise"),
        journal_max_bytes=None if flags.journal_max_bytes is None else _number(flags.journal_max_bytes, "--journal-max-bytes", 2**62),
        tls=tls_context(flags.tls, flags.tls_ca, flags.tls_cert, flags.tls_key, "--tls"),
        credentials=known,
        listener=listener,
        plan=plan,
        plan_name=flags.plan or "the plan",
        seed=_number(flags.seed, "--seed", 2**63 - 1) if flags.seed is not None else (plan.seed if plan is not None else None) or 0,
        run=flags.run,
        log=flags.log,
    )


def _number(text: str, flag: str, most: int) -> int:
    if not text.isdecimal() or int(text) > most:
        raise ConfigError(f"{flag}: {text!r} is no number from 0 to {most}")
    return int(text)


def _plan(name: str | None) -> Plan | None:
    if name is None:
        return None
    from ..faults.plan import read_plan

    return read_plan(name)
