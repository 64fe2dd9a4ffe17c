"""Write the page about other languages: what the examples have in common, and the files of each, which `make live` runs
(tests/live/examples)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tools.runs import ROOT

from .markdown import notice

EXAMPLES: Final = ROOT / "examples"
NOT_RUN: Final = "<!-- not run: `make live` installs and runs the examples -->"
INTRO: Final = f"""\
{notice("languages")}
# Test a consumer in Java, Node, Go or any other language

groupmock is a server: a test in any language starts it as a process, points its consumers at the port, and says over HTTP what shall happen
to them. Nothing of it is bound to Python but the installation: `pip install '.[control]'` in a checkout, or the
[container image](https://github.com/groupmock/groupmock/tree/main/docker).

Small services with their tests stand in [examples/](https://github.com/groupmock/groupmock/tree/main/examples): a second member, a crash,
a commit that comes too late, a lost answer. Each language needs some 60 lines of its own to start the server and ask it, and its tests run
in seconds.

## What every test does

1. **Start once.** `groupmock serve --port 0 --control 0 --log off --topic orders:4` prints one line of JSON when it answers and nothing
   else on stdout: `bootstrap` is what clients connect to, `control` the URL of the control API. End it with SIGTERM.
2. **Reset before each test.** `POST /v1/reset` forgets topics, groups, records, rules and rows; the topics of the command line come back.
   It closes every client's connection: stop the consumers of a test before the next begins.
3. **Bring about.** Below.
4. **Wait, never sleep.** A wait is answered at once when it is so already, else when it becomes so; with 408 after `timeout` seconds (10),
   and the sentence says what was missing. Give the test itself more time than that.
5. **When it fails, print the story**: `story` of `GET /v1/groups/NAME`, lines to read.

| you want | ask |
|---|---|
| records in a topic | `POST /v1/topics/orders/records`, a record a line: `{{"value": "coffee", "partition": 0}}` |
| to know that a group has settled | `GET /v1/groups/kitchen/wait?state=Stable&members=2` |
| that every partition is given | `...&assignment=orders`: its answer says who has what |
| that all was read and committed | `GET /v1/groups/kitchen/wait?lag=0` |
| a crash, and no waiting for the session | `POST /v1/groups/kitchen/freeze`, `.../expire`, each with `{{"member": "anna"}}` |
| a member put out of its group while it works | `POST /v1/groups/kitchen/expire` alone |
| a stale generation | `POST /v1/groups/kitchen/generation` |
| an answer that is lost, late or an error | `POST /v1/faults` with a [rule](faults.md), then `GET /v1/faults/NAME/wait?hits=1` |
| a coordinator that moves, a node that stops | `POST /v1/coordinators/move`, `POST /v1/nodes/1/stop` |
| to know what a client sent and was told | `GET /v1/journal/wait?api=OffsetCommit&error=UNKNOWN_MEMBER_ID` |

A member is named by its client id (where one member alone has it), its `group.instance.id` or its member id. Every route with its fields
is in the [control API](../reference/control.md) and, for machines, at `/openapi.json`: generators of typed clients take it
(`npx openapi-typescript $CONTROL/openapi.json -o groupmock.d.ts`). For a dozen calls a `get` and a `post` are enough.

What a client does by itself takes its own time: set its heartbeat interval to 100 ms, so that it hears of a rebalance soon, and its request
timeout to 1 s, so that it gives a lost answer up soon. The rest of its configuration is that of production.
"""
FENCES: Final = {".java": "java", ".js": "js", ".go": "go", ".xml": "xml"}
LANGUAGES: Final = {
    "Java: JUnit 5": ("java", "the stock consumer; the same for Kotlin and Scala", "mvn test", [
        "src/test/java/example/Groupmock.java", "src/test/java/example/CookTest.java", "src/main/java/example/Cook.java",
    ]),
    "Java: Spring Boot": ("spring", "spring-kafka, and the helper above", "mvn test", [
        "src/test/java/example/KitchenTest.java", "src/main/java/example/Kitchen.java",
    ]),
    "Node: vitest": ("node", "KafkaJS; any client of Node", "npm install && npm test", [
        "test/groupmock.js", "test/cook.test.js", "src/cook.js",
    ]),
    "Go: testing": ("go", "franz-go; any client of Go", "go test ./...", ["groupmock_test.go", "cook_test.go", "cook.go"]),
}  # fmt: skip
"""Maps a heading to the folder in examples/, its client, its command, and its files in the order of reading: the helper, the tests, the
service."""
SAID: Final = ("The helper, yours to keep:", "The tests:", "The service:")


def text() -> str:
    return "\n".join([INTRO, *(line for heading in LANGUAGES for line in _language(heading))])


def _language(heading: str) -> Iterator[str]:
    folder, client, command, files = LANGUAGES[heading]
    where = f"https://github.com/groupmock/groupmock/tree/main/examples/{folder}"
    yield f"## {heading}\n\nWith {client}. Run it in [examples/{folder}]({where}): `{command}`.\n"
    yield _habits(folder)
    for said, name in zip(SAID[-len(files) :], files, strict=True):
        source = EXAMPLES / folder / name
        yield f"{said} `{name}`\n\n{NOT_RUN}\n```{FENCES[source.suffix]}\n{source.read_text(encoding='utf-8')}```\n"


def _habits(folder: str) -> str:
    """Return the last paragraph of the example's README, which is about its client."""
    last = (EXAMPLES / folder / "README.md").read_text(encoding="utf-8").strip().rpartition("\n\n")[2]
    return f"{last}\n"
