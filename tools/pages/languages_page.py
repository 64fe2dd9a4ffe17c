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

groupmock is a server: a test in any language starts it as a process, points its consumers at the port, and steers their
groups over HTTP. Only the installation needs Python: `pip install '.[control]'` in a checkout, or the
[container image](https://github.com/groupmock/groupmock/tree/main/docker).

The folder [examples/](https://github.com/groupmock/groupmock/tree/main/examples) has small services with their tests: a second member, a
crash, a late commit, a lost answer. In each language some 60 lines start the server and send requests to it, and the tests run in seconds.

## What every test does

1. **Start once.** `groupmock serve --port 0 --control 0 --log off --topic orders:4` prints one line of JSON when it is ready and nothing
   else on stdout: `bootstrap` is the address for clients, `control` the URL of the control API. End the server with SIGTERM.
2. **Reset before each test.** `POST /v1/reset` forgets topics, groups, records, rules and rows; the topics of the command line come back.
   The reset closes every client's connection: stop the consumers of a test before the next test begins.
3. **Cause an event.** The table below has the requests that cause events.
4. **Wait, never sleep.** A wait returns as soon as its condition holds, or with 408 after `timeout` seconds (10) and a sentence about the
   missing condition. Give the test itself more time than the wait.
5. **If the test fails, print the story**, which is in the lines `story` of `GET /v1/groups/NAME`.

| you want | request |
|---|---|
| records in a topic | `POST /v1/topics/orders/records`, a record a line: `{{"value": "coffee", "partition": 0}}` |
| to know that a group has settled | `GET /v1/groups/kitchen/wait?state=Stable&members=2` |
| to know that every partition is assigned | `...&assignment=orders`: its response lists the partitions of each member |
| to know that all records were read and committed | `GET /v1/groups/kitchen/wait?lag=0` |
| a crash without a wait for the session | `POST /v1/groups/kitchen/freeze`, `.../expire`, each with `{{"member": "anna"}}` |
| a member that is expelled while it works | `POST /v1/groups/kitchen/expire` alone |
| a stale generation | `POST /v1/groups/kitchen/generation` |
| an answer that is lost, late or an error | `POST /v1/faults` with a [rule](faults.md), then `GET /v1/faults/NAME/wait?hits=1` |
| a coordinator that moves, a node that stops | `POST /v1/coordinators/move`, `POST /v1/nodes/1/stop` |
| to know what a client sent and received | `GET /v1/journal/wait?api=OffsetCommit&error=UNKNOWN_MEMBER_ID` |

In requests a member's name is its client id (if no other member has it), its `group.instance.id` or its member id. Every route with its
fields is in the [control API](../reference/control.md) and, for programs, at `/openapi.json`, which generators of typed clients accept
(`npx openapi-typescript $CONTROL/openapi.json -o groupmock.d.ts`). For a dozen calls a `get` and a `post` function are enough.

A client has its own timers: set its heartbeat interval to 100 ms, so that it learns of a rebalance soon, and its request timeout to 1 s, so
that it gives up a lost answer soon. Leave the rest of the client's configuration as in production.
"""
FENCES: Final = {".java": "java", ".js": "js", ".go": "go", ".xml": "xml"}
LANGUAGES: Final = {
    "Java: JUnit 5": ("java", "the stock Java consumer, and applies to Kotlin and Scala as well", "mvn test", [
        "src/test/java/example/Groupmock.java", "src/test/java/example/CookTest.java", "src/main/java/example/Cook.java",
    ]),
    "Java: Spring Boot": ("spring", "spring-kafka and the helper of the JUnit example", "mvn test", [
        "src/test/java/example/KitchenTest.java", "src/main/java/example/Kitchen.java",
    ]),
    "Node: vitest": ("node", "KafkaJS, and applies to any client of Node", "npm install && npm test", [
        "test/groupmock.js", "test/cook.test.js", "src/cook.js",
    ]),
    "Go: testing": ("go", "franz-go, and applies to any client of Go", "go test ./...", ["groupmock_test.go", "cook_test.go", "cook.go"]),
}  # fmt: skip
"""Maps a heading to the folder in examples/, its client, its command, and its files in the order of reading: the helper, the tests, the
service."""
SAID: Final = ("The helper to copy is in", "The tests are in", "The service is in")


def text() -> str:
    return "\n".join([INTRO, *(line for heading in LANGUAGES for line in _language(heading))])


def _language(heading: str) -> Iterator[str]:
    folder, client, command, files = LANGUAGES[heading]
    where = f"https://github.com/groupmock/groupmock/tree/main/examples/{folder}"
    yield f"## {heading}\n\nThis example uses {client}. Run its tests in [examples/{folder}]({where}) with `{command}`.\n"
    yield _habits(folder)
    for said, name in zip(SAID[-len(files) :], files, strict=True):
        source = EXAMPLES / folder / name
        yield f"{said} `{name}`:\n\n{NOT_RUN}\n```{FENCES[source.suffix]}\n{source.read_text(encoding='utf-8')}```\n"


def _habits(folder: str) -> str:
    """Return the last paragraph of the example's README, which describes the habits of its client."""
    last = (EXAMPLES / folder / "README.md").read_text(encoding="utf-8").strip().rpartition("\n\n")[2]
    return f"{last}\n"
