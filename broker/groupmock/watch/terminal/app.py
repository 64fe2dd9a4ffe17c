"""Show the live view of a cluster, made with textual. A thread asks the control API again and again (`poll`), and the app shows the
answers.

Texts of peers are shown as plain text, never as textual's markup. textual itself obeys NO_COLOR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

from rich.table import Table as Grid
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import DataTable, Footer, Input, RichLog, Static

from ...control.client import NobodyAnswers, Refused
from ...story.words import text
from ..log_lines import LogLine
from .poll import Poll, Snapshot
from .shown_tables import (
    Table,
    faults_table,
    findings_table,
    groups_table,
    headline,
    line_parts,
    matching,
    members_table,
    narrowed,
    transactions_table,
)

NARROW: Final = 100
"""In a terminal with fewer columns than this, tables omit columns that are shown elsewhere."""
SHOWN: Final = 500
"""The screen shows at most this many lines of the log's tail."""
STYLES: Final = {"warning": "yellow", "error": "bold red", "debug": "dim"}
HELP: Final = """\
up, down    choose a group; its members are shown below it
n, N        the next group, the one before
p           pause: what is shown stays; again: go on
/           filter the tail: lines that have all of these words; Enter keeps it, Escape clears it
Tab         the next table; left and right scroll one that is wider than the terminal
a           a line per row of the journal, all kinds of them; again: the log's lines, one per rebalance
?           this help
q           quit

Everything here is asked over HTTP (docs/reference/control.md): GET /v1/health, /v1/groups, /v1/groups/GROUP and /lag,
/v1/transactions, /v1/faults, /v1/audit/clients, /v1/journal/find. "heard": since a member's last heartbeat,
commit or answer. `*`: it leads.

Any key closes this."""


def _indented(line: LogLine, style: str) -> Grid:
    """Lay out a line of the log's tail. A long line is continued below its text, not below its time."""
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    when, said = line_parts(line)
    grid.add_row(Text(when, style=style), Text(said, style=style))
    return grid


class Looked(NamedTuple):
    """The result of one poll: the answers, the log's tail (at most `SHOWN` lines), the total number of lines, and a number that changes
    with each new tail."""

    snapshot: Snapshot
    lines: Sequence[LogLine]
    total: int
    which: tuple[int, bool]


class Help(ModalScreen[None]):
    """A screen that lists the keys."""

    CSS = """
    Help { align: center middle; }
    #help { width: auto; max-width: 90%; height: auto; max-height: 90%; border: round; padding: 1 2; }
    """

    def compose(self) -> ComposeResult:
        yield Static(Text(HELP), id="help")

    def on_key(self) -> None:
        self.dismiss()


class Tail(RichLog):
    """The tail of the log. It calls `rewrite` when it has another width, because its lines are broken when they are written."""

    def __init__(self, rewrite: Callable[[], None]) -> None:
        super().__init__(id="tail", wrap=True, min_width=1, max_lines=SHOWN)
        self._rewrite = rewrite

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._rewrite)


class WatchApp(App[None]):
    """The live view of a cluster. `poll` asks the control API at `where`; `group` is selected at first; `interval` is in seconds."""

    TITLE = "groupmock watch"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head { height: auto; max-height: 3; text-style: bold; }
    #state { height: auto; max-height: 3; }
    #about { height: auto; max-height: 3; text-style: bold; }
    DataTable { height: auto; max-height: 30%; scrollbar-size-horizontal: 0; }
    #transactions, #faults, #findings { max-height: 20%; }
    #tail { height: 1fr; min-height: 4; border-top: solid; }
    .gone { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("n", "step(1)", "next group"),
        Binding("N", "step(-1)", "previous group", show=False),
        Binding("p", "pause", "pause"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("escape", "clear", "clear the filter", show=False),
        Binding("a", "every_row", "all rows"),
        Binding("question_mark", "help", "help", key_display="?"),
    ]

    def __init__(self, poll: Poll, where: str, group: str | None = None, interval: float = 1.0) -> None:
        super().__init__()
        self._poll, self._where, self.group, self._interval = poll, where, group, interval
        self.paused = False
        self.trouble: str | None = None
        self.wanted = ""
        self.looked: Looked | None = None
        self._asking = False
        self._timer: Timer | None = None
        # Tells which list of last lines is on the screen, and how many of them were written.
        self._written: tuple[tuple[int, bool], int] | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        yield Static(id="state")
        yield DataTable(id="groups", cursor_type="row", zebra_stripes=True)
        yield Static(id="about")
        for name in ("members", "transactions", "faults", "findings"):
            yield DataTable(id=name, cursor_type="none", zebra_stripes=True, classes="gone")
        yield Tail(self._rewrite)
        yield Input(id="filter", placeholder="words that a line is to have", classes="gone", compact=True)
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#groups").focus()
        self.query_one("#tail").can_focus = True
        self._timer = self.set_interval(self._interval, self.look)
        self._tell_state()
        self.look()

    def look(self) -> None:
        """Poll the cluster, unless a poll is running already or the view is paused."""
        if not (self._asking or self.paused):
            self._asking = True
            self.run_worker(self._ask, thread=True)

    def _ask(self) -> None:
        looked, trouble = None, None
        try:
            snapshot = self._poll.look(self.group)
            every = self._poll.every_row
            lines, total = (self._poll.every, self._poll.told_every) if every else (self._poll.lines, self._poll.told)
            looked = Looked(snapshot, list(lines), total, (self._poll.begins, every))
        except (NobodyAnswers, Refused) as failure:
            trouble = str(failure)
        self.call_from_thread(self._came, looked, trouble)

    def _came(self, looked: Looked | None, trouble: str | None) -> None:
        self._asking = False
        self.trouble = trouble
        if looked is not None and not self.paused:
            self.looked = looked
            self._show(looked)
        self._tell_state()

    def _show(self, looked: Looked) -> None:
        snapshot, narrow = looked.snapshot, self.size.width < NARROW
        tail = self.query_one("#tail", RichLog)
        # Tables may grow and leave less room for the last lines of the story; a view scrolled to its end has to stay there.
        if tail.is_vertical_scroll_end:
            self.call_after_refresh(tail.scroll_end, animate=False)
        names = [each.row["group_id"] for each in snapshot.groups]
        if self.group is None and names:
            self.group = names[0]
            self.look()
        self.query_one("#head", Static).update(Text(headline(snapshot)))
        self._fill("groups", groups_table(snapshot), ("GROUP", "STATE", "GEN", "MEMBERS", "LAG") if narrow else (), names)
        chosen = next((each for each in snapshot.groups if each.row["group_id"] == self.group), None)
        self.query_one("#about", Static).update(Text(self._about(snapshot)))
        members = members_table(chosen) if chosen is not None else Table((), [])
        self._fill("members", members, ("MEMBER", "LAG", "HEARD", "ASSIGNMENT") if narrow else ())
        self._fill("transactions", transactions_table(snapshot), ("TRANSACTIONAL ID", "STATE", "EPOCH", "OPEN", "") if narrow else ())
        self._fill("faults", faults_table(snapshot), ("FAULT RULE", "FIRED", "") if narrow else ())
        self._fill("findings", findings_table(snapshot), ("FINDING", "MEMBER", "WHAT THE CLIENT DID") if narrow else ())
        self._write(looked)

    def _about(self, snapshot: Snapshot) -> str:
        """Return the line above the table of members, which is about the selected group."""
        if self.group is None:
            return "no group yet: none of the clients has joined one"
        chosen = next((each for each in snapshot.groups if each.row["group_id"] == self.group), None)
        if chosen is None:
            return f"group {text(self.group)} is not there"
        return f"group {text(self.group)}{f': {chosen.under_way}' if chosen.under_way else ''}"

    def _fill(self, name: str, table: Table, columns: tuple[str, ...], keys: Sequence[str] | None = None) -> None:
        """Fill a table, or hide it without rows. The cursor stays on its key."""
        widget = self.query_one(f"#{name}", DataTable)
        table = narrowed(table, columns) if columns else table
        widget.set_class(not table.rows and keys is None, "gone")
        with self.prevent(DataTable.RowHighlighted):
            widget.clear(columns=True)
            widget.add_columns(*(Text(column) for column in table.columns))
            for place, row in enumerate(table.rows):
                widget.add_row(*(Text(cell, no_wrap=True) for cell in row), key=keys[place] if keys is not None else None)
            if keys is not None and self.group in keys:
                widget.move_cursor(row=keys.index(self.group))

    def _write(self, looked: Looked, anew: bool = False) -> None:
        """Append the new lines of the log's tail to the screen."""
        tail, lines = self.query_one("#tail", RichLog), looked.lines
        if self._written is None or self._written[0] != looked.which or anew:
            tail.clear()
            fresh = lines[-SHOWN:]
        else:
            new = looked.total - self._written[1]
            fresh = lines[-new:] if new > 0 else []
        self._written = looked.which, looked.total
        for line in matching(fresh, self.wanted):
            style = STYLES.get(line.level, "bold" if line.fields().get("kind") == "rebalance" else "")
            tail.write(_indented(line, style))
        tail.border_title = self._title()

    def _title(self) -> str:
        kind = "every row of the journal" if self._poll.every_row else "the log, a line per rebalance"
        shown = f"{kind}; only lines with: {self.wanted}" if self.wanted else kind
        return text(shown, 200).replace("[", "\\[")

    def _tell_state(self) -> None:
        if self.trouble is not None:
            said = f"{self.trouble}: trying again every {self._interval:g} s"
        elif self.paused:
            said = "paused: p goes on"
        else:
            said = f"live from {text(self._where, 200)}, every {self._interval:g} s"
        self.query_one("#state", Static).update(Text(text(said, 400), style="bold red" if self.trouble is not None else ""))

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Select the group of the highlighted row."""
        if event.data_table.id == "groups" and event.row_key.value not in (None, self.group):
            self.group = event.row_key.value
            self.look()
            if self.looked is not None:
                self._show(self.looked)

    def on_resize(self, event: Resize) -> None:
        if self.looked is not None:
            self._show(self.looked)

    def _rewrite(self) -> None:
        if self.looked is not None:
            self._write(self.looked, anew=True)
            self.query_one("#tail", RichLog).scroll_end(animate=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Apply the filter after each letter that is typed."""
        self.wanted = event.value
        if self.looked is not None:
            self._write(self.looked, anew=True)

    def on_input_submitted(self) -> None:
        self._leave_filter()

    def action_step(self, by: int) -> None:
        """Select the next or the previous group."""
        names = [each.row["group_id"] for each in self.looked.snapshot.groups] if self.looked is not None else []
        if names:
            at = names.index(self.group) if self.group in names else -1
            self.query_one("#groups", DataTable).move_cursor(row=(at + by) % len(names))

    def action_pause(self) -> None:
        """Pause the view, or resume it."""
        self.paused = not self.paused
        self._tell_state()
        self.look()

    def action_filter(self) -> None:
        """Open the filter, which takes words that lines have to contain."""
        field = self.query_one("#filter", Input)
        field.remove_class("gone")
        field.focus()

    def action_clear(self) -> None:
        """Remove the filter and its field."""
        self.query_one("#filter", Input).value = ""
        self._leave_filter()

    def action_every_row(self) -> None:
        """Switch the log's tail between a line for each row and the lines of the short log."""
        self._poll.every_row = not self._poll.every_row
        self.look()

    def action_help(self) -> None:
        self.push_screen(Help())

    def _leave_filter(self) -> None:
        self.query_one("#filter", Input).add_class("gone")
        self.query_one("#groups").focus()
