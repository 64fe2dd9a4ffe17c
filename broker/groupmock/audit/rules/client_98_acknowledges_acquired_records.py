"""CLIENT-98 requires that a share consumer acknowledges only records that it has acquired, and each of them once."""

from __future__ import annotations

from typing import ClassVar

from groupmock_codec.api_keys import SHARE_ACKNOWLEDGE, SHARE_FETCH

from ...rounds.record_runs import Run, without
from ..judgement import MANY_RECORDS, TROUBLED
from ..rule import KEPT, Broken, Judgements, Rule, asked
from ..share_example import HEADER, JOINED, OPENED, SESSION, accepts
from ..share_sessions import Records, acknowledged, overlap, refused_in, session_of
from ..subjects import Exchange


class AcknowledgesWhatItAcquired(Rule):
    code = "CLIENT-98"
    title = "A share consumer acknowledges only records that it acquired, and each of them once"
    what = (
        "The acknowledgements in a ShareFetch or ShareAcknowledge are about records that an answer to a ShareFetch of the session said "
        "were acquired, and that the client has not accepted, released or rejected since. A refused acknowledgement is not repeated."
    )
    why = (
        "The broker refuses an acknowledgement of another record (121 or 42), and with it all of its partition in the request: records "
        "that were processed are delivered again. Below the start offset a wrong acknowledgement is even taken without an error, and hides "
        "a bug."
    )
    source = ("clients.md#client-98", "share-groups.md#sg-201", "share-groups.md#sg-207", "KIP-932", "ShareInFlightBatch.acknowledge")
    fix = "Take offsets only from `acquired_records`, remove a record when its acknowledgement is sent, and give up one that was refused."
    kept = f"""{SESSION}
{accepts(0, 1, 2)}
{accepts(2, 2, 3)}
"""
    broken = f"""{HEADER}{JOINED}{OPENED}
O: Produce v9 acks=-1 topic_data=[put($t1, 0, records("a", "b", "c"))] -> 0
{accepts(0, 2, 1)}
"""
    also_broken: ClassVar[dict[str, str]] = {
        "twice": f"""{SESSION}
{accepts(1, 1, 2)}
{accepts(1, 1, 3)}
""",
    }

    @asked(SHARE_FETCH, SHARE_ACKNOWLEDGE)
    def acknowledges(self, x: Exchange) -> Judgements:
        """Judge each acknowledgement of a request against what the session delivered so far."""
        session = session_of(x)
        if session is None:
            return
        for place, run, _ in acknowledged(x):
            records = session.records.get(place) or Records()
            if records.unsure:
                yield MANY_RECORDS
                continue
            missing = without([run], records.held)
            if not missing:
                yield KEPT
                continue
            before = next((told for done, told in records.done if overlap(done, missing[0])), None)
            if before is not None and (not before.heard or x.link.lossy):
                yield TROUBLED
            else:
                yield self._broken(x, place, missing[0], before, records.forgot)

    def _broken(self, x: Exchange, place: tuple[str, int], run: Run, before: Exchange | None, forgot: bool) -> Broken:
        first, last = run
        named = f"{self.world.topic_names.get(place[0], 'a topic')}/{place[1]}"
        records = f"record {first}" if first == last else f"records {first} to {last}"
        if before is None:
            how = "which its session did not have" if forgot else "which its session never acquired"
            return Broken(f"{x.who} acknowledged {records} of {named}, {how}", (x.seq,), "nothing about it")
        how = "whose acknowledgement was refused" if refused_in(before, place) else "which it had acknowledged already"
        return Broken(f"{x.who} acknowledged {records} of {named}, {how}", (*before.rows, x.seq), "one acknowledgement for each delivery")
