"""The live page works in Chromium: contents, keys and mouse, reconnection, and the accessibility rules of axe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import ShareConsumer
from crowd import Crowd
from page_visit import Visit, until
from playwright.sync_api import Page
from transaction_asks import opens
from wcag import violations
from wrong_client import wrong

from groupmock import Broker
from groupmock.rig.wire import Client

# Playwright's blocking interface runs an event loop on the thread of the tests, where groupmock's waits warn. No client is on that loop.
pytestmark = pytest.mark.filterwarnings("ignore:.*blocks the event loop of this thread:RuntimeWarning")

Keep = Callable[..., None]
EVIL: Final = "</script><img src=x onerror=\"document.title='taken'\">\u2028\u202e<b>"
LOOKS: Final[dict[str, dict[str, Any]]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "narrow": {"width": 400, "height": 800},
    "calm": {"reduced_motion": "reduce"},
}


FOCUSED: Final = """() => {
    const here = document.activeElement;
    return here === document.body ? '' : here.id || here.className || here.tagName;
}"""


def lit(page: Page) -> str | None:
    return page.evaluate("() => document.querySelector('.state-box.lit')?.dataset.state ?? null")


def wait_lit(page: Page, state: str) -> None:
    until(page, "(state) => document.querySelector('.state-box.lit')?.dataset.state === state", arg=state)


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(broker: Broker, crowd, visit, keep: Keep, look: str) -> None:
    crowd()
    broker.add_fault(name="slow-commit", when={"api": "OffsetCommit", "client_id": "ben"}, do={"kind": "delay", "seconds": 0.2})
    page = visit(**LOOKS[look]).steady(3)
    until(page, "() => Number(document.querySelector('#fault-rows .number').textContent) > 0")
    keep(page, look)
    assert violations(page) == []
    page.locator("#adding > summary").click()
    page.select_option("#tail-form", "lines")
    until(page, "() => document.getElementById('tail').textContent.includes('OffsetCommit v')")
    page.locator("#member-rows input").first.check()
    until(page, "() => !document.getElementById('expire').disabled")
    keep(page, f"{look}-open")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.click("#help")
    assert violations(page) == []


def test_it_shows_groups_members_machine_and_picture(crowd, visit) -> None:
    crowd()
    page = visit().steady(3)
    assert lit(page) == "Stable"
    assert [each.split("#")[0] for each in page.locator("#member-rows label").all_text_contents()] == ["anna", "ben", "cleo"]
    assert page.locator("#member-rows .owns").all_text_contents()[0].startswith("orders/")
    assert "Stable" in (page.text_content("#group-rows") or "")
    assert [each.split("#")[0] for each in page.locator(".row.lane .label").all_text_contents()] == ["anna", "ben", "cleo"]
    states = page.locator(".state-box").evaluate_all("(all) => all.map((each) => each.dataset.state)")
    assert states == ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"]


def test_a_crash_is_seen_as_it_happens(broker: Broker, crowd, visit, keep: Keep) -> None:
    three: Crowd = crowd()
    page = visit().steady(3)
    broker.hold("kitchen", "PreparingRebalance")
    three.crash("ben")
    broker.expire("kitchen", "ben")
    wait_lit(page, "PreparingRebalance")
    assert page.locator(".state-box.held").count() == 1
    until(page, "() => document.getElementById('span').textContent.startsWith('0.000')")
    keep(page, "crash")
    broker.release("kitchen")
    wait_lit(page, "Stable")
    until(page, "() => document.querySelectorAll('#member-rows tr').length === 2")
    until(page, "() => document.getElementById('tail').textContent.includes('ben')")


def test_a_shift_in_the_kitchen(broker: Broker, crowd, visit, keep: Keep) -> None:
    """The screenshot of this run is docs/images/live-page.png."""
    shift: Crowd = crowd()
    page = visit(height=1180).steady(3)
    page.select_option("#window", "30")
    broker.add_fault(name="slow-commit", when={"api": "OffsetCommit", "client_id": "ben"}, do={"kind": "delay", "seconds": 0.3})
    broker.add_fault(name="lost-sync", when={"api": "SyncGroup", "client_id": "finn"}, do={"kind": "drop"})
    until(page, "() => Number(document.querySelector('#fault-rows .number')?.textContent ?? 0) >= 2")
    shift.crash("ben")
    broker.expire("kitchen", "ben")
    broker.wait_for("kitchen", state="Stable", members=2, timeout=60)
    shift.come("dora")
    broker.wait_for("kitchen", state="Stable", members=3, timeout=60)
    until(page, "() => document.querySelectorAll('.row.lane').length === 4")
    broker.hold("kitchen", "CompletingRebalance")
    shift.come("emil")
    wait_lit(page, "CompletingRebalance")
    page.locator("#member-rows input").nth(1).check()
    until(page, "() => document.querySelectorAll('#member-rows tr').length === 4 && !document.getElementById('expire').disabled")
    until(page, "() => document.querySelectorAll('.row.lane').length === 5")
    assert "SyncGroup" in (page.text_content("#fault-rows .near") or "") + (page.locator("#fault-rows tr").nth(1).text_content() or "")
    keep(page, "page", False)
    broker.release("kitchen")
    wait_lit(page, "Stable")


def test_everything_can_be_done_by_keys(broker: Broker, crowd, visit) -> None:
    crowd()
    page = visit().steady(3)
    page.keyboard.press("m")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    until(page, "() => !document.getElementById('expire').disabled")
    page.keyboard.press("h")
    until(page, "() => document.querySelector('.state-box.held') !== null")
    assert "/v1/groups/kitchen/hold" in (page.text_content("#curl") or "")
    page.keyboard.press("e")
    wait_lit(page, "PreparingRebalance")
    page.keyboard.press("r")
    wait_lit(page, "Stable")
    page.keyboard.press("b")
    until(page, "() => Number(document.querySelector('#group-rows .number').textContent) >= 3")
    page.keyboard.press("s")
    until(page, "() => document.getElementById('curl').textContent.includes('/v1/clock/step')")
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.id") == "rule-kind"
    page.keyboard.press("Escape")
    page.locator("#tail").focus()
    page.keyboard.press("p")
    until(page, "() => document.getElementById('status').textContent === 'paused'")
    page.keyboard.press("p")
    page.keyboard.press("?")
    assert page.evaluate("document.getElementById('keys-dialog').open")
    page.locator("#keys-on").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    assert page.text_content("#status") == "live"


def test_tab_goes_through_the_page_and_out_of_it(crowd, visit) -> None:
    crowd()
    page = visit().steady(3)
    seen: list[str] = []
    for _ in range(120):
        page.keyboard.press("Tab")
        here = page.evaluate(FOCUSED)
        if not here:
            break
        assert page.evaluate("() => document.activeElement.matches(':focus-visible')"), here
        seen.append(here)
    else:
        pytest.fail(f"no end of it: {seen[-10:]}")
    assert {"pause", "step-ms", "hold-state", "scroll", "tail", "tail-form"} <= set(seen)


def test_the_form_adds_a_rule_that_is_counted_released_and_removed(broker: Broker, crowd, visit, keep: Keep) -> None:
    crowd()
    here = visit()
    here.may_say = "400 (Bad Request)"
    page = here.steady(3)
    page.locator("#adding > summary").click()
    page.select_option("#rule-kind", "hold")
    page.fill("#rule-api", "OffsetCommit")
    page.fill("#rule-client", "ben")
    page.fill("#rule-name", "held-commit")
    page.fill("#rule-times", "1")
    page.click("#rule button:has-text('Add the rule')")
    until(page, "() => document.querySelector('#fault-rows')?.textContent.includes('held-commit')")
    until(page, "() => !document.querySelector('#fault-rows .steer button').disabled")
    page.click("#fault-rows .steer button:has-text('Release')")
    until(page, "() => document.querySelector('#fault-rows .steer button').disabled")
    page.fill("#rule-group", "nobody")
    page.select_option("#rule-kind", "error")
    page.fill("#rule-more input[name=code]", "NO_SUCH_ERROR")
    page.click("#rule button:has-text('Add the rule')")
    until(page, "() => document.querySelector('#rule .said')?.textContent.includes('NO_SUCH_ERROR')")
    assert page.evaluate("document.activeElement.name") == "code"
    assert page.get_attribute("[aria-invalid=true]", "aria-describedby") == page.get_attribute("#rule .said", "id")
    keep(page, "error-beside-its-button")
    assert violations(page) == []
    page.fill("#rule-more input[name=code]", "NOT_COORDINATOR")
    assert page.locator("[aria-invalid=true]").count() == 0
    page.click("#rule button:has-text('Add the rule')")
    until(page, "() => document.querySelector('#fault-rows').textContent.includes('group is')")
    page.locator("#fault-rows .steer button:has-text('Remove')").first.click()
    until(page, "() => document.querySelectorAll('#fault-rows tr').length === 1")
    assert len(broker.faults) == 1
    assert page.text_content("#faults > .said") == "Removed held-commit."
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_a_refused_number_is_marked_in_its_field(crowd, visit) -> None:
    crowd()
    here = visit()
    here.may_say = "400 (Bad Request)"
    page = here.steady(3)
    page.fill("#step-ms", "2678400001")
    page.keyboard.press("Enter")
    until(page, "() => document.querySelector('#step .said')?.textContent.includes('31 days at most')")
    assert page.get_attribute("#step-ms", "aria-invalid") == "true"


def test_a_command_is_not_sent_to_a_server_that_is_gone(crowd, visit, broker: Broker, keep: Keep) -> None:
    three = crowd()
    here = visit()
    here.may_say = "net::ERR"
    page = here.steady(3)
    three.end()
    broker.stop()
    until(page, "() => document.getElementById('status').dataset.is === 'gone'")
    page.click("#rebalance")
    until(page, "() => document.querySelector('#machine-part .said.wrong')?.textContent === 'Not sent: the server does not answer.'")
    keep(page, "server-gone")
    assert violations(page) == []


def test_a_cluster_without_groups_shows_how_to_reach_it(broker: Broker, crowd, visit, keep: Keep) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"]).page
    until(page, "() => !document.getElementById('welcome').hidden")
    assert page.text_content("#topics") == "Topics: orders (12 partitions)."
    assert page.is_hidden("#members") and page.is_hidden("#timeline")
    keep(page, "empty")
    assert violations(page) == []
    page.click("#copy")
    until(page, "() => document.querySelector('#welcome .said').textContent === 'Copied.'")
    assert page.evaluate("navigator.clipboard.readText()") == f"bootstrap.servers={broker.bootstrap}"
    crowd(["anna"])
    until(page, "() => document.getElementById('welcome').hidden && document.querySelectorAll('.row.lane').length === 1")


def test_lag_and_rate_are_lines_over_time(broker: Broker, crowd, visit, keep: Keep) -> None:
    for partition in range(12):
        for _ in range(100):
            broker.produce("orders", b"x", partition=partition)
    crowd(commit_s=0.5, records=2)
    crowd(["dora", "emil"], "billing")
    page = visit().page
    long = "[...document.querySelectorAll('.trend .line')].filter((each) => each.getAttribute('d')?.split('L').length > 6)"
    until(page, f"() => {long}.length === 4")
    rows = "(all) => all.map((each) => [...each.querySelectorAll('.trend')].map((one) => one.getAttribute('aria-label')))"
    (_, idle), (_, busy) = sorted(page.locator("#group-rows tr").evaluate_all(rows), key=str)
    assert idle.startswith("rate in the last ") and idle.endswith(": 0 to 0")
    assert busy.startswith("rate in the last ") and not busy.endswith(" 0")
    keep(page, "two-groups")
    assert violations(page) == []


def test_a_narrow_page_scrolls_only_its_tables(broker: Broker, crowd, visit, keep: Keep) -> None:
    crowd(["m" * 60, "ben"], "g" * 200)
    broker.add_fault(name="f" * 80, when={"client_id": "nobody"}, do={"kind": "drop"})
    wrong(broker.bootstrap)
    page = visit(width=400, height=800).steady(2)
    until(page, "() => document.querySelectorAll('#finding-rows tr').length === 1")
    keep(page, "narrow-long-names")
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    wide = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => getComputedStyle(each).overflowX)"
    assert set(page.locator(".wide").evaluate_all(wide)) == {"auto"}
    assert violations(page) == []


def test_journal_and_timeline_are_downloaded(crowd, visit, tmp_path: Path) -> None:
    crowd()
    page = visit().steady(3)
    files = ("#save-journal", "groupmock-journal.jsonl", '"anna"'), ("#save-picture", "groupmock-timeline.html", "groupmock timeline<")
    for button, name, has in files:
        with page.expect_download() as download:
            page.click(button)
        assert download.value.suggested_filename == name
        download.value.save_as(tmp_path / name)
        assert has in (tmp_path / name).read_text()


def test_the_tail_is_filtered(crowd, visit) -> None:
    crowd()
    page = visit().steady(3)
    page.select_option("#tail-form", "lines")
    page.select_option("#tail-kind", "request")
    page.fill("#tail-client", "cleo")
    page.keyboard.press("Enter")
    every = "const all = [...document.querySelectorAll('#tail li')].map((each) => each.textContent)"
    until(page, f"() => {{ {every}; return all.length > 1 && all.every((each) => each.includes('cleo')) }}")
    page.fill("#tail-words", "offsetcommit")
    until(page, f"() => {{ {every}; return all.every((each) => each.includes('OffsetCommit')) }}")


def test_the_focus_stays_in_a_picture_that_grows(crowd, visit) -> None:
    crowd()
    page = visit().steady(3)
    page.locator(".row.lane .label").nth(1).focus()
    page.keyboard.press("Tab")
    named = page.evaluate("document.activeElement.getAttribute('aria-label')")
    drawn = page.evaluate("document.getElementById('span').textContent")
    until(page, "(drawn) => document.getElementById('span').textContent !== drawn", arg=drawn)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == named


def test_hostile_names_do_nothing_but_show(broker: Broker, crowd, visit, keep: Keep) -> None:
    broker.create_topic("x.y", 3)
    crowd([EVIL, "ben"], EVIL, topic="orders")
    broker.add_fault(name=EVIL[:60], when={"group": EVIL}, do={"kind": "delay", "seconds": 0.01}, times=3)
    page = visit().steady(2)
    page.select_option("#tail-form", "lines")
    until(page, "() => document.getElementById('tail').textContent.includes('onerror')")
    page.locator("#member-rows input").first.check()
    until(page, "() => !document.getElementById('rebalance').disabled")
    page.click("#rebalance")
    until(page, "() => Number(document.querySelector('#group-rows .number').textContent) > 1")
    keep(page, "hostile")
    assert page.title() == "groupmock"
    assert page.locator("img:not([src='/page/sign.svg']), iframe").count() == 0
    assert page.evaluate("() => [...document.querySelectorAll('b')].every((each) => each.closest('#fault-rows'))")
    assert "<img src=x" in (page.text_content("#member-rows") or "")


def test_a_reset_is_survived(broker: Broker, crowd, visit) -> None:
    three: Crowd = crowd()
    here = visit()
    here.may_say = "404 (Not Found)"  # The browser may still request a group that was deleted a moment ago, and gets a 404.
    page = here.steady(3)
    three.end()
    page.click("#reset")
    page.click("#reset-dialog button:has-text('Reset')")
    until(page, "() => document.querySelectorAll('#group-rows tr').length === 0")
    until(page, "() => document.getElementById('status').textContent === 'live'")
    crowd(["dora"], "bar")
    visit_rows = "() => document.getElementById('group-rows').textContent.includes('bar')"
    until(page, visit_rows)


def test_three_hundred_members(broker: Broker, crowd, visit, keep: Keep) -> None:
    crowd([f"m{number:03}" for number in range(300)], partitions=12, beat_s=2.0, commit_s=2.0)
    page = visit().steady(300)
    keep(page, "three-hundred")


def test_findings_appear(broker: Broker, crowd, visit, keep: Keep) -> None:
    crowd()
    page = visit().steady(3)
    assert page.text_content("#no-findings") == "No client did anything wrong so far."
    wrong(broker.bootstrap)
    until(page, "() => document.querySelectorAll('#finding-rows tr').length === 1")
    told = page.text_content("#finding-rows tr") or ""
    assert "CLIENT-05" in told and "billing" in told and "sent a SyncGroup for generation 7" in told and "Right: " in told
    assert page.is_hidden("#no-findings")
    keep(page, "findings")
    at = float((page.text_content("#finding-rows .number button") or "").removesuffix(" s"))
    page.locator("#finding-rows .number button").first.click()
    page.wait_for_selector("#scroll:focus")
    until(page, "(at) => { const [a, b] = document.getElementById('span').textContent.match(/[0-9.]+/g).map(Number);"
                " return a <= at && at <= b && b - a < 2.1 }", arg=at)  # fmt: skip


def test_transactions_are_seen_and_steered(broker: Broker, crowd, visit, keep: Keep) -> None:
    crowd()
    with Client("127.0.0.1", int(broker.bootstrap.rpartition(":")[2])) as client:
        opens(client, "till", 0, 1, 5)
        opens(client, EVIL, 3, timeout_ms=1000)
        here = visit()
        page = here.steady(3)
        state = "(wanted) => document.querySelector('#transaction-rows tr:has(input:checked) .state').textContent === wanted"
        until(page, "() => document.querySelectorAll('#transaction-rows tr').length === 2")
        assert page.locator("#transactions .tools button:enabled").count() == 0
        page.locator("#transaction-rows input").first.check()
        until(page, "() => document.getElementById('chosen-transaction').textContent === 'till: orders/0-1,5'")
        keep(page, "transactions")
        assert violations(page) == []
        page.click("#transaction-hold")
        page.click("#transaction-abort")
        until(page, state, arg="PrepareAbort")
        until(page, "() => document.querySelector('#transaction-rows .held') !== null")
        assert page.is_disabled("#transaction-fence") and page.is_disabled("#transaction-expire")
        page.click("#transaction-release")
        until(page, state, arg="CompleteAbort")
        page.click("#transaction-fence")
        until(page, state, arg="Empty")
        here.may_say = "404 (Not Found)"  # The browser may still request a transactional id that was deleted a moment ago, and gets a 404.
        page.click("#transaction-expire")
        until(page, "() => document.querySelectorAll('#transaction-rows tr').length === 1")
        assert "/v1/transactions/till/expire" in (page.text_content("#curl") or "")
        page.keyboard.press("x")
        assert page.evaluate("document.activeElement.name") == "transaction"


@pytest.fixture
def guarded() -> Any:
    with Broker(topics={"orders": 3}, control=0, token="s3cr3t") as broker:
        yield broker


def test_the_token_is_asked_for_and_kept_nowhere(browser, guarded: Broker, keep: Keep) -> None:
    here = Visit(browser, f"{guarded.control}/")
    page = here.page
    page.wait_for_selector("#ask:not([hidden])")
    keep(page, "token")
    assert violations(page) == []
    assert here.said == []
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    until(page, "() => document.getElementById('refused').textContent !== ''")
    page.fill("#token", "s3cr3t")
    page.keyboard.press("Enter")
    until(page, "() => document.getElementById('status').textContent === 'live'")
    kept = page.evaluate("() => [document.cookie, localStorage.length, sessionStorage.length, location.href.includes('s3cr3t')]")
    assert kept == ["", 0, 0, False]
    assert "s3cr3t" not in page.content()
    assert not [url for url in here.asked if "s3cr3t" in url]
    here.context.close()


def test_clients_that_were_not_let_in_are_told_with_the_remedy(broker: Broker, visit) -> None:
    page = visit().page
    assert page.locator("#not-let-in").is_hidden()
    host, _, port = broker.bootstrap.rpartition(":")
    with Client(host, int(port)) as stranger:
        stranger.write(b"\x16\x03\x01\x02\x00\x01")
        until(page, "() => document.querySelectorAll('#not-let-in li').length === 1")
    assert "Set security.protocol to PLAINTEXT" in page.locator("#not-let-in").inner_text()
    assert violations(page) == []


def test_records_of_a_share_group_are_shown_and_their_locks_expire(broker: Broker, visit, keep: Keep) -> None:
    broker.configure_group("workers", {"share.auto.offset.reset": "earliest"})
    for partition in range(3):
        broker.produce("orders", b"x", partition=partition)
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "workers", "share.acknowledgement.mode": "explicit"}
    worker = ShareConsumer(settings | {"client.id": "anna"})
    worker.subscribe(["orders"])
    taken: list[Any] = []
    while not taken:
        taken += worker.poll(timeout=0.1)
    page = visit(height=1400).page
    until(page, "() => [...document.querySelectorAll('#record-rows td.state')].some((cell) => cell.textContent === 'acquired')")
    assert page.text_content("#record-rows tr td:nth-child(5)") == "anna"
    assert page.locator("#group-tools").is_hidden(), "a share group has neither rebalances nor states to be held in"
    keep(page, "share-group")
    page.click("#expire-locks")
    until(page, "() => [...document.querySelectorAll('#record-rows td.state')].every((cell) => cell.textContent === 'available')")
    until(page, "() => document.getElementById('records-head').textContent === 'Records in flight (0 acquired)'")
    for message in taken:
        worker.acknowledge(message)
    worker.close()
