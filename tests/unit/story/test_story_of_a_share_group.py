"""The golden story of a share group: all that happens to a record, with who had it before and why it comes again."""

from __future__ import annotations

from pathlib import Path

from share_wire import worked

from groupmock.journal.read import read
from groupmock.story.telling import tell

# ruff: noqa: E501 (a story is compared as it is printed)
STORY = """\
g: Empty, generation 6, 0 members
  The first join and 4 rebalances in 43.0 s, 2 partitions moved. ben's connection ended at 30.0 s without LeaveGroup; t/1 was unread for 12.0 s (its session of 20000 ms expired at 38.0 s). In all, 12.0 partition-seconds were unread.
  Likely: ben#7Qbe's connection ended at 30.001 without LeaveGroup: nobody read t/1 until its session expired at 38.001
    0.000  ordered by the test: configure_group share.auto.offset.reset=earliest share.delivery.count.limit=3
    0.000  ordered by the test: produce topic=t partitions=0
    0.000  anna#7Qan joins, subscribes to t
    0.000  anna#7Qan is at epoch 2 with nothing
    0.000  2 share partitions of t initialised: the first fetch decides where it begins
    1.000  anna#7Qan is at epoch 3 with t/0, t/1
    1.000  anna#7Qan gets records 0 to 5 of t/0
    2.000  ben#7Qbe joins, subscribes to t
    2.000  ben#7Qbe is at epoch 4 with t/1
    2.001  anna#7Qan is at epoch 4 with t/0
    5.001  anna#7Qan accepts records 0 to 1 of t/0
    6.001  anna#7Qan releases record 2 of t/0
    6.001  anna#7Qan REJECTS record 3 of t/0: archived, nobody gets it again
   10.001  anna#7Qan renews its lock of record 4 of t/0
   16.000  record 5 of t/0 is available again: anna#7Qan's lock ended after 15 s
   16.001  anna#7Qan accepts record 4 of t/0
   16.001  record 2 of t/0 is delivered to ben#7Qbe for the second time: anna#7Qan released it
   16.001  record 5 of t/0 is delivered to ben#7Qbe for the second time: anna#7Qan's lock ended after 15 s
   16.001  anna#7Qan's acknowledgement of record 5 of t/0 REFUSED: INVALID_RECORD_STATE (anna#7Qan's lock ended after 15 s)
   18.001  ben#7Qbe releases record 5 of t/0
   20.001  record 5 of t/0 is delivered to ben#7Qbe for the third time: ben#7Qbe released it
   20.001  record 5 of t/0 is ARCHIVED without being accepted: ben#7Qbe released it after the last delivery
   30.001  record 2 of t/0 is available again: ben#7Qbe's connection closed
   30.001  ben#7Qbe's connection ends (by the client) and it has not left: the group keeps its partitions until its session expires
   38.001  ben#7Qbe is gone: its session expired, nothing was heard of it for 20000 ms
   42.001  anna#7Qan is at epoch 5 with t/0, t/1
   42.001  record 2 of t/0 is delivered to anna#7Qan for the third time: ben#7Qbe's connection closed
   43.001  anna#7Qan accepts record 2 of t/0
   43.001  anna#7Qan is gone: it left
   43.001  the group is empty: member anna-7Qanna left
"""


def test_story_of_a_share_group_says_what_becomes_of_each_record(tmp_path: Path) -> None:
    assert list(tell(read(worked(tmp_path / "run.jsonl"))[1])) == STORY.splitlines()
