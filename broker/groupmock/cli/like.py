"""Write down what a real cluster has, as seed data: groupmock like HOST:PORT [OPTIONS] > FILE

Asks its admin API for topics (partitions, ids, the configs that were set), for where logs begin and end, and for what groups have
committed; nothing is written there. `groupmock serve --seed-data FILE` starts a mock that is like it, `groupmock serve --like HOST:PORT`
does both at once. The file is JSON Lines, one thing a line, so that it can be read and edited. What is left out is said on stderr.
Exit codes: 0, 2 bad use, 3 the cluster could not be asked.
"""

from __future__ import annotations

import argparse
import sys

from . import BAD_USE, CANNOT_START, OK
from ._options import ConfigError, complain, tell_not_copied


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("address", metavar="HOST:PORT", help="one of its bootstrap servers")
    add("--records", metavar="N", default="0", help="the newest N records of each partition as well (default 0)")
    add("--profile", metavar="NAME", help="the profile that the mock will have: configs that it does not know are left out")
    add("--nodes", metavar="N", help="how many nodes the mock will have: no topic gets more replicas (default 1)")
    add("--tls", action="store_true", help="speak TLS")
    add("--tls-ca", metavar="FILE", help="CA certificates that the cluster is checked against (default: the system's)")
    add("--tls-cert", metavar="FILE", help="client certificate, where the cluster wants one")
    add("--tls-key", metavar="FILE", help="its key, where it is not in the same file")
    add("--sasl-user", metavar="NAME", help="authenticate as this user")
    add("--sasl-mechanism", metavar="NAME", help="by PLAIN (default), SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER")
    add("--sasl-password-file", metavar="FILE", help="file with the password or token (default: the variable GROUPMOCK_LIKE_SASL_PASSWORD)")


def run(arguments: argparse.Namespace) -> int:
    from ..config.option_values import whole_number
    from ..config.resolve import MAX_COPIED, resolve
    from ..like.fetch import PASSWORD, copied
    from ..net.loops import run as run_loop
    from ..record.reaching import Called, address, credentials, tls_context
    from ..server.running import CannotStart

    try:
        config = resolve({"profile": arguments.profile, "nodes": arguments.nodes})
        records = whole_number(arguments.records, "--records", 0, MAX_COPIED)
        tls = tls_context(arguments.tls, arguments.tls_ca, arguments.tls_cert, arguments.tls_key, "--tls")
        called = Called("cluster", "HOST:PORT", "--tls", "--sasl")
        where = address(arguments.address, called.flag)
        known = credentials(arguments.sasl_user, arguments.sasl_mechanism, arguments.sasl_password_file, called.sasl, PASSWORD)
        found = run_loop(copied(where, tls, called, config, records, known))
    except ConfigError as bad:
        complain("like", bad)
        return BAD_USE
    except CannotStart as cannot:
        complain("like", cannot)
        return CANNOT_START
    sys.stdout.buffer.write(found.lines)
    tell_not_copied("like", found.left)
    return OK
