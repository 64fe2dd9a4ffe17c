"""The tools that check documents and packages report a planted error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gate import package_check, readme_blocks
from tools.pages import marked_tables

FENCE = "```"


def document(folder: Path, *blocks: tuple[str, str], before: str = "") -> str:
    file = folder / "DOC.md"
    file.write_text("# A page\n\n" + "\n".join(f"{before}\n{FENCE}{language}\n{text}{FENCE}\n" for language, text in blocks))
    return str(file)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("console", "$ echo yes\nyes\n"),
        ("console", "$ printf 'one\\ntwo\\nthree\\n'\none\n...three\n"),
        ("console", '$ true\n$ test -n "$PATH"\n'),
        ("bash", "cd /\ntest -d .\n"),
        ("python", "assert 9092 != 9093\n"),
        ("toml", "key = 1\n"),
    ],
)
def test_a_block_that_holds_passes(tmp_path: Path, language: str, text: str) -> None:
    assert readme_blocks.main([document(tmp_path, (language, text))]) == 0


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("console", "$ echo yes\nno\n"),
        ("console", "$ false\n"),
        ("console", "echo no prompt\n"),
        ("bash", "false\ntrue\n"),
        ("python", "assert False\n"),
        ("python", "# test_of_a_reader.py\ndef test_it():\n    assert False\n"),
        ("toml", "key = \n"),
    ],
)
def test_a_block_that_does_not_hold_fails(tmp_path: Path, language: str, text: str) -> None:
    assert readme_blocks.main([document(tmp_path, (language, text))]) == 1


def test_a_block_that_is_exempt_is_named_and_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = document(tmp_path, ("bash", "false\n"), before="<!-- not run: it needs a moon -->")
    assert readme_blocks.main([name]) == 1, "a document of which nothing is run has not been checked"
    assert "not run: it needs a moon" in capsys.readouterr().out


def test_a_block_that_reads_like_a_command_is_run_or_says_why_not(tmp_path: Path) -> None:
    ran, command = ("console", "$ true\n"), ("", "groupmock pipeline ingest journals/ lake/\n")
    assert readme_blocks.main([document(tmp_path, ran, command)]) == 1
    assert readme_blocks.main([document(tmp_path, ran, ("text", "from a import b\n"))]) == 1
    assert readme_blocks.main([document(tmp_path, ran, ("json", '{"from": 1}\n'))]) == 0
    assert readme_blocks.main([document(tmp_path, ran, command, before="<!-- not run: it needs a lake -->")]) == 1, "everything is exempt"


def test_the_gate_runs_readme_and_the_pages_for_users(tree: Path) -> None:
    """A page without a runnable command says why for every command."""
    wanted = {"README.md", "docs/start/first-steps.md", "docs/how-to/faults.md", "docs/how-to/rig.md", "docs/how-to/probe.md"}
    assert wanted <= {Path(page).relative_to(tree).as_posix() for page in readme_blocks.pages()}
    for page in sorted((*(tree / "docs/start").glob("*.md"), *(tree / "docs/how-to").glob("*.md"))):
        assert readme_blocks.unmarked(page.read_text()) == [], page


def test_a_named_file_is_there_for_later_blocks(tmp_path: Path) -> None:
    assert readme_blocks.main([document(tmp_path, ("toml", "# some.toml\nkey = 1\n"), ("console", "$ grep -c key some.toml\n1\n"))]) == 0


def test_a_server_is_waited_for_and_ended(tmp_path: Path) -> None:
    server = "$ python -c 'print(\"ready\", flush=True); import signal; signal.pause()' &\n"
    assert readme_blocks.main([document(tmp_path, ("console", server), ("console", "$ true\n"))]) == 0


def test_a_server_that_says_nothing_is_an_error(tmp_path: Path) -> None:
    assert readme_blocks.main([document(tmp_path, ("console", "$ true &\n"))]) == 1


@pytest.mark.parametrize(
    ("through", "said"),
    [({}, "lost 1 files: a"), ({"a": "1", "b": "1"}, "added 1 files: b"), ({"a": "2"}, "changed 1 files: a")],
    ids=["lost", "added", "changed"],
)
def test_wheels_that_differ_are_named(through: dict[str, str], said: str) -> None:
    with pytest.raises(package_check.PackageBroken, match=said):
        package_check.compare({"a": "1"}, through)


def test_the_table_goes_between_the_markers_and_needs_them() -> None:
    begin, end = "<!-- z:begin -->\n", "<!-- z:end -->\n"
    assert marked_tables.with_table(f"x\n{begin}old\n{end}y\n", "new", "z") == f"x\n{begin}new\n{end}y\n"
    with pytest.raises(ValueError, match="once, in this order"):
        marked_tables.with_table("no markers", "new", "z")
