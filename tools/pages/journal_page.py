"""Write the page of the journal: its header and every kind of row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, get_type_hints

from groupmock.core.groups.causes import CAUSES
from groupmock.core.share.causes import CAUSES as OF_RECORDS
from groupmock.core.transactions.causes import CAUSES as OF_TRANSACTIONS
from groupmock.journal.rows import KINDS, LEFT_OUT, ROWS, Header, documentation

from .markdown import cell, notice, table

READING: Final = """\
The verbs `story`, `journal`, `replay` and `audit` [read a journal file](../how-to/journal-files.md), plain or packed. In Python
`groupmock.journal.read` reads a whole journal, `groupmock.journal.follow` one that is being written, and `groupmock.rounds`
makes rebalances of the rows: their cause, their duration, the time of each join, each member's partitions before and after, and
the partitions without an owner.

```python
from groupmock.journal.read import read
from groupmock.rounds import rebalances

for each in rebalances(read("journal.jsonl")[1]):
    print(each.group, each.number, each.reason, each.last_joined, len(each.moves))
```"""

ABOUT_THE_FILE: Final = f"""\
## The file

Lines are printable ASCII with `\\uXXXX` for all other characters, so that every reader sees the same lines and no terminal interprets
them (journals of older
versions are UTF-8 and read the same). Whole rows are written at least every quarter of a second; after `kill -9` the last
line may be cut, which readers report (`cut`). A line in the middle that cannot be read (no JSON, not UTF-8, nested too deep) is reported
too (`broken`), and the rest is read. The file is locked while it is written: a second server on it does not start.

`--journal-max-bytes` limits the file. It keeps whole rows; the first row that does not fit is replaced by a `note` whose `what` is
`{LEFT_OUT}`, with `first`, the number of that row, and `max_bytes`. At the end of the run a second note has `rows`, the number of
missing rows. The server goes on, and its log reports the limit. `JournalReader` and `Follower` give both notes as `left_out`, not as
rows; such a
journal is replayed as far as it goes (`ReplayResult.left_out` names the missing rows), and the pipeline treats the run as one that did
not end."""

ABOUT_CAUSES: Final = """\
`cause` of `moved` and `member` rows is one of these words; `reason` is the same for human readers, and its words may change at any time."""

ABOUT_TRANSACTIONS: Final = """\
Of transactional ids there are notes: `transaction_moved` (`before` and `after` are states as DescribeTransactions has them, empty for an id
that comes or goes), `producer_fenced`, `markers_held`, `offsets_of_transaction`. Their fields `cause` and `reason` are the same kind
of thing:"""

ABOUT_RECORDS: Final = """\
Of share groups there are notes: `share_initialized` (`partitions`, `start_offset`: the group may read these partitions of `topic` from
there, -1 as its settings say), `share_offsets_altered` (`start_offsets`) and `share_offsets_deleted`. Of their records there are
`records_acquired` (`records`: first offset, last offset and delivery count of each run), `records_acknowledged` (`accepted`, `released`,
`rejected`, `gaps`, `exhausted` and `renewed` in the same form) and `records_released` (`available` and `archived`). Each of these has
`group`, `topic`, `partition` and `member_id`. Of streams groups there is `internal_topic_created` (`topic`, `partitions`). Records of share
groups are released for one of these causes:"""

ABOUT_INTERNAL_TOPICS: Final = """\
Of streams groups there is the note `internal_topic_created` (`group`, `topic`, `partitions`: the broker has created a changelog or a
repartition topic because of a heartbeat). Tasks are named in the reasons of member rows: `0_1` is task 1 of subtopology 0."""

ABOUT_ERRORS: Final = """\
`error` of a `reply` is the first error anywhere in the answer: of the whole, else of a topic, partition, group, coordinator, member or
resource. `errors` has each with its place (`topics[0].partitions[2].error_code`). Journals written before there were `errors` have the
same version, 1, and are read, replayed and put into a lake as they are: their `error` is that of the whole answer alone, what stands
inside is in `message`."""


def text() -> str:
    lines = [notice("journal"), "# The journal, version 1", ""]
    lines += ["JSON Lines: a header, then rows. Fields at their default are left out; bytes are base64; unknown kinds are to be kept.", ""]
    lines += [*READING.splitlines(), ""]
    lines += [*ABOUT_THE_FILE.splitlines(), ""]
    lines += ["## Header", "", *table(["field", "meaning"], _fields(Header))]
    for kind in KINDS:
        about = (ROWS[kind].__doc__ or "").strip()
        lines += [
            "",
            f"## `{kind}`",
            "",
            about,
            "",
            *table(["field", "meaning"], ([f"`{n}`", cell(t)] for n, t in documentation(kind).items())),
        ]
    lines += ["", "## Causes", "", ABOUT_CAUSES, "", ", ".join(f"`{cause}`" for cause in CAUSES) + "."]
    lines += ["", ABOUT_TRANSACTIONS, "", ", ".join(f"`{cause}`" for cause in OF_TRANSACTIONS) + "."]
    lines += ["", ABOUT_RECORDS, "", ", ".join(f"`{cause}`" for cause in OF_RECORDS) + "."]
    lines += ["", ABOUT_INTERNAL_TOPICS]
    lines += ["", "## Errors", "", *ABOUT_ERRORS.splitlines()]
    return "\n".join(lines) + "\n"


def _fields(declared: type) -> Iterator[list[str]]:
    hints = get_type_hints(declared, include_extras=True)
    for name in declared.__struct_fields__:  # type: ignore[attr-defined]  # a msgspec.Struct
        yield [f"`{name}`", cell(hints[name].__metadata__[0].description)]
