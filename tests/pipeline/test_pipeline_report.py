"""The report agrees with the tables, escapes their texts, and copes with missing tables and columns."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from groupmock_pipeline import schema, tables
from groupmock_pipeline.campaign.characteristics import characteristics
from groupmock_pipeline.campaign.table_row import RECORD
from groupmock_pipeline.comparison.measures import SHAPE
from groupmock_pipeline.comparison.rule_verdicts import rule_verdicts
from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.jobs import audit, compare, drift, faults, heartbeats, rebalances, report, shares
from groupmock_pipeline.report import draw
from groupmock_pipeline.report.ask import AnswerableValues, answers, shown
from groupmock_pipeline.report.page import DARK_COLOURS, DARK_INK, page
from groupmock_pipeline.report.sections import REBALANCES, SECTIONS
from groupmock_pipeline.report.shapes import ColumnHead, Excerpt, Grid, Listing, Plot, Section, Series, Shown, Spread, Totals, Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVIL = '<script>alert("$x$")</script>'
MEASURED = "trigger string, protocol string, group string, ns bigint, ok boolean, who array<string>"


class Reader(HTMLParser):
    """Collects a page's unclosed tags, ids, internal links and table rows, as a browser sees them."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.used: list[str] = []
        self.tags: set[str] = set()
        self.cells: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.used += [value[1:] for name, value in attrs if name in ("href", "xlink:href") and value and value.startswith("#")]
        self.used += [part for name, value in attrs for part in re.findall(r"url\(#([^)]+)\)", value or "")]
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th") and self.cells:
            self.cells[-1].append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th", "span") and self.cells:
            self.cells[-1][-1] += data


def arguments(lake: Path, folder: Path) -> Namespace:
    parser = ArgumentParser()
    report.add_arguments(parser)
    return parser.parse_args(["--title", EVIL], Namespace(input=str(lake), output=str(folder)))


def test_one_page_out_of_a_lake(spark: SparkSession, tmp_path: Path) -> None:
    """The rebalances table has a renamed and a missing column, and another table fits no section."""
    lake, folder = tmp_path / "lake", tmp_path / "a" / "report"
    ddl = "run string, group string, trigger string, protocol string, started_at long, ended_at long, moved long, last_member_id string"
    lines = [("r", EVIL, f"join {place}", "範囲\x00\ud7ff", 10**18, 10**18 + place * 10**9, place, EVIL) for place in (1, 2, 3)]
    tables.replace(spark.createDataFrame(lines, ddl).coalesce(1), str(lake), "rebalances")
    tables.replace(spark.createDataFrame([(EVIL,)], "strange string").coalesce(1), str(lake), "compare")
    tables.replace(spark.createDataFrame([], "rule string, kind string").coalesce(1), str(lake), "faults")
    report.run(spark, arguments(lake, folder))
    text = (folder / "report.html").read_text(encoding="utf-8")
    read = Reader(text)
    assert read.open == []
    assert read.tags & {"script", "link", "img", "iframe", "object"} == set()
    assert len(read.ids) == len(set(read.ids))
    assert set(read.used) <= set(read.ids)
    # The base64 hash of the style may contain slashes, so remove it before searching for addresses.
    assert re.findall(r"(?:https?:)?//(?!www\.w3\.org)[\w.]+", re.sub(r"'sha256-[^']+'", "", text)) == []
    for section in SECTIONS:
        there = section.table in ("rebalances", "compare", "faults")
        how = f"<code>groupmock pipeline {tables.job_of(section.table)} IN LAKE</code>"
        assert (f"This lake has no table {section.table}: {how} makes it." in text) != there
    assert ["join 3", "1", "3", "–", "–", "3"] in read.cells  # This table row is in the section "Duration by trigger".
    assert ["join 2", "2", "1"] in read.cells  # This table row is in the section "Partitions moved by trigger".
    assert [each[:2] for each in read.cells if each and each[0] == "r"] == [["r", "6"], *[["r", EVIL]] * 3]
    assert "Not in this table: unowned" in text
    assert ["strange"] in read.cells and [EVIL] in read.cells
    pictures = sorted(each.name for each in folder.glob("*.png"))
    assert pictures and text.count("<svg ") == len(pictures)
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in pictures)


def test_a_lake_without_tables_and_a_folder_that_cannot_be(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no table to report: `groupmock pipeline ingest"):
        report.run(spark, arguments(tmp_path / "none", tmp_path / "out"))
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"file/out: Not a directory"):
        report.run(spark, arguments(tmp_path, tmp_path / "file" / "out"))


def test_shapes(spark: SparkSession) -> None:
    """The expected figures were computed by hand for 101 values 0 to 100 of one trigger, two of another, and one missing value."""
    lines: list[tuple[Any, ...]] = [("many", "p", "g", value * 10**9, True, ["a", "b"]) for value in range(101)]
    lines += [("few", "p", "h", 7 * 10**9, False, None), ("few", "q", "h", 9 * 10**9, None, []), ("none", "q", "h", None, None, None)]
    table = spark.createDataFrame(lines, MEASURED).coalesce(1)
    trigger, seconds = Value("trigger", "trigger"), Value("took", "gone / 1e9", "s", ("ns / 1e9",))
    (spread,) = answers(table, [Spread("S", (trigger, Value("lost", "not_there")), seconds, mark=(Value("limit", "max(ns) / 5e8", "s"),))])
    assert spread.rows == [("many", 101, 50.0, 90.0, 99.0, 100.0, 200.0), ("few", 2, 7.0, None, None, 9.0, 18.0)]
    assert spread.note == "A group of fewer than 30 values has no p90 and p99. The plot has a dot for each of its values."
    assert spread.lacking == ["lost"]
    assert spread.plot is not None
    assert (spread.plot.axis, spread.plot.labels) == ("took, s", ["many", "few"])
    assert [(each.name, each.values) for each in spread.plot.series] == [
        ("median", [50.0, None]), ("p90", [90.0, None]), ("p99", [99.0, None]), ("limit", [200.0, 18.0]),
    ]  # fmt: skip
    assert spread.plot.values == [(), (7.0, 9.0)]
    counts = Value("n", "count(*)"), Value("not ok", "count_if(not ok)")
    (totals,) = answers(table, [Totals("T", (trigger,), counts, bars="not ok", limit=2)])
    assert (totals.rows, totals.more) == ([("many", 101, 0), ("few", 2, 1)], True)
    assert totals.plot is not None and totals.plot.series[0].values == [0.0, 1.0]
    listing = Listing("L", (seconds, Value("who", "who"), Value("ok", "ok")), ("gone", "ns"), where="trigger != 'few'", limit=1)
    assert [(each.rows, each.more) for each in answers(table, [listing])] == [([(100.0, "a, b", True)], True)]
    few = table.where("trigger = 'few'")
    cells = Grid("G", (Value("things", "1"),), trigger, Value("p", "protocol"), seconds, (Value("b", "ns"),), "A.", titled=1)
    (grid,) = answers(few, [cells])
    assert (grid.title, grid.rows) == ("G, 1 things", [("few", "7 (7\u202f000\u202f000\u202f000)", "9 (9\u202f000\u202f000\u202f000)")])
    unanswerable = [
        Totals("T", (trigger,), (Value("n", "sum(nothing)"),)),
        Totals("T", (Value("x", "nothing"),), (Value("n", "count(*)"),)),
        Listing("L", (trigger,), (), where="nothing > 1"),
    ]
    assert answers(table, unanswerable) == []
    together = answers(table, [*unanswerable, listing, Totals("T", (trigger,), counts, bars="not ok", limit=2)])
    assert [(each.title, each.rows) for each in together] == [("L", [(100.0, "a, b", True)]), ("T", totals.rows)]


def test_every_expression_of_the_sections_is_sql(spark: SparkSession) -> None:
    """Spark reports invalid SQL differently from a missing column, so the test notices an expression that is not SQL."""
    said = [getattr(shape, name) for section in SECTIONS for shape in section.shapes for name in shape.__slots__]
    values = [value for each in said for value in (each if isinstance(each, tuple) else (each,)) if isinstance(value, Value)]
    written = [sql for value in values for sql in (value.sql, *value.other)]
    written += [shape.where for section in SECTIONS for shape in section.shapes]
    assert len(written) > 100
    parser = spark._jsparkSession.sessionState().sqlParser()
    for sql in written:
        parser.parseExpression(sql)


def made(spark: SparkSession) -> dict[str, DataFrame]:
    """Return every table as its job computes it from no rows, because Spark knows the columns without reading data."""

    def of(columns: Any) -> DataFrame:
        return spark.createDataFrame([], columns)

    rows, campaign, samples = of(schema.ROWS), of(RECORD), of(SHAPE)
    drifted, compared = drift.drift(samples, F.lit(True), F.lit(False)), samples.withColumn("scenario", F.lit("s"))
    judged = audit.audit(rows, of(schema.RUNS))
    return {
        "runs": of(schema.RUNS),
        "quarantine": of(schema.QUARANTINE),
        "rebalances": rebalances.rebalances(rows.withColumn("last_at", F.lit(0))),
        "heartbeats": heartbeats.heartbeats(rows),
        "shares": shares.shares(rows),
        "faults": faults.faults(rows),
        "audit": judged,
        "drift": drifted,
        "rule_drift": rule_verdicts(judged, F.lit(True), F.lit(False), lambda each: each),
        "compare": compare.compare(compared, compared),
        "campaign": campaign,
        "characteristics": characteristics(campaign),
    }


def test_the_jobs_make_every_column_that_the_report_shows(spark: SparkSession) -> None:
    tables_of = made(spark)
    assert set(tables_of) == {section.table for section in SECTIONS}
    lacking = []
    for section in SECTIONS:
        known = AnswerableValues(tables_of[section.table])
        for shape in section.shapes:
            said = [getattr(shape, name) for name in shape.__slots__]
            known.of(value for each in said for value in (each if isinstance(each, tuple) else (each,)) if isinstance(value, Value))
            conditions = [shape.where, *(shape.order if isinstance(shape, Listing) else ())]
            known.of(Value(sql, sql) for sql in conditions)
        lacking += [(section.table, head) for head in known.lacking]
    assert lacking == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"), (True, "yes"), (0, "0"), (1234567, "1\u202f234\u202f567"), (3.0, "3"), (0.1 + 0.2, "0.3"), (1234.56, "1\u202f234.6"),
        (-0.00001234, "-1.23e-05"), (float("nan"), "nan"), (float("inf"), "inf"), ("a\x07b\ud800", r"a\x07b\ud800"),
    ],
)  # fmt: skip
def test_cells(value: Any, said: str) -> None:
    assert shown(value) == said


HARD = Plot("bars", "x $\\frac$ & <b>", [EVIL, "a\x00b", "x" * 80, "$"], [Series("s", [1.0, None, 1e12, 0.0])])


@pytest.mark.parametrize("kind", ["bars", "range", "dots"])
def test_a_plot_of_hard_labels(kind: str) -> None:
    series = [Series(f"{EVIL} {place}", [float(place), None, 3.0, 1e7]) for place in range(4)] if kind != "bars" else HARD.series
    figure = draw.draw(Plot(kind, HARD.axis, HARD.labels, series))
    text = draw.svg(figure, "it", f'told "{EVIL}"')
    read = Reader(text)
    assert read.open == [] and "script" not in read.tags
    assert set(read.used) <= set(read.ids)
    assert [each for each in read.ids if not each.startswith("it-")] == []
    assert "var(--ink0)" in text and not re.search(r"#[0-9a-f]{6}\b(?![^<]*</text>)", re.sub(r"url\(#[^)]*\)", "", text))
    assert draw.png(figure).startswith(b"\x89PNG")


def test_a_wide_axis_is_logarithmic_and_has_plain_numbers() -> None:
    text = draw.svg(draw.draw(Plot("dots", "x, s", ["a", "b"], [Series("s", [0.01, 1000.0])])), "it", "told")
    assert "x, s (logarithmic)" in text
    assert ">0.01</text>" in text and ">100</text>" in text and "math" not in text


@pytest.mark.parametrize("values", [[], [None], [0.0], [5.0, 5.0], [-3.0, 2.0], [1e-9, 1e9]])
@pytest.mark.parametrize("kind", ["bars", "range", "dots"])
def test_a_plot_of_few_or_odd_values(kind: str, values: list[float | None]) -> None:
    plot = Plot(kind, "x", [str(place) for place in range(len(values))], [Series("s", values)])
    assert draw.svg(draw.draw(plot), "it", "told").startswith("<svg ")


def test_numbers_stand_on_the_right_and_every_table_can_be_reached_by_keyboard() -> None:
    heads = [ColumnHead("name"), ColumnHead("took", "s", number=True)]
    told = page("t", "a", [Shown(REBALANCES, [Excerpt(EVIL, EVIL, heads, [(EVIL, 1.5)], [EVIL], more=True)])])
    assert EVIL not in told
    assert '<th scope="col" class="n">took <span class="unit">s</span></th>' in told
    assert '<td class="n">1.5</td>' in told
    assert told.count('tabindex="0"') == told.count("<table>") == 1
    assert "The first 1; there are more. Not in this table: &lt;script" in told


def test_what_cannot_be_read_is_said_in_its_place() -> None:
    section = Section("runs", "Runs", "", ())
    assert "Table runs cannot be read: &lt;b&gt;" in page("t", "a", [Shown(section, trouble="<b>")])


def luminance(colour: str) -> float:
    """Return the relative luminance as WCAG 2 defines it."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize(("paper", "ink", "colours"), [("#fdfdfc", draw.INK, draw.COLOURS), ("#16181a", DARK_INK, DARK_COLOURS)])
def test_contrast(paper: str, ink: tuple[str, ...], colours: tuple[str, ...]) -> None:
    """WCAG 2.2 requires a contrast of 4.5 for text and of 3 for graphics."""
    ground = luminance(paper)

    def contrast(colour: str) -> float:
        light, dark = sorted((ground, luminance(colour)), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    assert [each for each in ink[:2] if contrast(each) < 4.5] == []
    assert [each for each in colours if contrast(each) < 3] == []
    assert f"--paper: {paper}" in page("t", "a", [])
