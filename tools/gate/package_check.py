"""Check that the package which users install has everything that the tree has.

Builds the wheel twice (from the tree, and from the sdist), compares both file by file, looks for required files, installs the wheel without
extras into an empty virtual environment, and asks it for its version, for one answer over TCP, and for a verdict of its probe on its own
server. Some project layouts ship an empty wheel, and no other check notices.
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
    """The package that users install differs from what it should be. The text is one sentence."""


def main() -> int:
    """Return 0 if the package is right, and 1 with a sentence otherwise."""
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
    """Run all checks, the most expensive last: build, compare, list, install, run. Returns the wheel and the sdist."""
    direct = build(scratch / "direct", "--wheel", "--no-isolation")
    through = build(scratch / "through")  # This builds an sdist and, from it, a wheel in an isolated environment like that of an installer.
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
        pip(keep, f"groupmock[cooperative-aiokafka,cooperative-kafka-python,pytest,control,tls,oauth] @ {wheel.as_uri()}")
        pip(keep, "confluent-kafka")  # The stock Python client with a complete transactional API, which docs/how-to/transactions.md uses.
        print(f"kept: {keep}")
    return [wheel, sdist]


def build(out: Path, *words: str) -> Path:
    """Run `python -m build` of the tree into its own folder."""
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
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise PackageBroken(f"{len(found)} files {pattern} where one was expected")
    return found[0]


def contents(wheel: Path) -> dict[str, str]:
    """Return file name -> digest for everything in a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        return {name: hashlib.sha256(opened.read(name)).hexdigest() for name in opened.namelist()}


def compare(direct: dict[str, str], through: dict[str, str]) -> None:
    """Check that both wheels hold the same files with the same bytes."""
    lost, added = sorted(direct.keys() - through.keys()), sorted(through.keys() - direct.keys())
    changed = sorted(name for name in direct.keys() & through.keys() if direct[name] != through[name])
    for title, names in (("lost", lost), ("added", added), ("changed", changed)):
        if names:
            raise PackageBroken(f"the way through the sdist {title} {len(names)} files: {', '.join(names[:10])}")


def wheel_info(held: set[str]) -> str:
    return next(name.split("/")[0] for name in held if name.endswith(".dist-info/METADATA"))


def tracked(folders: Iterable[str]) -> set[str]:
    """Return the files of the tree under these folders: git's list in a checkout, otherwise the files on disk."""
    roots = list(folders)
    listed = subprocess.run(["git", "ls-files", "--", *roots], cwd=TREE, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return {name for name in listed.stdout.splitlines() if (TREE / name).exists()}
    files = (file for root in roots for file in (TREE / root).rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {file.relative_to(TREE).as_posix() for file in files}


def check_sdist(sdist: Path) -> None:
    """Check that a recipient can test the sdist, which needs sources, tests, tools and documents."""
    with tarfile.open(sdist) as opened:
        held = {"/".join(name.split("/")[1:]) for name in opened.getnames()}
    beside = ["tests", "tools", "docker", "examples", "actions", "Makefile"]
    wanted = tracked([*PACKAGES.values(), *beside, *(file.name for file in TREE.glob("*.md"))])
    missing = {name for name in wanted if not name.endswith(".gitignore")} - held
    if missing:
        raise PackageBroken(f"the sdist lacks {', '.join(sorted(missing)[:10])}")


def check_page(wheel: Path) -> None:
    """Check the description page of the package. It has no files beside it, so its links and pictures must be absolute (by the
    substitutions of pyproject.toml)."""
    with zipfile.ZipFile(wheel) as opened:
        name = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        page = opened.read(name).decode().partition("\n\n")[2]
    relative = [target for target in re.findall(r"\]\(([^)]+)\)", page) if not target.startswith(("https://", "#"))]
    if not page.startswith("# groupmock") or relative:
        raise PackageBroken(f"its page begins with {page[:40]!r} and has relative links: {', '.join(relative[:10]) or 'none'}")


def pip(environment: Path, *words: str) -> None:
    command = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise PackageBroken(f"it does not install: {done.stderr[-2000:]}")


def install_and_ask(wheel: Path, environment: Path) -> None:
    """Install the wheel without extras into an empty environment, and check version, modules, one answer over TCP and a clean end."""
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
    """Check that a job without the extra for Spark says how to install the extra from the package's origin, and that the verb's help
    works."""
    helped = subprocess.run([str(command), "pipeline", "--help"], capture_output=True, text=True, env=bare, cwd=folder)
    refused = subprocess.run([str(command), "pipeline", "ingest", ".", "lake"], capture_output=True, text=True, env=bare, cwd=folder)
    if helped.returncode or refused.returncode != 3 or "pip install 'groupmock[pipeline] @ file://" not in refused.stderr:
        raise PackageBroken(f"`groupmock pipeline` without Spark: {helped.stderr[-500:]} {refused.returncode} {refused.stderr[-500:]!r}")


def judge(command: Path, bootstrap: str, bare: dict[str, str], folder: Path) -> None:
    """Check that the installed probe, with the wheel's exchanges, finds that the installed server keeps a rule."""
    words = [str(command), "probe", bootstrap, "--only", "SERVER-04", "--only", "SERVER-47", "--report", "json"]
    done = subprocess.run(words, capture_output=True, text=True, env=bare, cwd=folder, timeout=READY_SECONDS * 4)
    if done.returncode:
        raise PackageBroken(f"`groupmock probe` ended with {done.returncode}: {done.stdout[-1500:]}{done.stderr[-500:]}")
    kept = [row["row"] for row in json.loads(done.stdout)["rows"] if row["verdict"] == "kept"]
    if not {"SERVER-04", "SERVER-47"} <= set(kept):
        raise PackageBroken(f"`groupmock probe` keeps only {kept}")


def ask_versions(bootstrap: str) -> None:
    """Send an ApiVersions v0 request encoded by hand, and check that correlation id and error code 0 come back."""
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
