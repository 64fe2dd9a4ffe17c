"""The live page works in Chromium: contents, keys and mouse, reconnection, and the accessibility rules of axe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from crowd import Crowd
from page_visit import Visit, until
from playwright.sync_api import Page
from transaction_asks import opens
from wcag import violations
from wrong_client import wrong

from groupmock import Broker
from groupmock.rig.wire import Client

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
    until(page, "() => document.getElementById('tail').textContent.includes('OffsetCommit v7')")
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
    keep(page, "live-page", False)
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


def test_the_form_adds_a_rule_that_is_counted_released_and_removed(broker: Broker, crowd, visit) -> None:
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
    until(page, "() => document.getElementById('said').textContent.includes('NO_SUCH_ERROR')")
    page.fill("#rule-more input[name=code]", "NOT_COORDINATOR")
    page.click("#rule button:has-text('Add the rule')")
    until(page, "() => document.querySelector('#fault-rows').textContent.includes('group is')")
    page.locator("#fault-rows .steer button:has-text('Remove')").first.click()
    until(page, "() => document.querySelectorAll('#fault-rows tr').length === 1")
    assert len(broker.faults) == 1


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
