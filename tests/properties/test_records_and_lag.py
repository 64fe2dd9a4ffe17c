"""Random records are read back as written, and lag is the log end offset minus the committed offset."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.lags import LAGS, PARTITIONS
from properties.written_records import WRITTEN_RECORDS
from searching import examples

BYTES = st.one_of(
    st.none(),
    st.binary(max_size=40).map(lambda data: b64encode(data).decode()),
    st.text(max_size=20).map(lambda text: b64encode(text.encode()).decode()),
    st.sampled_from(['{"a": 1.50}', "null", '"null"', "[1,\n 2]", "12345678901234567890123", '"\\ud800"']).map(
        lambda text: b64encode(text.encode()).decode()
    ),
)
NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
FORMS = st.sampled_from([None, "text", "json", "base64"])
WALL_MS = 1_700_000_000_000


@pytest.mark.property
@examples(150)
@given(st.data())
def test_what_is_written_is_read_back(data: st.DataObject) -> None:
    partitions = data.draw(st.integers(1, 3))
    place = st.one_of(st.none(), st.integers(0, partitions - 1))
    record = st.tuples(BYTES, BYTES, st.lists(st.tuples(NAMES, BYTES), max_size=3), st.integers(-1, WALL_MS), place)
    records = data.draw(st.lists(record, max_size=20))
    WRITTEN_RECORDS.check({
        "partitions": partitions,
        "limit": data.draw(st.integers(1, 7)),
        "forms": [data.draw(FORMS), data.draw(FORMS)],
        "records": [[key, value, [list(each) for each in headers], stamp, at] for key, value, headers, stamp, at in records],
    })  # fmt: skip


PLACES = st.integers(0, PARTITIONS - 1)
HOW: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from([{"to": "earliest"}, {"to": "latest"}, {"to": "current"}]),
    st.integers(0, 30).map(lambda offset: {"offset": offset}),
    st.integers(-30, 30).map(lambda shift: {"shift": shift}),
)
STEPS = st.one_of(
    st.tuples(st.just("write"), PLACES, st.integers(1, 8)),
    st.tuples(st.just("trim"), PLACES, st.integers(0, 20)),
    st.tuples(st.just("commit"), PLACES, st.integers(0, 25)),
    st.tuples(st.just("reset"), HOW),
)


@pytest.mark.property
@examples(150)
@given(st.lists(STEPS.map(list), max_size=12))
def test_lag_is_end_less_committed(steps: list[list[Any]]) -> None:
    LAGS.check({"steps": steps})
