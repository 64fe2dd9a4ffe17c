"""CLIENT-58 requires that a Connect worker lists its protocols in the order sessioned, compatible, default, with the same url and offset
in each."""

from __future__ import annotations

from typing import Final

from groupmock_codec.api_keys import JOIN_GROUP

from ...text.printable import one_line, quoted
from ..inside import CONNECT, workers_of
from ..judgement import UNREADABLE
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..subjects import Exchange

ORDER: Final = ("sessioned", "compatible", "default")
VERSIONS: Final = {"sessioned": 2, "compatible": 1, "default": 0}


class WorkerProtocols(Rule):
    code = "CLIENT-58"
    title = "A Connect worker lists sessioned, compatible, default, with metadata that agree"
    what = (
        "A worker lists its protocols in the order `sessioned`, `compatible`, `default` (from the first that it supports), and the "
        "metadata of "
        "all of them can be read, in the version of their protocol, with one url and one config offset."
    )
    why = "The order is the worker's vote, and any of the metadata may be the one that the leader reads."
    source = ("clients.md#client-58", "embedded-protocols.md#kafka-connect", "IncrementalCooperativeConnectProtocol.metadataRequest")
    fix = "Write all metadata of one JoinGroup from one state of the worker, newest protocol first."
    kept = """
member *: protocol_type=connect protocols=[p("compatible", worker(1, "u", 5)), p("default", worker(0, "u", 5))]
A: JoinGroup -> 79
"""
    broken = """
member *: protocol_type=connect protocols=[p("compatible", worker(1, "u", 5)), p("default", worker(0, "u", 4))]
A: JoinGroup -> 79
"""

    @asked(JOIN_GROUP)
    def lists(self, x: Exchange) -> Judgements:
        """Judge the list of protocols; names that are not Connect's own are not judged."""
        if x.asked["protocol_type"] != CONNECT:
            return
        listed = {name: found for name, found in workers_of(x).items() if name in ORDER}
        if not listed:
            return
        if None in listed.values():
            yield UNREADABLE
            return
        wrong = _wrong(x)
        if wrong is None:
            yield KEPT
            return
        who = x.member.name if x.member is not None else one_line(x.client_id or "a worker")
        yield Broken(f"{who} joins with {wrong}", (x.seq,), "sessioned, compatible, default, each with the same url and config offset")


def _wrong(x: Exchange) -> str | None:
    listed = {name: found for name, found in workers_of(x).items() if name in ORDER and found is not None}
    for name, found in listed.items():
        if found.wrong is not None:
            return f"metadata of {quoted(name)} that nobody can read ({found.wrong})"
        if found.version != VERSIONS[name]:
            return f"metadata of {quoted(name)} in version {found.version} instead of {VERSIONS[name]}"
    if list(listed) != sorted(listed, key=ORDER.index):
        return f"its protocols in the order {', '.join(listed)}"
    if len({(found.url, found.offset) for found in listed.values()}) > 1:
        said = ", ".join(f"{quoted(name)}: {quoted(found.url)} and offset {found.offset}" for name, found in listed.items())
        return f"metadata that do not agree ({said})"
    return None
