"""Run the fenced code blocks of a document in their order, in an empty folder, with the commands of the current environment.

    console   lines after `$ ` are run by bash; what follows a command is its expected output, if anything does: `...` stands for anything.
              A command that ends in ` &` stays until the end of the document, and counts as started when its first line has come.
              `export NAME=VALUE` holds for all that follows.
    bash      one script
    python    a first line `# name.py` names the file; `test_*.py` is run by pytest, everything else by python
    toml      must parse; a first line `# name.toml` keeps it as that file for later blocks

Ports 9092 to 9094 are replaced by free ones throughout. `<!-- not run: reason -->` on the line above a block leaves it out, and says so. A
block of another language that reads like a command or a program has to say so too. Without a name: README and every page of docs/start
and docs/how-to that has something to run, and the page of the command line.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
EXEMPT = re.compile(r"<!-- not run: (?P<reason>[^>]+?) -->\s*$")
LANGUAGES = ("console", "bash", "python", "toml")
CLAIM = re.compile(r"^(?:\$ |(?:groupmock|pip|python|pytest|make|curl|docker) |from \w|import \w)", re.MULTILINE)
EXPORT = re.compile(r"^export (?P<name>\w+)=(?P<value>\S+)$")
NAMED = re.compile(r"^# (?P<name>[\w./-]+\.(?:py|toml))$")
SECONDS = 120
README_PORTS = ("9092", "9093", "9094")


class Wrong(Exception):
    """The result of a code block differs from what the document shows."""


@dataclass(frozen=True)
class CodeBlock:
    """One fenced block: its language, its text, its line in the document, and the reason if it is not run."""

    language: str
    text: str
    line: int
    exempt: str | None

    @property
    def name(self) -> str | None:
        """Return the file name in the first line of the code block, if there is one."""
        found = NAMED.match(self.text.splitlines()[0]) if self.text.strip() else None
        return found["name"] if found else None


def blocks(document: str) -> list[CodeBlock]:
    """Return the fenced blocks of a Markdown text in one of the supported languages."""
    found = []
    for match in BLOCK.finditer(document):
        before = document[: match.start()]
        exempt = EXEMPT.search(before)
        if match["language"] in LANGUAGES:
            found.append(CodeBlock(match["language"], match["text"], before.count("\n") + 1, exempt["reason"] if exempt else None))
    return found


def unmarked(document: str) -> list[int]:
    """Return the lines of blocks that look like a command or a program but have no supported language and no reason for not being run."""
    return [
        document[: match.start()].count("\n") + 1
        for match in BLOCK.finditer(document)
        if match["language"] not in LANGUAGES and CLAIM.search(match["text"]) and not EXEMPT.search(document[: match.start()])
    ]


def pages() -> list[str]:
    """Return the documents whose code blocks the gate runs."""
    found = [TREE / "README.md", *sorted((TREE / "docs/start").glob("*.md")), *sorted((TREE / "docs/how-to").glob("*.md"))]
    found.append(TREE / "docs/reference/command-line.md")
    return [str(page) for page in found if any(not block.exempt for block in blocks(page.read_text()))]


class Sandbox:
    """An empty folder, the environment for commands, and the servers that were started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tools = str(Path(sys.executable).parent)
        self.environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1"}
        self.ports = free_ports(len(README_PORTS))
        self.servers: list[subprocess.Popen[str]] = []

    def run(self, block: CodeBlock) -> None:
        """Run a code block of a document in the sandbox. Raises Wrong if it fails."""
        text = block.text
        for named, port in zip(README_PORTS, self.ports, strict=True):
            text = text.replace(named, str(port))
        if block.name:
            (self.folder / block.name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / block.name).write_text(text)
        match block.language:
            case "console":
                for command, expected in dialogue(text):
                    self.command(command, expected)
            case "bash":
                self.command(text, "")
            case "python":
                self.python(block.name, text)
            case "toml":
                tomllib.loads(text)

    def python(self, name: str | None, text: str) -> None:
        """Run a Python block: a test file by pytest, another by the interpreter."""
        file = name or "block.py"
        (self.folder / file).write_text(text)
        test = Path(file).name.startswith("test_")
        self.command(f"python -m pytest -q -p no:cacheprovider {file}" if test else f"python {file}", "")

    def command(self, command: str, expected: str) -> None:
        """Run one command to its end and compare its output, or start it if it ends in ` &`."""
        if command.endswith(" &"):
            self.start(command.removesuffix(" &"))
            return
        if exported := EXPORT.match(command.strip()):
            self.environment[exported["name"]] = exported["value"]
            return
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise Wrong(f"$ {command.strip()}\nended with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        if expected and not matches(done.stdout, expected):
            raise Wrong(f"$ {command}\nsaid\n{done.stdout}where the document says\n{expected}")

    def start(self, command: str) -> None:
        """Start a server and wait for its first line."""
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.servers.append(server)
        assert server.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(server.stdout, selectors.EVENT_READ)
            if not waiting.select(SECONDS) or not server.stdout.readline():
                raise Wrong(f"$ {command} &\ndid not say that it is ready")

    def stop(self) -> None:
        """End the servers by SIGINT, as a terminal does."""
        for server in self.servers:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGINT)
        deadline = time.monotonic() + 10
        for server in self.servers:
            try:
                server.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
            assert server.stdout is not None
            server.stdout.close()


def dialogue(text: str) -> list[tuple[str, str]]:
    """Split a console block into (command, expected output). A command continues after a backslash."""
    steps: list[tuple[str, str]] = []
    for line in text.replace("\\\n", " ").splitlines(keepends=True):
        if line.startswith("$ "):
            steps.append((line[2:].strip(), ""))
        elif steps:
            steps[-1] = (steps[-1][0], steps[-1][1] + line)
        elif line.strip():
            raise Wrong(f"a console block starts with a command, not with {line!r}")
    return steps


def matches(said: str, expected: str) -> bool:
    """Compare the output of a command with the expected one, ignoring trailing blanks. `...` stands for any text."""
    lines = "\n".join(line.rstrip() for line in expected.strip().splitlines())
    pattern = ".*".join(re.escape(part) for part in lines.split("..."))
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in said.strip().splitlines()), re.DOTALL) is not None


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def run_document(name: str, sandbox: Sandbox) -> int:
    """Run every block of one document and return their number. Raises Wrong with the name of the block."""
    count = 0
    text = Path(name).read_text()
    if silent := unmarked(text):
        raise Wrong(f"{name}: blocks that are not run do not say why: lines {', '.join(map(str, silent))}")
    for block in blocks(text):
        say = f"{name}:{block.line} {block.language} {block.name or ''}".rstrip()
        if block.exempt:
            print(f"{say}: not run: {block.exempt}")
            continue
        started = time.monotonic()
        try:
            sandbox.run(block)
        except (Wrong, subprocess.TimeoutExpired, tomllib.TOMLDecodeError) as wrong:
            raise Wrong(f"{say}: {wrong}") from None
        count += 1
        print(f"{say}: ok, {time.monotonic() - started:.1f} s", flush=True)
    return count


def main(arguments: list[str]) -> int:
    """Run the code blocks of every document. Returns 1 and prints the failing block if one fails or there is none."""
    for name in arguments:
        with tempfile.TemporaryDirectory(prefix="groupmock-readme-") as folder:
            sandbox = Sandbox(Path(folder))
            try:
                if not run_document(name, sandbox):
                    raise Wrong(f"{name}: no block was run")
            except Wrong as wrong:
                print(wrong, file=sys.stderr)
                return 1
            finally:
                sandbox.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or pages()))
