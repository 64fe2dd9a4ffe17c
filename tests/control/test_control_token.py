"""No setting, answer, row, log line or error message ever contains the control API's token."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from groupmock.cli import main
from groupmock.config.resolve import ConfigError, resolve
from groupmock.control.routes import ROUTES
from groupmock.control.server import serve
from groupmock.server.assembly import start

SECRET = "s3cr3t-of-the-owner"
NOT_WORDS = [f"{SECRET} x", f"{SECRET}\r\nX: 1", f"{SECRET}\x1b", f"{SECRET}é", f" {SECRET}"]


def told(*words: str, **environment: str) -> tuple[int, str]:
    """Run `groupmock` with these arguments and return its exit code and output."""
    text = io.StringIO()
    with mock.patch.dict(os.environ, environment), redirect_stdout(text), redirect_stderr(text):
        try:
            code = main(words)
        except SystemExit as left:
            code = int(left.code or 0)
    return code, text.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "groupmock.toml").write_text(f'token = "{SECRET}"\n')
    return tmp_path / "groupmock.toml"


@pytest.mark.parametrize("form", [[], ["--json"], ["--about"]])
def test_settings_show_the_origin_of_the_token_only(form: list[str], file: Path) -> None:
    """The settings also say if no token is set."""
    for words, variables, origin in (
        (["--token", SECRET], {}, "flag --token"),
        ([], {"GROUPMOCK_TOKEN": SECRET}, "environment GROUPMOCK_TOKEN"),
        (["--config", str(file)], {}, f"file {file}"),
    ):
        code, text = told("config", *words, *form, **variables)
        assert (code, SECRET in text) == (0, False)
        (line,) = re.findall(r'\{[^{}]*"name": "token"[^{}]*\}', text) if form == ["--json"] else re.findall(r"(?m)^token .*$", text)
        assert "(not shown)" in line and origin in line
    assert "(not shown)" not in told("config", *form)[1]


def test_no_error_of_settings_says_it(file: Path, tmp_path: Path) -> None:
    words = {"port": "x", "control": "x", "nodes": "0", "log": "x", "seed": "x", "topic": ("a b",)}
    wrong: list[dict[str, Any]] = [{"control": ":7"}, *({name: word} for name, word in words.items())]
    for flags in wrong:
        with pytest.raises(ConfigError) as refused:
            resolve({"token": SECRET} | flags)
        assert SECRET not in str(refused.value)
    for given in [*NOT_WORDS, [SECRET], {"x": SECRET}]:
        for place in ({"flags": {"token": given}}, {"environment": {"GROUPMOCK_TOKEN": given}}):
            with pytest.raises(ConfigError, match="a token is a word of ASCII characters without blanks") as refused:
                resolve(**place)
            assert SECRET not in str(refused.value)
    broken = (f"token = {SECRET}", f'token = ["{SECRET}"]', f'token = "{SECRET}', f'token = "{SECRET}"\nport = "x"', f'tokn = "{SECRET}"')
    for text in broken:
        (tmp_path / "broken.toml").write_text(text)
        with pytest.raises(ConfigError) as refused:
            resolve(file=str(tmp_path / "broken.toml"))
        assert SECRET not in str(refused.value)
    with pytest.raises(ConfigError) as refused:
        resolve({}, [f"token={SECRET}"])
    assert SECRET not in str(refused.value)


def test_printed_configuration_hides_the_token() -> None:
    """pytest prints a configuration when an assertion about it fails."""
    config = resolve({"token": SECRET})
    assert SECRET not in repr(config) + f"{config}"
    assert config.token == SECRET


def routes() -> Iterator[tuple[str, str]]:
    for route in ROUTES:
        path = re.sub(r"\{\w+\}", "1", route.full_path)
        yield route.method, f"{path}?timeout=0" if path.endswith("/wait") else path
    yield from (("GET", "/v1/nope"), ("PUT", "/v1/groups"))
    yield "GET", "/v1/journal/find?x=1"


@pytest.mark.parametrize("log", ["text", "json"])
async def test_answers_rows_and_logs_do_not_contain_the_token(tmp_path: Path, log: str, capfd: pytest.CaptureFixture[str], caplog) -> None:
    """Every route is called correctly and incorrectly, with the right token, a part of the token and none, also when groupmock raises an
    internal error."""
    journal = tmp_path / "run.jsonl"
    config = resolve({"port": 0, "token": SECRET, "log": log, "journal": str(journal)})
    running = await start(config, stories=True)

    async def restart(old: object) -> None:
        raise RuntimeError("a defect")

    control = await serve(running, "127.0.0.1", 0, config.token, restart)  # type: ignore[arg-type]
    answers = [running.ready_line(control.url)]
    for method, path in routes():
        for token in (SECRET, SECRET[:-1], ""):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(control.url.rsplit(":", 1)[1]))
            head = f"{method} {path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 2\r\n\r\n{{}}"
            writer.write(head.encode())
            endless = path == "/v1/events" and token == SECRET
            answers.append(await (reader.readuntil(b"event: begin") if endless else reader.read()))
            writer.close()
    await control.close()
    assert await running.close() is None
    assert {int(answer.split(b" ", 2)[1]) for answer in answers[1:]} >= {200, 400, 401, 404, 405, 408, 500}
    assert SECRET.encode()[:-1] not in b"".join(answers) + journal.read_bytes()
    said = capfd.readouterr()
    assert SECRET[:-1] not in said.out + said.err + caplog.text
    assert json.loads(journal.read_text().splitlines()[0])["v"] == 1


@pytest.mark.parametrize("given", NOT_WORDS)
@pytest.mark.parametrize("how", ["flag", "variable"])
def test_a_verb_refuses_what_is_no_token_without_saying_it(given: str, how: str) -> None:
    words = ["group", "list", "--control", "http://127.0.0.1:1", *(["--token", given] if how == "flag" else [])]
    code, text = told(*words, **({"GROUPMOCK_TOKEN": given} if how == "variable" else {}))
    assert (code, text) == (
        2,
        "groupmock group list: --token, or the variable GROUPMOCK_TOKEN: a token is a word of ASCII characters without blanks\n",
    )


def test_a_verb_that_nobody_answers_does_not_say_it() -> None:
    code, text = told("group", "list", "--control", "http://127.0.0.1:1", "--token", SECRET)
    assert (code, SECRET in text) == (3, False)
    assert SECRET not in told("group", "list", "--help", GROUPMOCK_TOKEN=SECRET)[1]
    assert SECRET not in told("serve", "--help", GROUPMOCK_TOKEN=SECRET)[1]
