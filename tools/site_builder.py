"""Build the site: the pages of docs/ by Zensical, a timeline to try, and a check that a reader's browser fetches nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

TREE: Final = Path(__file__).resolve().parents[1]
SITE: Final = TREE / "site"
EXAMPLE: Final = "how-to/timeline-example.html"
SCENARIO: Final = ("rolling-bounce", "--members", "3", "--protocol", "range/scripted", "--protocol", "design-2/scripted")
"""The scenario of the timeline to try. It is played on the virtual clock, so that each build draws the same picture."""

FOREIGN: Final = re.compile(r"(?:https?:)?//[\w.-]+\.\w[^\s\"'`)<>]*")
IN_STYLE: Final = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\s\"')]+)")
NAMESPACES: Final = ("http://www.w3.org/",)
"""Addresses that only name something, as XML does."""
LICENCES: Final = ("https://fontawesome.com",)
SCRIPTED: Final = {
    "https://api.github.com/": 'data-md-component="source"',
    "https://${": 'data-md-component="source"',  # a repository on a server of GitLab
    "https://unpkg.com/ace-builds": "pyodide",
    "https://unpkg.com/glightbox": "glightbox",
    "https://unpkg.com/mermaid": "mermaid",
    "https://unpkg.com/pyodide": "pyodide",
    "https://cdn.jsdelivr.net/pyodide/": "pyodide",
    "https://unpkg.com/resize-observer-polyfill": "",
}
"""Maps addresses in the theme's scripts to the class or attribute of a page that makes the scripts fetch them. Empty for an address that
is fetched by browsers without ResizeObserver only, which are older than the theme supports."""
FETCHED: Final = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "embed": "src",
                  "object": "data", "use": "href"}  # fmt: skip
"""Maps elements to their attribute whose address a browser fetches by itself. Of `link` it is `href`, unless the link only names a page."""
ONLY_NAMED: Final = {"canonical", "next", "prev", "alternate", "author", "license"}


class Page(HTMLParser):
    """Collects the foreign addresses that a page fetches, what makes the theme's scripts fetch some, and the files that it shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.foreign: list[str] = []
        self.triggers: set[str] = set()
        self.shown: list[str] = []
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        name = FETCHED.get(tag) or ("href" if tag == "link" and given.get("rel") not in ONLY_NAMED else "")
        found = [given.get(name, ""), *given.get("srcset", "").split(",")]
        self.foreign += [address.strip() for address in found if FOREIGN.match(address.strip())]
        self.foreign += IN_STYLE.findall(given.get("style", ""))
        if tag in ("img", "iframe") and ":" not in given.get(name, ":"):
            self.shown.append(given[name])
        self.triggers |= {*given.get("class", "").split(), *(f'{key}="{value}"' for key, value in given.items())}

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.foreign += IN_STYLE.findall(data)


def faults(site: Path) -> Iterator[str]:
    """Yield a sentence for each foreign address that a page of the site fetches, or may fetch, and for each picture that is not there."""
    triggers: set[str] = set()
    for file in sorted(site.rglob("*.html")):
        page = Page(file.read_text(encoding="utf-8"))
        triggers |= page.triggers
        yield from (f"{file.relative_to(site)}: fetches {address}" for address in page.foreign)
        # The pages' own links are checked by Zensical, except those of elements that are written in HTML.
        yield from (f"{file.relative_to(site)}: there is no {each}" for each in page.shown if not _file(site, file, each).is_file())
    for file in sorted(site.rglob("*.css")):
        yield from (f"{file.relative_to(site)}: fetches {address}" for address in IN_STYLE.findall(file.read_text(encoding="utf-8")))
    for file in sorted(site.rglob("*.js")):
        for address in sorted(set(re.findall(r"https?://[^\s\"'`)<>]+", file.read_text(encoding="utf-8")))):
            if address.startswith((*NAMESPACES, *LICENCES)):
                continue
            trigger = next((trigger for start, trigger in SCRIPTED.items() if address.startswith(start)), None)
            if trigger is None:
                yield f"{file.relative_to(site)}: has {address}: find out what makes it fetch that, and add it to SCRIPTED"
            elif trigger in triggers:
                yield f"{file.relative_to(site)}: fetches {address}, because a page has {trigger}"


def _file(site: Path, page: Path, address: str) -> Path:
    return (site / address.lstrip("/") if address.startswith("/") else page.parent / address).resolve()


def build() -> None:
    """Write the site with all its pages. Raises CalledProcessError if the pages have a wrong link or cannot be built."""
    subprocess.run([Path(sys.executable).parent / "zensical", "build", "--strict", "--clean"], cwd=TREE, check=True)
    with tempfile.TemporaryDirectory() as folder:
        groupmock = [sys.executable, "-m", "groupmock"]
        subprocess.run([*groupmock, "scenario", "run", *SCENARIO, "--journal", folder], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*groupmock, "timeline", folder, "-o", SITE / EXAMPLE], check=True)


def main() -> int:
    try:
        build()
    except subprocess.CalledProcessError as failed:
        return failed.returncode
    wrong = list(faults(SITE))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
