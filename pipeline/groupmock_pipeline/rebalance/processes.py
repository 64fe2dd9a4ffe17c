"""Name the processes behind members, as `groupmock.rounds.Processes` does: by instance id or client id, numbered if members of one name are
connected at the same time.

A member that comes takes the lowest number that no connected member of its name has. The numbers depend on everything that happened before,
so they are folded once per group over the comings and goings of its members, which are few.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from ..windows import OF_GROUP

UUID: Final = r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""Matches the suffix that the coordinator appends to a client id or instance id to make a member id."""
GOES, HANGS_UP, COMES, AGAIN = range(4)
"""The acts of a member that concern its process. AGAIN is a JoinGroup of a known member, or a sign that it lives. Of several at one line
the lowest is first."""
ARRIVAL: Final = "struct<line: bigint, what: int, member_id: string, name: string>"
_PLACES: Final = "array<struct<member_id: string, name: string, number: int, here: boolean>>"
_NAMED: Final = "array<struct<line: bigint, member_id: string, process: string>>"
_STATE: Final = f"struct<places: {_PLACES}, named: {_NAMED}>"


def in_member_id(member_id: str) -> str:
    """Return SQL of the name in a member id that the coordinator made (KIP-394), or of the whole id."""
    return f"regexp_replace({member_id}, r'{UUID}', '')"


def arrival(what: int, member_id: str, name: str = "null") -> str:
    """Return SQL of one ARRIVAL. `name` is what the client is called, which is used if the member id has no name."""
    called = f"if({in_member_id(member_id)} != {member_id}, {in_member_id(member_id)}, coalesce({name}, {member_id}))"
    return f"struct(line, {what} as what, {member_id} as member_id, {called} as name)"


def named(lines: DataFrame) -> DataFrame:
    """Replace `arrivals` of rebalances by `named`: who is another process than its member id says, from which line on."""
    whole = f"flatten(collect_list(arrivals) over ({OF_GROUP}))"
    folded = lines.selectExpr(
        "* except (arrivals)", f"{whole} as _arrivals", f"min(rebalance) over ({OF_GROUP}) as _first"
    ).selectExpr("* except (_arrivals, _first)", f"case when rebalance = _first then {_fold('_arrivals')} end as _named")  # fmt: skip
    return folded.selectExpr("* except (_named)", f"first(_named, true) over ({OF_GROUP}) as named")


def process(member_id: str, line: str) -> str:
    """Return SQL of the process of a member at a line of the journal. The name of the inner variable occurs nowhere else, because it would
    hide a variable in `member_id`."""
    mine = f"filter(named, label -> label.member_id = {member_id} and label.line <= {line})"
    return f"coalesce(array_max({mine}).process, {in_member_id(member_id)})"


def _fold(arrivals: str) -> str:
    mine, others = "place.member_id = one.member_id", "filter(state.places, place -> place.member_id != one.member_id)"
    silent = f"transform(state.places, place -> if({mine}, struct(place.member_id, place.name, place.number, false as here), place))"
    taken = f"transform(filter({others}, place -> place.here and place.name = name), place -> place.number)"
    lowest = "array_min(array_except(sequence(1, size(taken) + 1), taken))"
    number = f"if(old.number is not null and not array_contains(taken, old.number), old.number, {lowest})"
    label = "if(number = 1, name, concat(name, ' (', number, ')'))"
    plain = f"number = 1 and coalesce(old.number, 1) = 1 and name = {in_member_id('one.member_id')}"
    log = f"if({plain}, state.named, array_append(state.named, struct(one.line, one.member_id, {label} as process)))"
    added = f"struct(array_append({others}, struct(one.member_id, name, number, true as here)) as places, {log} as named)"
    comes = _let("old", f"get(filter(state.places, place -> {mine}), 0)", _let("name", "coalesce(old.name, one.name)", (
        _let("taken", taken, _let("number", number, f"cast({added} as {_STATE})"))
    )))  # fmt: skip
    step = f"""case when one.what = {GOES} then cast(struct({others} as places, state.named as named) as {_STATE})
        when one.what = {HANGS_UP} then cast(struct({silent} as places, state.named as named) as {_STATE})
        when one.what = {AGAIN} and not exists(state.places, place -> {mine}) then state else {comes} end"""
    empty = f"cast(struct(array() as places, array() as named) as {_STATE})"
    return f"aggregate(array_sort({arrivals}), {empty}, (state, one) -> {step}, state -> state.named)"


def _let(name: str, value: str, within: str) -> str:
    """Return SQL in which a name stands for a value."""
    return f"get(transform(array({value}), {name} -> {within}), 0)"
