"""Opens the live page in a browser, for `make live` and for its picture in the docs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waiting import until as waited

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize


def until(page: Page, so: str, arg: Any = None) -> None:
    """Wait until a JavaScript function returns true. Playwright's own `wait_for_function` evaluates text, which the page's policy
    forbids."""
    waited(so, lambda: page.evaluate(so, arg), lambda: page.evaluate("() => document.getElementById('status').textContent"), 30)


class Visit:
    """A page that is open in the browser. `said` has the lines of its console, `may_say` the harmless ones, and `asked` the requested
    addresses."""

    def __init__(self, browser: Browser, url: str, **how: Any) -> None:
        size: ViewportSize = {"width": how.pop("width", 1400), "height": how.pop("height", 1000)}
        self.context = browser.new_context(viewport=size, **how)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.may_say = ""
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.url = url
        self.page.goto(url)

    def steady(self, members: int) -> Page:
        """Wait until the page lists and draws this many members."""
        until(self.page, f"() => document.querySelectorAll('#member-rows tr').length === {members}")
        until(self.page, f"() => document.querySelectorAll('.row.lane').length >= {members}")
        until(self.page, "() => document.querySelectorAll('#tail li').length > 0")
        return self.page
