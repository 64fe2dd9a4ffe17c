"""The two adapters refuse bad settings with a remedy and load few modules into a user's service."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cases import for_each

from groupmock_clients.cooperative.errors import NotAttached, UnsupportedClient
from groupmock_codec.extras import pip_install

# kafka-python warns about read_text on Python 3.11.
pytestmark = pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated:DeprecationWarning")
LIBRARIES = for_each(("module", "distribution", "known"), [("aiokafka", "aiokafka", "0.14"), ("kafka_python", "kafka-python", "3.0")])
MODULES = for_each("module", ["aiokafka", "kafka_python"])


def adapter(module: str) -> Any:
    return import_module(f"groupmock_clients.cooperative.{module}")


@LIBRARIES
@for_each("found", ["0.13.0", "0.140.1", "3.1.0", "30.0.1"])
def test_another_version_is_refused_with_both_named(
    module: str, distribution: str, known: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: found)
    with pytest.raises(UnsupportedClient, match=rf"{distribution} {found} is installed.*{distribution} {known}\.x"):
        adapter(module).CooperativeAssignor()


@LIBRARIES
def test_a_version_without_what_we_need_is_told_as_such_on_import(module: str, distribution: str, known: str) -> None:
    missing = {"aiokafka": "aiokafka.consumer.subscription_state", "kafka_python": "kafka.coordinator.assignors.abstract"}[module]
    program = (
        "import sys\nfrom importlib import metadata\n"
        f"sys.modules[{missing!r}] = None\nmetadata.version = lambda name: '0.1'\n"
        f"try:\n    import groupmock_clients.cooperative.{module}\nexcept RuntimeError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("UnsupportedClient") and f"{distribution} 0.1" in done.stdout and f"{known}.x" in done.stdout


@LIBRARIES
def test_a_missing_library_is_told_with_the_extra_that_brings_it(module: str, distribution: str, known: str) -> None:
    program = (
        "import sys\nfrom importlib import metadata\n"
        f"sys.modules[{'aiokafka' if module == 'aiokafka' else 'kafka'!r}] = None\n"
        "def version(name):\n    raise metadata.PackageNotFoundError(name)\nmetadata.version = version\n"
        f"try:\n    import groupmock_clients.cooperative.{module}\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{distribution} is not installed: {pip_install(f'cooperative-{distribution}')}\n"


@LIBRARIES
def test_any_patch_of_the_known_version_will_do(module: str, distribution: str, known: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: f"{known}.99")
    assert adapter(module).CooperativeAssignor(3).name == "coop-d3"


@MODULES
def test_an_assignor_must_be_told_its_consumer(module: str) -> None:
    with pytest.raises(NotAttached, match=r"attach\(consumer\)"):
        adapter(module).CooperativeAssignor(1).metadata(["T"])


def consumer_with(module: str, *assignors: object) -> Any:
    if module == "aiokafka":
        return SimpleNamespace(_partition_assignment_strategy=assignors)
    return SimpleNamespace(config={"partition_assignment_strategy": assignors})


@MODULES
def test_an_assignor_belongs_to_the_consumer_that_has_it(module: str) -> None:
    assignor = adapter(module).CooperativeAssignor(1)
    with pytest.raises(ValueError, match="partition_assignment_strategy"):
        assignor.attach(consumer_with(module))
    first = consumer_with(module, assignor)
    assignor.attach(first)
    assignor.attach(first)
    with pytest.raises(ValueError, match="one consumer"):
        assignor.attach(consumer_with(module, assignor))


def test_aiokafka_must_have_no_other_assignor() -> None:
    assignor = adapter("aiokafka").CooperativeAssignor(1)
    both = consumer_with("aiokafka", assignor, SimpleNamespace(name="range"))
    with pytest.raises(ValueError, match="joins once for each"):
        assignor.attach(both)
    assignor.attach(both, allow_double_join=True)


@MODULES
@for_each("settings", [{"design": 4}, {"delay_ms": -1}, {"max_moves": 0}, {"first": "last"}])
def test_settings_are_checked_at_once(module: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        adapter(module).CooperativeAssignor(**settings)


@LIBRARIES
def test_a_service_loads_no_server_with_it(module: str, distribution: str, known: str) -> None:
    """The adapter of one client library imports neither groupmock's server nor the other client library."""
    other = {"aiokafka": "kafka", "kafka_python": "aiokafka"}[module]
    program = (
        f"import sys, groupmock_clients.cooperative.{module}\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        f"print(sorted(loaded & {{'groupmock', 'structlog', 'uvloop', 'construct', 'google_crc32c', '{other}'}}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FOLDER = Path(__file__).resolve().parents[3] / "clients/groupmock_clients/cooperative"
CLIENT = {"aiokafka": "aiokafka", "kafka_python": "kafka"}
"""Maps a folder of the cooperative assignors to the client library that they extend."""


@for_each("file", sorted(FOLDER.rglob("*.py")), ids=lambda file: str(file.relative_to(FOLDER)))
def test_only_the_codec_the_standard_library_and_its_own_client_are_imported(file: Path) -> None:
    allowed = {*sys.stdlib_module_names, "groupmock_codec", CLIENT.get(file.parent.name)}
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).split(".")[0])
    assert found <= allowed, found - allowed
