"""Is what a user would install what the tree holds?

Builds the wheel twice (from the tree, and from the sdist), compares them file by file, looks for what a wheel must hold, installs it
without extras in an empty virtual environment, asks it for its version and for one answer over TCP, and lets its probe judge its
server. Several known project layouts ship an empty wheel and nothing else notices.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
PACKAGES = {"groupmock_codec": "codec", "groupmock": "broker", "groupmock_clients": "clients", "groupmock_pipeline": "pipeline"}
READY_SECONDS = 30


class PackageBroken(Exception):
    """What is wrong with the package, in one sentence."""


def main() -> int:
    """Exit code 0 when the package is what it should be, 1 with a sentence otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, help="keep the environment the wheel was installed in, with the clients' extras, here")
    parser.add_argument("--dist", type=Path, help="put the wheel and the sdist that passed here, for a release")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groupmock-package-") as scratch:
        try:
            passed = check(Path(scratch), asked.venv.resolve() if asked.venv else None)
        except PackageBroken as wrong:
            print(f"package: {wrong}", file=sys.stderr)
            return 1
        if asked.dist:
            asked.dist.mkdir(parents=True, exist_ok=True)
            for file in passed:
                print(shutil.copy(file, asked.dist))
    return 0


def check(scratch: Path, keep: Path | None) -> list[Path]:
    """All the checks, cheapest last to fail first: build, compare, list, install, run. The wheel and the sdist that passed."""
    direct = build(scratch / "direct", "--wheel", "--no-isolation")
    through = build(scratch / "through")  # an sdist, and the wheel from it, in an isolated environment as an installer does it
    wheel, again, sdist = only(direct, "*.whl"), only(through, "*.whl"), only(through, "*.tar.gz")
    compare(contents(wheel), contents(again))
    held = set(contents(wheel))
    wanted = tracked(PACKAGES.values())
    missing = {"/".join(name.split("/")[1:]) for name in wanted} - held
    if missing:
        raise PackageBroken(f"the wheel lacks what the tree holds: {', '.join(sorted(missing)[:10])}")
    strays = {name for name in held if name.split("/")[0] not in {*PACKAGES, wheel_info(held)}}
    if strays:
        raise PackageBroken(f"the wheel would put more than our packages into site-packages: {', '.join(sorted(strays)[:10])}")
    check_sdist(sdist)
    check_page(wheel)
    sizes = f"{wheel.stat().st_size / 1000:.0f} kB; sdist {sdist.stat().st_size / 1000:.0f} kB"
    print(f"wheel == wheel from the sdist: {len(held)} files, {sizes}")
    install_and_ask(wheel, keep or scratch / "venv")
    if keep:
        pip(keep, f"groupmock[cooperative-aiokafka,cooperative-kafka-python,pytest,control] @ {wheel.as_uri()}")
        pip(keep, "confluent-kafka")  # of docs/how-to/transactions.md: the stock Python client with a whole transactional API
        print(f"kept: {keep}")
    return [wheel, sdist]


def build(out: Path, *words: str) -> Path:
    """`python -m build` of the tree into a folder of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "build", *words, "--outdir", str(out), str(TREE)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise PackageBroken(f"it does not build:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return out


def only(folder: Path, pattern: str) -> Path:
    """The one file of that kind."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise PackageBroken(f"{len(found)} files {pattern} where one was expected")
    return found[0]


def contents(wheel: Path) -> dict[str, str]:
    """File name to digest of everything in a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        return {name: hashlib.sha256(opened.read(name)).hexdigest() for name in opened.namelist()}


def compare(direct: dict[str, str], through: dict[str, str]) -> None:
    """Both wheels hold the same files with the same bytes."""
    lost, added = sorted(direct.keys() - through.keys()), sorted(through.keys() - direct.keys())
    changed = sorted(name for name in direct.keys() & through.keys() if direct[name] != through[name])
    for title, names in (("lost", lost), ("added", added), ("changed", changed)):
        if names:
            raise PackageBroken(f"the way through the sdist {title} {len(names)} files: {', '.join(names[:10])}")


def wheel_info(held: set[str]) -> str:
    """The name of the wheel's metadata folder."""
    return next(name.split("/")[0] for name in held if name.endswith(".dist-info/METADATA"))


def tracked(folders: Iterable[str]) -> set[str]:
    """What the tree holds under these folders: git's list where there is a checkout, the files themselves where there is none."""
    roots = list(folders)
    listed = subprocess.run(["git", "ls-files", "--", *roots], cwd=TREE, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return {name for name in listed.stdout.splitlines() if (TREE / name).exists()}
    files = (file for root in roots for file in (TREE / root).rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {file.relative_to(TREE).as_posix() for file in files}


def check_sdist(sdist: Path) -> None:
    """The sdist can be tested by who receives it: sources, tests, tools, documents."""
    with tarfile.open(sdist) as opened:
        held = {"/".join(name.split("/")[1:]) for name in opened.getnames()}
    beside = ["tests", "tools", "docker", "examples", "actions", "Makefile"]
    wanted = tracked([*PACKAGES.values(), *beside, *(file.name for file in TREE.glob("*.md"))])
    missing = {name for name in wanted if not name.endswith(".gitignore")} - held
    if missing:
        raise PackageBroken(f"the sdist lacks {', '.join(sorted(missing)[:10])}")


def check_page(wheel: Path) -> None:
    """The package's page has no files beside it: its links and pictures are absolute (the substitutions of pyproject.toml)."""
    with zipfile.ZipFile(wheel) as opened:
        name = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        page = opened.read(name).decode().partition("\n\n")[2]
    relative = [target for target in re.findall(r"\]\(([^)]+)\)", page) if not target.startswith(("https://", "#"))]
    if not page.startswith("# groupmock") or relative:
        raise PackageBroken(f"its page begins with {page[:40]!r} and has relative links: {', '.join(relative[:10]) or 'none'}")


def pip(environment: Path, *words: str) -> None:
    """pip install into an environment."""
    command = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise PackageBroken(f"it does not install: {done.stderr[-2000:]}")


def install_and_ask(wheel: Path, environment: Path) -> None:
    """The wheel without extras in an empty environment: its version, its modules, one answer over TCP, a clean end."""
    shutil.rmtree(environment, ignore_errors=True)
    venv.create(environment, with_pip=True)
    pip(environment, str(wheel))
    command = environment / "bin" / "groupmock"
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GROUPMOCK_SET"))}
    said = subprocess.run([str(command), "--version"], capture_output=True, text=True, env=bare, cwd=environment)
    if said.returncode or wheel.name.split("-")[1] not in said.stdout:
        raise PackageBroken(f"`groupmock --version` says {said.stdout!r} {said.stderr[-500:]!r}")
    lacks_spark(command, bare, environment)
    with subprocess.Popen(
        [str(command), "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bare, cwd=environment
    ) as server:
        try:
            assert server.stdout is not None and server.stderr is not None
            line = server.stdout.readline()
            if not line:
                raise PackageBroken(f"`groupmock serve` ended at once: {server.stderr.read()[-1500:]}")
            bootstrap = json.loads(line)["bootstrap"]
            ask_versions(bootstrap)
            judge(command, bootstrap, bare, environment)
            server.send_signal(signal.SIGTERM)
            if (code := server.wait(READY_SECONDS)) != 0:
                raise PackageBroken(f"SIGTERM ended `groupmock serve` with exit code {code}: {server.stderr.read()[-1500:]}")
        finally:
            server.kill()
    print(f"installed without extras: {said.stdout.strip()}; served, answered ApiVersions, was judged by its own probe, ended with 0")


def lacks_spark(command: Path, bare: dict[str, str], folder: Path) -> None:
    """Without the extra, a job says how to install it from where the package came from, and the verb's help works."""
    helped = subprocess.run([str(command), "pipeline", "--help"], capture_output=True, text=True, env=bare, cwd=folder)
    refused = subprocess.run([str(command), "pipeline", "ingest", ".", "lake"], capture_output=True, text=True, env=bare, cwd=folder)
    if helped.returncode or refused.returncode != 3 or "pip install 'groupmock[pipeline] @ file://" not in refused.stderr:
        raise PackageBroken(f"`groupmock pipeline` without Spark: {helped.stderr[-500:]} {refused.returncode} {refused.stderr[-500:]!r}")


def judge(command: Path, bootstrap: str, bare: dict[str, str], folder: Path) -> None:
    """The installed probe, with the exchanges that came in the wheel, finds that the installed server keeps a rule."""
    words = [str(command), "probe", bootstrap, "--only", "SERVER-04", "--only", "SERVER-47", "--report", "json"]
    done = subprocess.run(words, capture_output=True, text=True, env=bare, cwd=folder, timeout=READY_SECONDS * 4)
    if done.returncode:
        raise PackageBroken(f"`groupmock probe` ended with {done.returncode}: {done.stdout[-1500:]}{done.stderr[-500:]}")
    kept = [row["row"] for row in json.loads(done.stdout)["rows"] if row["verdict"] == "kept"]
    if not {"SERVER-04", "SERVER-47"} <= set(kept):
        raise PackageBroken(f"`groupmock probe` keeps only {kept}")


def ask_versions(bootstrap: str) -> None:
    """One ApiVersions v0 request written by hand: correlation id and error code 0 come back."""
    host, port = bootstrap.rsplit(":", 1)
    body = struct.pack(">hhih", 18, 0, 7, -1)
    with socket.create_connection((host, int(port)), READY_SECONDS) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        answer = connection.makefile("rb").read(14)
    _size, correlation, error, count = struct.unpack(">iihi", answer)
    if (correlation, error) != (7, 0) or count < 1:
        raise PackageBroken(f"ApiVersions v0 was answered with {answer!r}")


if __name__ == "__main__":
    sys.exit(main())
