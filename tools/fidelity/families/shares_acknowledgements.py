"""Draw the acknowledgements of members of share groups, most of which are about records that the member holds."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Final

from groupmock.core.share.runs import Run
from groupmock_codec.acknowledge_types import ACCEPT, GAP, REJECT, RELEASE, RENEW

from ..generated.script import Json
from .shares_author import Place, ShareMember, SharesAuthor

KINDS: Final = {ACCEPT: 50, RELEASE: 24, REJECT: 10, GAP: 6, RENEW: 10}
"""Maps a type of acknowledgement to its weight."""
MANY: Final = 60
"""The number of records in a large batch, two of which exceed the smallest limit of records in flight."""


def renews(acknowledged: dict[Place, list[Json]]) -> bool:
    return any(RENEW in batch["acknowledge_types"] for batches in acknowledged.values() for batch in batches)


def acknowledged_by(author: SharesAuthor, member: ShareMember, piggybacked: bool) -> dict[Place, list[Json]]:
    """Return batches of acknowledgements by partition, most of them of records that the member holds. `piggybacked` ones release and
    renew nothing."""
    rng = author.rng
    kinds = {kind: weight for kind, weight in KINDS.items() if not piggybacked or kind not in (RELEASE, RENEW)}
    found: dict[Place, list[Json]] = {}
    for place in author.places():
        held = author.held(member, place)
        if held and rng.random() < 0.8:
            found[place] = _batches(rng, held, kinds)
        elif rng.random() < 0.08:
            found[place] = [_odd_batch(rng, author.end_of(place), kinds)]
    return found


def _batches(rng: Random, held: list[Run], kinds: dict[int, int]) -> list[Json]:
    """Return batches about runs of records that a member holds."""
    chosen = held if rng.random() < 0.5 else held[: rng.randint(1, len(held))]
    way = rng.random()
    if way < 0.2 and all(left.last + 1 == right.first for left, right in pairwise(chosen)):
        return [_batch(rng, chosen[0].first, chosen[-1].last, kinds)]
    batches = []
    for run in chosen:
        first, last = run.first, run.last
        if way > 0.6:
            first = rng.randint(run.first, run.last)
            last = rng.randint(first, run.last)
        batches.append(_batch(rng, first, last, kinds))
    if rng.random() < 0.05:
        batches.append(_odd_batch(rng, held[-1].last + 2, kinds))
    if rng.random() < 0.02:
        batches.reverse()
    return batches


def _batch(rng: Random, first: int, last: int, kinds: dict[int, int]) -> Json:
    """Return one batch with a type for all its offsets, or with one for each."""
    each = last - first < MANY and rng.random() < 0.35
    types = rng.choices(list(kinds), list(kinds.values()), k=last - first + 1 if each else 1)
    return {"first_offset": first, "last_offset": last, "acknowledge_types": types}


def _odd_batch(rng: Random, end: int, kinds: dict[int, int]) -> Json:
    """Return a batch of any offsets with types that may be invalid."""
    first = rng.randint(0, end + 2)
    batch = _batch(rng, first, first + rng.choice((0, 0, 1, 3)), kinds)
    if rng.random() < 0.3:
        types = rng.choice(([], [5], [-1], [1, 1], None))
        batch |= {"last_offset": first - 1} if types is None else {"acknowledge_types": types}
    return batch
