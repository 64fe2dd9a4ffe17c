"""Judge stories as `groupmock story` prints them, and convert groups to the judge's View."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from groupmock.data.lag import lag_of
from groupmock.story.telling import tell

from .bench import Verdict
from .history import History
from .judge import View, judge

if TYPE_CHECKING:
    from groupmock.core.cluster import Cluster
    from groupmock.core.groups.view import GroupView
    from groupmock.data.lag import GroupLag
    from groupmock.journal.read import UnknownRow
    from groupmock.journal.rows import Row

ALL_LINES: Final = 1_000_000

Rows = Sequence["Row | UnknownRow"]


def story_of(rows: Iterable[Row | UnknownRow], dropped: int = 0) -> list[str]:
    """Return the complete stories of all groups in these rows. `dropped` is the number of earlier rows that are gone."""
    return list(tell(rows, dropped=dropped, most=ALL_LINES))


def tried(rows: Rows, lines: Sequence[str], views: Mapping[str, View] | None = None) -> list[Verdict]:
    """Return a verdict for each claim of a story, judged by the rows of its run. `rows` are all rows of the run, even if the story was
    made from some of them."""
    return judge(lines, History(rows), views)


def view_of(group: GroupView, lag: GroupLag) -> View:
    """Convert a group from `Broker.groups` and its lag from `Broker.lag` to a View. A story's lag is that of the partitions with a
    committed offset."""
    committed = {(topic, number): offset for topic, offsets in group.offsets.items() for number, offset in offsets.items()}
    behind = sum(row.lag or 0 for row in lag.partitions if row.committed is not None)
    return View(group.state, group.generation, len(group.members), group.leader, group.protocol_name, committed, behind)


def views_of(cluster: Cluster) -> dict[str, View]:
    """Return the state of every group of a cluster that has no thread of its own, such as a simulated one."""
    views = [group.view() for group in cluster.groups.all()]
    return {each.group_id: view_of(each, lag_of(cluster, each)) for each in views}
