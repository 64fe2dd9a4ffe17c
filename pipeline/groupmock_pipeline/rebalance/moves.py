"""Compare a rebalance's assignment with the previous one: partitions that moved or were revoked, and the design of the protocol."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from ..windows import BEFORE, OF_GROUP
from .ownership import part
from .processes import named, process

BY_PROTOCOL: Final = {
    "range": "eager", "roundrobin": "eager", "sticky": "eager", "cooperative-sticky": "kip-429",
    "coop-d1": "design-1", "coop-d2": "design-2", "coop-d2-literal": "design-2", "coop-d3": "design-3",
}  # fmt: skip
CONNECT: Final = {"default": "connect-eager", "compatible": "connect-cooperative", "sessioned": "connect-cooperative"}
BY_TARGET: Final = "case protocol_type when 'streams' then 'kip-1071' else 'kip-848' end"
"""SQL of the name of the design in which the coordinator assigns partitions (KIP-848) or tasks (KIP-1071)."""
COOPERATIVE: Final = ("kip-429", "design-1", "design-2", "design-3", "connect-cooperative", "cooperative")


def moves(lines: DataFrame) -> DataFrame:
    """Add to each rebalance what its assignment shows: `revoked` (count), `again_ms` (the longest time after which members are to
    rejoin), `design`, and `parts` (which member was assigned what), each null if no assignment is known. These columns replace
    `arrivals`, `told_line`, `named_line`, `round_claims`, `dealt` and `classic`."""
    shared = named(lines).selectExpr("*", f"{_shares()} as _shares")
    assigned = part("each", "told_line", "share.member_id", process="share.process")
    given = part("each", "answer.line", "answer.member_id", process=process("answer.member_id", "answer.line"))
    parts = f"coalesce(flatten(transform(_shares, share -> transform(share.held, each -> {assigned}))), array())"
    past = f"over ({OF_GROUP} order by rebalance {BEFORE})"
    known = shared.selectExpr("*", f"last(told, true) {past} as _before").selectExpr(
        "* except (told, told_line, named_line, named, round_claims, dealt, _shares, _before)",
        "exists(round_claims, claim -> size(claim.held) > 0) as _keeps", f"{GAVE_UP} as _gave_up",
        "aggregate(if(classic, _shares.revoked, dealt.revoked), 0L, (total, one) -> total + one) as revoked",
        "array_max(_shares.again_ms) as again_ms", "array_max(_shares.told_design) as told_design",
        f"if(classic, {parts}, flatten(transform(dealt, answer -> transform(answer.given, each -> {given})))) as parts",
    )  # fmt: skip
    return known.selectExpr("* except (classic, told_design, _keeps, _gave_up)", f"{design()} as design")


GAVE_UP: Final = """exists(round_claims, claim -> claim.stated and size(claim.held) = 0 and exists(
    _before, each -> each.member_id = claim.member_id and size(each.held) > 0))"""
"""SQL condition: a member had partitions by the last assignment, and its Subscription claims none of them."""


def _shares() -> str:
    """Return SQL of [{member_id, process, held, revoked, again_ms, told_design}] for each assigned member. Claims are looked up in
    lists, because a map refuses duplicate keys."""
    claimed = "get(round_claims.held, cast(array_position(round_claims.member_id, each.member_id) as int) - 1)"
    given_up = f"coalesce(each.asked_back.revoked, size(array_except({claimed}, each.held)), 0)"
    return f"""transform(told, each -> struct(
        each.member_id as member_id, {process("each.member_id", "named_line")} as process,
        each.held as held, cast({given_up} as bigint) as revoked,
        coalesce(each.asked_back.timeout_ms, 0L) as again_ms, each.asked_back.design as told_design))"""


def design() -> str:
    """Return SQL of how partitions change hands, by the design in the assignment (1 to 3) or by the assignor's name. Of an assignor with an
    unknown name the Subscriptions in the run decide, as in `groupmock.audit.inside`: members that keep partitions while they join are
    `cooperative`, members that give up what they had are `eager`, and without either the design is `other`."""
    named, connect = (" ".join(f"when '{name}' then '{kind}'" for name, kind in known.items()) for known in (BY_PROTOCOL, CONNECT))
    by_name = f"if(protocol_type = 'connect', case protocol {connect} end, case protocol {named} end)"
    same = f"over ({OF_GROUP}, protocol)"
    behaviour = f"case when max(_keeps) {same} then 'cooperative' when max(_gave_up) {same} then 'eager' end"
    told = "case when told_design between 1 and 3 then concat('design-', told_design) end"
    return f"case when protocol is not null then if(classic, coalesce({told}, {by_name}, {behaviour}, 'other'), {BY_TARGET}) end"
