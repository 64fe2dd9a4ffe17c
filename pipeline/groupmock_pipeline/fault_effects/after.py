"""Compute what followed each injected fault, in the story of each group concerned and in the run's answers and connections."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from groupmock_codec.group_states import DEAD, STABLE

from .strikes import GONE, GRACE_NS, PLACE

EXPECTED: Final = "MEMBER_ID_REQUIRED"
"""The error that every first join gets (KIP-394). It is no sign of trouble in another group."""
ENDLESS: Final = 2**62
"""A `seq` greater than that of every row."""
NO_GROUP: Final = "there was no group when it struck"


def per_group(lives: DataFrame) -> DataFrame:
    """Return one line per injected fault (`strike`) and group concerned. A strike that names a group is about that group, any other strike
    is about all groups that existed.

    The columns are day, run, seq, `strike` (all its fields), group, and those that `_span` and `_figures` add. A strike without any group
    has one line whose group is null. The run's `happenings` are attached to the first strike only.
    """
    struck = lives.select("day", "run", "stories", "fetched", "happenings", F.posexplode("strikes").alias("place", "strike"))
    named = F.col("strike.group")
    own = F.filter("stories", lambda story: named.isNull() | (story["group"] == named))
    about = ("seq", "at", "let_go_at", "member", "client", "called_off")
    pairs = struck.select(
        "day", "run", *(f"strike.{name}" for name in about), "strike", F.when(F.col("place") == 0, F.col("happenings")).alias("happenings"),
        "fetched", F.explode_outer(own).alias("life"),
    ).select("*", "life.*").drop("life")  # fmt: skip
    again = F.get(F.filter("fetched", lambda each: each["group"] == F.col("group")), F.lit(0))["again"]
    base = F.try_element_at(F.filter("story", lambda point: point["seq"] < F.col("seq")), F.lit(-1))
    return _figures(_span(pairs.withColumns({"again": again, "base": F.when(base["state"] != DEAD, base)})))


def _span(pairs: DataFrame) -> DataFrame:
    """Add the times after a fault at which the group was disturbed (`first`), was Stable again (`calm`), and was Stable with all its
    members (`whole`), each of which may be null.

    A group counts as undisturbed if it stayed Stable for a session timeout after the strike, or after the wait that the strike caused.
    """
    horizon = F.col("let_go_at") + F.col("session_ns") + F.lit(GRACE_NS)
    later = pairs.withColumn("later", F.filter("story", lambda point: point["seq"] > F.col("seq")))
    leaves = F.filter("later", lambda point: (point["state"] != STABLE) & (point["at"] <= horizon))
    away = F.col("base.state") != STABLE
    known = later.withColumns({"unsettled": away & ~F.col("base.state").isin(*GONE), "first": F.get(leaves, F.lit(0))})
    alive = F.col("called_off").isNull() & F.col("base").isNotNull()
    disturbed = alive & (F.col("unsettled") | F.col("first").isNotNull())
    since = F.when(F.col("unsettled"), F.col("seq")).otherwise(F.col("first.seq"))
    marked = known.withColumns({"disturbed": disturbed, "since": since})
    stable = F.filter("later", lambda point: (point["seq"] >= F.col("since")) & (point["state"] == STABLE) & point["moved"])
    points = F.filter("later", lambda point: (point["seq"] >= F.col("since")) & (point["state"] == STABLE) & (_missing(point) <= 0))
    return marked.withColumns(
        {
            "calm": F.when(disturbed, F.get(stable, F.lit(0))),
            "whole": F.when(disturbed, F.get(points, F.lit(0))),
            "last": F.try_element_at("story", F.lit(-1)),
        }
    )


def _missing(point: Column) -> Column:
    """Count the members present at the time of the fault that have not come back. Members that left on their own are not expected back."""
    return F.col("base.live") - (point["left"] - F.col("base.left")) - point["live"]


def _figures(spans: DataFrame) -> DataFrame:
    """Count rebalances, expulsions and rejoins from the fault until `whole`, or until the end of the journal."""
    end = F.when(~F.col("disturbed"), F.col("seq")).otherwise(F.coalesce("whole.seq", F.lit(ENDLESS)))
    cut = spans.withColumn("end_seq", end)
    cut = cut.withColumn("after", F.filter("later", lambda point: point["seq"] <= F.col("end_seq")))
    begun = F.size(F.filter("after", lambda point: point["begins"]))
    top = F.array_max(F.transform("after", lambda point: point["generation"]))
    expelled = F.array_compact(F.transform("after", lambda point: point["expelled"]))
    added = F.array_compact(F.transform("after", lambda point: point["added"]))
    figured = cut.withColumns({"gone": expelled, "came": added})
    there = F.col("base").isNotNull()
    return figured.select(
        *PLACE, "strike", F.when(there, F.col("group")).alias("group"), "disturbed", "end_seq",
        (F.col("calm.at") - F.col("at")).alias("calm_ns"),
        F.when(F.col("disturbed"), F.col("whole.at") - F.col("at")).when(there, F.lit(0)).alias("whole_ns"),
        F.when(there, _never()).alias("never"), _link().alias("link"), _why().alias("why"),
        *[F.when(F.col("disturbed"), each).otherwise(F.lit(0)).alias(name) for name, each in {
            "rebalances": begun, "generations": F.greatest(F.lit(0), top - F.col("base.generation")),
            "expelled": F.size("gone"), "rejoined": _rejoined(),
        }.items()],
        F.col("base.live").alias("members"), "again", "happenings",
    )  # fmt: skip


def _never() -> Column:
    """Say why the group did not become Stable with all its members again."""
    last, missing = F.col("last"), _missing(F.col("last"))
    reason = F.when(last["state"].isin(*GONE) & (last["live"] + missing <= 0), "its members left")
    short = F.format_string("Stable without %d of %d members when the journal ended", missing, F.col("base.live"))
    reason = reason.when((last["state"] == STABLE) & (missing > 0), short)
    reason = reason.otherwise(F.format_string("%s with %d members when the journal ended", last["state"], last["live"]))
    return F.when(F.col("disturbed") & F.col("whole").isNull(), reason)


def _link() -> Column:
    """Classify how closely the first disturbance of the group follows the fault: already, at once, member or later."""
    names = F.array_compact(F.array("member", "client"))
    tells = F.exists(names, lambda name: F.contains(F.col("first.why"), name))
    link = F.when(F.col("unsettled"), "already").when(F.col("first.at") == F.col("at"), "at once").when(tells, "member").otherwise("later")
    return F.when(F.col("disturbed"), link)


def _why() -> Column:
    """Say why the group left Stable, or why it was not Stable at the time of the fault."""
    return F.when(F.col("disturbed"), F.when(F.col("unsettled"), F.col("base.why")).otherwise(F.col("first.why")))


def _rejoined() -> Column:
    """Count the expelled members that were added again later in the window, identified by instance id, else by client id."""

    def count(names: str, name: Column) -> Column:
        return F.size(F.filter(names, lambda each: each == name))

    each = F.transform(F.array_distinct("gone"), lambda name: F.least(count("gone", name), count("came", name)))
    return F.aggregate(each, F.lit(0), lambda total, one: total + one)


def shared(per_group: DataFrame) -> DataFrame:
    """Add `window` (the number, from 1, of the time in which the group recovered from one or several faults), `faults` (the number of
    faults injected in that time) and `opens` (whether the fault was its first). Overlapping windows are merged.

    Also add `records_again`: the records fetched again after a strike that disturbed the group, until the next such window. The count goes
    on after the window ends, because clients fetch again only when the group is Stable again.
    """
    order = Window.partitionBy("run", "group").orderBy("seq")
    reach = F.max("end_seq").over(order.rowsBetween(Window.unboundedPreceding, -1))
    opens = F.coalesce(F.col("seq") > reach, F.lit(True)) | F.col("group").isNull()
    numbered = per_group.withColumn("opens", opens).withColumn("window", F.sum(F.col("opens").cast("int")).over(order))
    whole = Window.partitionBy("run", "group", "window")
    next_one = F.min(F.when(F.col("opens") & F.col("disturbed"), F.col("seq"))).over(order.rowsBetween(1, Window.unboundedFollowing))
    known = numbered.withColumns({"faults": F.count("*").over(whole), "next_seq": F.coalesce(next_one, F.lit(ENDLESS))})
    steps = F.filter("again", lambda step: F.col("disturbed") & (step["seq"] > F.col("seq")) & (step["seq"] < F.col("next_seq")))
    records = F.aggregate(steps, F.lit(0).cast("long"), lambda total, step: total + step["records"])
    return known.withColumn("records_again", records).drop("again")


def per_strike(groups: DataFrame) -> DataFrame:
    """Combine the figures of all groups of a fault into one line: the longest time, and the sum of each count."""
    hit, there = F.col("disturbed"), F.col("group").isNotNull()
    never = hit & F.col("whole_ns").isNull()
    soonest = F.when(hit, F.coalesce("calm_ns", F.lit(ENDLESS)))
    counts = ("rebalances", "generations", "expelled", "rejoined", "members", "records_again")
    return groups.groupBy("run", "day", "seq").agg(
        F.first("strike").alias("strike"), F.count_if(hit).alias("groups_disturbed"), F.max("end_seq").alias("end_seq"),
        F.when(F.count_if(never) == 0, F.max("whole_ns")).alias("until_stable_ns"),
        F.when(F.count_if(there) == 0, NO_GROUP).otherwise(F.min("never")).alias("never_because"),
        F.max("calm_ns").alias("until_first_stable_ns"),
        F.min_by("link", soonest).alias("link"), F.min_by("why", soonest).alias("disturbed_by"),
        *[F.sum(name).alias(name) for name in counts], F.max("faults").alias("faults_in_window"), F.min("opens").alias("opens_window"),
        F.first("happenings", ignorenulls=True).alias("happenings"),
    )  # fmt: skip


def around(windows: DataFrame) -> DataFrame:
    """Add to every fault the errors by name, lost replies, closed connections, and errors in other groups.

    Effects on the strike's own call count even if the strike did not disturb its group. A strike without a group counts everything.
    """
    strike = F.col("strike")

    def own(each: Column) -> Column:
        its_end = each["closed"] & (each["connection"] == strike["connection"]) & (each["at"] == strike["at"])
        return F.coalesce((each["ticket"] == strike["ticket"]) | its_end, F.lit(False))

    def here(each: Column) -> Column:
        return strike["group"].isNull() | F.coalesce(each["group"] == strike["group"], F.lit(False)) | own(each)

    of_run = F.first("happenings", ignorenulls=True).over(Window.partitionBy("run"))
    within = F.filter("happenings", lambda each: (each["seq"] > F.col("seq")) & ((each["seq"] <= F.col("end_seq")) | own(each)))
    joined = windows.withColumn("happenings", of_run).withColumn("happenings", within)
    near = joined.withColumns({"here": F.filter("happenings", here), "others": F.filter("happenings", lambda each: ~here(each))})
    elsewhere = _errors(F.filter("others", lambda each: each["group"].isNotNull()))
    counted = near.withColumns({"named": _errors("here"), "elsewhere": F.filter(elsewhere, lambda name: name != EXPECTED)})
    times = F.transform(F.array_distinct("named"), lambda name: F.struct(name, _size(F.filter("named", lambda each: each == name))))
    figures = {
        "errors": F.map_from_entries(times),
        "replies_lost": _size(F.filter("here", lambda each: each["lost"])),
        "connections_closed": _size(F.filter("here", lambda each: each["closed"])),
        "errors_elsewhere": _size("elsewhere"),
    }
    return counted.withColumns(figures).drop("happenings", "here", "others", "named", "elsewhere")


def _errors(happenings: Column | str) -> Column:
    return F.flatten(F.transform(happenings, lambda each: each["errors"]))


def _size(array: Column | str) -> Column:
    return F.size(array).cast("bigint")
