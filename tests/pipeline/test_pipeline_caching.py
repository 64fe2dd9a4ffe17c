"""Tables are cached only while queries run, in a local session and on a Spark Connect server."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from cases import for_each

from groupmock_pipeline import caching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@for_each("remote", [False, True], ids=["here", "on a server"])
def test_a_frame_is_cached_while_it_is_asked_and_leaves_nothing(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, remote: bool) -> None:
    monkeypatch.setattr(caching, "is_remote", lambda: remote)
    frame = spark.range(3).selectExpr("id * 2 as twice")
    with suppress(RuntimeError), caching.cached(frame) as kept:
        assert spark.sql("show views").count() == remote
        assert kept.storageLevel.useMemory
        assert kept.columns == ["twice"]
        assert kept.where("twice > 0").count() == 2
        raise RuntimeError
    assert spark.sql("show views").count() == 0
    assert not kept.storageLevel.useMemory
