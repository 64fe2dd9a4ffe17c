"""CLIENT-63 requires that each request has a version in the range that ApiVersions gave on its connection."""

from __future__ import annotations

import re
from typing import Final

from groupmock_codec import APIS
from groupmock_codec.api_keys import API_VERSIONS

from ...journal.rows import NOT_SERVED
from ...text.printable import one_line
from ..rule import KEPT, Broken, Judgements, Rule, asked, closed
from ..subjects import Exchange, Link

HUNG_UP: Final = re.compile(re.escape(NOT_SERVED).replace(r"\{api\}", "(?P<api>[A-Za-z]+)").replace(r"\{version\}", r"(?P<version>-?\d+)")
                            .replace(r"\{lowest\}", r"\d+").replace(r"\{highest\}", r"\d+"))  # fmt: skip
KEYS: Final = {api.name: api.key for api in APIS.values()}


class UsesServedVersions(Rule):
    code = "CLIENT-63"
    title = "Requests use versions that the broker advertised"
    what = (
        "Every request has a version between the lowest and the highest that the answer to ApiVersions gave for its API. ApiVersions "
        "itself is tried from the newest version down."
    )
    why = "A broker hangs up on a request in a version that it does not serve, without an answer: the client reconnects and never gets on."
    source = ("clients.md#client-63", "KIP-35", "KIP-511")
    fix = "Use the highest version that both sides have, of the broker that the request goes to, and none where the API is not listed."
    kept = """
A: ApiVersions v0 -> 0
A: FindCoordinator v1 -> 0
"""
    broken = """
A: ApiVersions v0 -> 0
A: frame i16(10) i16(99) i32(7) str("x") -> closed
"""

    @asked(*(key for key in APIS if key != API_VERSIONS))
    def within(self, x: Exchange) -> Judgements:
        """Judge each request that could be decoded."""
        if x.link.versions is None:
            return
        lowest, highest = x.link.versions.get(x.key, (1, 0))
        if lowest <= x.version <= highest:
            yield KEPT
        else:
            yield _broken(x.who, x.name, x.version, (lowest, highest), (x.seq,))

    @closed
    def hung_up(self, link: Link) -> Judgements:
        """Judge a request that could not be decoded. It has no row; the row about the connection's end names it."""
        assert link.ending is not None
        found = HUNG_UP.search(link.ending.reason)
        if found is not None and link.versions is not None and found["api"] != APIS[API_VERSIONS].name:
            who = link.last.name if link.last is not None else one_line(link.client_id or "") or "a client without a name"
            served = link.versions.get(KEYS[found["api"]], (1, 0))
            yield _broken(who, found["api"], int(found["version"]), served, (link.ending.seq,))


def _broken(who: str, api: str, version: int, served: tuple[int, int], rows: tuple[int, ...]) -> Broken:
    lowest, highest = served
    offer = f"versions {lowest} to {highest}" if lowest <= highest else "no version of it"
    return Broken(
        f"{who} sent {api} version {version} to a broker that had told it to have {offer}",
        rows,
        f"{api} in a version from {lowest} to {highest}" if lowest <= highest else f"no {api}",
    )
