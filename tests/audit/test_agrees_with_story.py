"""The story and the audit of one run agree about generations and about which member owns a partition.

The audit judges a member by the answers that the member heard, and the story tells what the coordinator and the leader did. Whenever the
coordinator answers a member well, the two have to agree.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from audit_examples import GIVEN_AWAY, exchange_named, rows_of
from recorded_journals import RECORDED
from told_runs import Rows, scenario_run, simulated_run

from groupmock.audit.auditor import Auditor
from groupmock.audit.course import course_of, with_names
from groupmock.audit.judgement import Kept
from groupmock.journal.read import read
from groupmock.journal.rows import NoteRow, ReplyRow, RequestRow
from groupmock.journal.whose import field
from groupmock.story.folding import Line
from groupmock.story.section import Section
from groupmock.story.teller import StoryTeller
from groupmock_clients.scenarios.catalogue import scenario
from groupmock_clients.scenarios.play import Protocol
from groupmock_codec.api_keys import CONSUMER_GROUP_HEARTBEAT, HEARTBEAT
from groupmock_codec.group_states import STABLE

RULE = "CLIENT-67"
SEEDS = 12


class Teller(StoryTeller):
    """Tells a story and collects the ticket numbers of the commits for which the story says that another member owns the partition."""

    def __init__(self) -> None:
        super().__init__()
        self.ticket = 0
        self.foreign: set[int] = set()

    def _line(self, section: Section, line: Line) -> None:
        if "NOT ITS OWN" in line.told():
            self.foreign.add(self.ticket)
        super()._line(section, line)


class Both:
    """Reads a run with the story and with the audit. `seen` counts the commits that the story calls foreign and the comparisons;
    `differ` lists the disagreements."""

    def __init__(self, rows: Rows) -> None:
        self.seen: Counter[str] = Counter()
        self.differ: list[str] = []
        self.verdicts: dict[int, str] = {}
        self.teller, self.auditor = Teller(), Auditor(judged=self._judged)
        self._names: dict[str, str] = {}
        beats: dict[int, RequestRow] = {}
        for row in rows:
            if isinstance(row, RequestRow | ReplyRow):
                self.teller.ticket = row.ticket
            if isinstance(row, RequestRow) and row.api_key in (HEARTBEAT, CONSUMER_GROUP_HEARTBEAT):
                beats[row.ticket] = row
            if isinstance(row, NoteRow) and row.what == "topic_created":
                self._names[row.fields["topic_id"]] = row.fields["topic"]
            self.teller.feed(row)
            self.auditor.feed(row)
            if isinstance(row, ReplyRow) and row.ticket in beats:
                beat = beats.pop(row.ticket)
                if row.delivered and not row.error and not row.waited:
                    self._compare(beat.message)
        self.teller.close()
        self.seen["foreign"] = len(self.teller.foreign)
        self.differ += [f"commit of ticket {each} is kept" for each in self.teller.foreign if self.verdicts.get(each) == "kept"]

    def _judged(self, code: str, group: str | None, link: Any, result: object) -> None:
        if code == RULE:
            self.verdicts[self.teller.ticket] = "kept" if isinstance(result, Kept) else "broken"

    def _compare(self, beat: Any) -> None:
        tale = self.teller.tale(field(beat, "group_id"))
        group = self.auditor._world.groups.get(field(beat, "group_id"))
        member = None if group is None else group.members.get(field(beat, "member_id"))
        if tale is None or member is None:
            return
        if (course := course_of(member)) is not None:
            if course.given is not None:
                told = tale.fold.given.get(member.id, frozenset())
                self._same("consumer", member.id, with_names(course.assigned, self._names), told)
        elif member.joined is not None and member.synced is not None and tale.fold.state == STABLE:
            self._same("generation", member.id, member.generation, tale.fold.epoch)
            if member.told is not None and tale.owners:
                own = {each for each, owner in tale.owners.items() if owner == member.id}
                self._same("owned", member.id, member.told, own)

    def _same(self, what: str, member: str, believed: object, told: object) -> None:
        self.seen[what] += 1
        if believed != told:
            self.differ.append(f"{what} of {member}: the audit believes {believed}, the story says {told}")


def test_story_and_audit_of_recorded_journals_agree() -> None:
    seen: Counter[str] = Counter()
    for name, path in RECORDED.items():
        both = Both(read(path)[1])
        assert both.differ == [], name
        seen += both.seen
    assert seen["generation"] > 30 and seen["owned"] > 30


def test_story_and_audit_of_simulated_runs_agree() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        both = Both(simulated_run(seed).rows)
        assert both.differ == [], seed
        seen += both.seen
    assert seen["generation"] > 200 and seen["owned"] > 200


def test_story_and_audit_of_a_consumer_group_agree() -> None:
    both = Both(scenario_run(scenario("rolling-bounce"), Protocol("kip-848", "scripted")).rows)
    assert both.differ == []
    assert both.seen["consumer"] > 20


def test_a_commit_that_the_story_calls_another_members_is_broken_whatever_the_assignor_is_called() -> None:
    for name in ("range", "RoundRobinAssigner", "my-own"):
        both = Both(rows_of(exchange_named("CLIENT-67.given", GIVEN_AWAY.format(pause="pause 300").replace("my-own", name))))
        assert both.differ == []
        assert [both.verdicts[each] for each in both.teller.foreign] == ["broken"], name
