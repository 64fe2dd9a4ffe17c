"""Read and check a plan file, and list the cells and ranges of seeds that the campaign plays. Uses no Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from groupmock_clients.scenarios.catalogue import SCENARIOS, VIRTUAL, plays, protocols, scenario
from groupmock_clients.scenarios.play import Protocol, Scenario, Sizes
from groupmock_clients.simulation.limited import MEGABYTES, SECONDS
from groupmock_clients.simulation.plan import EVERY_KIND

from ..errors import BadInput, lacks
from .scenario_sizes import SIZES

STAGE: Final = "virtual"
SEEDS: Final = re.compile(r"\s*(\d+)\s*(?:\.\.\s*(\d+)\s*)?")
NO_PLAN: Final = "-"
"""The argument that replaces a plan file if flags alone make up the plan."""

Number = int | float


class Sweep(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A part of a campaign that plays every combination of its lists. Empty `scenarios` or `protocols` (`NAME` or `NAME/CLIENT`) mean
    all; `sizes` maps a name to a number or several."""

    seeds: int | str
    scenarios: list[str] = []
    protocols: list[str] = []
    sizes: dict[str, Number | list[Number]] = {}


class SimulationSweep(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Seeds of the simulation that tries to break the cluster (groupmock_clients.simulation).

    Without `kinds` each seed draws its own. `seconds` and `megabytes` limit a seed, which runs in a child process.
    """

    seeds: int | str
    kinds: list[str] = []
    seconds: Annotated[float, msgspec.Meta(gt=0)] = SECONDS
    megabytes: Annotated[int, msgspec.Meta(ge=16)] = MEGABYTES


class CampaignPlan(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The sweeps of scenarios and the simulations to play, at least one of them. A task plays `batch` seeds."""

    sweeps: list[Sweep] = []
    simulations: list[SimulationSweep] = []
    batch: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 50


FIELDS: Final = (
    f"a sweep has {', '.join(Sweep.__struct_fields__)}, a simulation {', '.join(SimulationSweep.__struct_fields__)}, "
    "of which seeds is a must"
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A combination of scenario, protocol and sizes without its seed. `key` is short, unique and fit for a path, and depends on the
    product's version."""

    scenario: Scenario
    protocol: Protocol
    sizes: Sizes
    product: str

    @property
    def key(self) -> str:
        """Return a short name of the cell with a digest of its names and sizes."""
        sizes = {name: getattr(self.sizes, name) for name in SIZES}
        everything = json.dumps([self.product, self.scenario.name, str(self.protocol), sizes])
        digest = blake2s(everything.encode(), digest_size=5).hexdigest()
        name = f"{self.scenario.name}-{self.protocol.name}-{self.protocol.client}"
        return f"{name}-{self.sizes.members}x{self.sizes.partitions}-{digest}"


DRAWN: Final = "drawn"
"""The name of a kind that each seed draws for itself."""
OFFERED: Final = (*EVERY_KIND, DRAWN)
"""The kinds of simulations that a plan file may name."""


@dataclass(frozen=True, slots=True)
class SimulationCell:
    """The parameters that seeds of the simulation have in common. The limits are not part of the key, because they decide whether a run
    ends and not how."""

    kind: str
    product: str
    seconds: float
    megabytes: int

    @property
    def key(self) -> str:
        return f"{self.kind}-{blake2s(self.product.encode(), digest_size=5).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of seeds of one cell, from `first` to `last`, which is played in blocks of the plan's batch size. `offset` numbers the
    first block."""

    cell: Cell
    first: int
    last: int
    offset: int


@dataclass(frozen=True, slots=True)
class SimulationStretch:
    """A range of seeds of a simulation, from `first` to `last`, which is played in blocks like those of a Stretch."""

    cell: SimulationCell
    first: int
    last: int
    offset: int


def product_name() -> str:
    """Return the product whose behaviour is measured, with its version, as in a journal's header."""
    try:
        return f"groupmock {version('groupmock')}"
    except PackageNotFoundError:  # The product runs from a source tree that was never installed.
        return "groupmock"


def read_plan(name: str, flags: Mapping[str, Any]) -> CampaignPlan:
    """Read the plan file (.toml, .yaml, .yml or .json) and let the flags replace its values. For `-` take the flags alone. Raises
    BadInput."""
    given = {key: value for key, value in flags.items() if value not in (None, [], {})}
    raw: Any = {"simulations" if "kinds" in given else "sweeps": [{}]} if name == NO_PLAN else _load(Path(name))
    if isinstance(raw, dict):  # Only a dict is changed here; msgspec refuses any other type below.
        raw = {**raw, **{key: value for key, value in given.items() if key == "batch"}}
        for key, change in (("sweeps", _replaced_sweep), ("simulations", _replaced_simulation)):
            if isinstance(raw.get(key), list):
                raw[key] = [change(each, given) if isinstance(each, dict) else each for each in raw[key]]
    try:
        plan = msgspec.convert(raw, CampaignPlan)
    except msgspec.ValidationError as problem:
        raise BadInput(f"{_shown(name)}: {problem}; {FIELDS}") from None
    if not plan.sweeps and not plan.simulations:
        raise BadInput(f"{_shown(name)}: it has neither sweeps nor simulations; {FIELDS}")
    return plan


def _replaced_simulation(simulation: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    return {**simulation, **{key: value for key, value in given.items() if key in SimulationSweep.__struct_fields__}}


def _replaced_sweep(sweep: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    own = sweep.get("sizes", {})
    sizes = {**own, **given.get("sizes", {})} if isinstance(own, dict) else own
    replaced = {key: value for key, value in given.items() if key in Sweep.__struct_fields__ and key != "sizes"}
    return {**sweep, **replaced, **({"sizes": sizes} if sizes else {})}


def _load(file: Path) -> Any:
    try:
        data = file.read_bytes()
    except OSError as problem:
        raise BadInput(f"the plan {file}: {problem.strerror}; name a .toml, .yaml or .json file, or {NO_PLAN} and flags") from None
    try:
        match file.suffix:
            case ".toml":
                return msgspec.toml.decode(data)
            case ".yaml" | ".yml":
                return msgspec.yaml.decode(data)
            case ".json":
                return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as problem:
        raise BadInput(f"the plan {file} is no good {file.suffix[1:]}: {' '.join(str(problem).split())}") from None
    except ImportError:  # The error message is replaced, because msgspec's own has seven lines.
        raise BadInput(f"the plan {file}: {lacks('PyYAML')} (.toml and .json need nothing)") from None
    raise BadInput(f"the plan {file}: write it as .toml, .yaml or .json, not {file.suffix or 'without an ending'}")


def _shown(name: str) -> str:
    return "the flags" if name == NO_PLAN else f"the plan {name}"


def stretches(plan: CampaignPlan, name: str) -> list[Stretch]:
    """List the ranges of seeds to play, each seed of a cell once, in an order that depends only on the campaign's plan. Raises BadInput."""
    wanted: dict[Cell, list[tuple[int, int]]] = {}
    for index, sweep in enumerate(plan.sweeps):
        where = f"{_shown(name)}: sweeps[{index}]"
        seeds = _seeds(sweep.seeds, where)
        for cell in _cells(sweep, where):
            wanted.setdefault(cell, []).append(seeds)
    result, offset = [], 0
    for cell, spans in wanted.items():
        for first, last in _joined(spans):
            result.append(Stretch(cell, first, last, offset))
            offset += (last - first) // plan.batch + 1
    return result


def simulation_stretches(plan: CampaignPlan, name: str) -> list[SimulationStretch]:
    """List the ranges of seeds to simulate, each seed of a kind of simulation once. Raises BadInput."""
    wanted: dict[SimulationCell, list[tuple[int, int]]] = {}
    for index, simulation in enumerate(plan.simulations):
        where = f"{_shown(name)}: simulations[{index}]"
        for kind in simulation.kinds or [DRAWN]:
            if kind not in OFFERED:
                raise BadInput(f"{where}.kinds: no kind {kind!r}: there are {', '.join(OFFERED)}")
            cell = SimulationCell(kind, product_name(), simulation.seconds, simulation.megabytes)
            wanted.setdefault(cell, []).append(_seeds(simulation.seeds, where))
    result, offset = [], 0
    for cell, spans in wanted.items():
        for first, last in _joined(spans):
            result.append(SimulationStretch(cell, first, last, offset))
            offset += (last - first) // plan.batch + 1
    return result


def _seeds(text: int | str, where: str) -> tuple[int, int]:
    match = SEEDS.fullmatch(str(text))
    if match is None:
        raise BadInput(f"{where}.seeds: {text!r} is no range of seeds; write FROM..TO, as in 1..100")
    first = int(match[1])
    last = int(match[2]) if match[2] else first
    if last < first:
        raise BadInput(f"{where}.seeds: {text!r} ends before it begins; write {last}..{first}")
    return first, last


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge spans of seeds that overlap or meet."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def _cells(sweep: Sweep, where: str) -> Iterator[Cell]:
    """List the cells of a sweep that can be played. Raises BadInput if a scenario or protocol that the plan names yields no cell."""
    made = product_name()
    chosen, wanted = _chosen(sweep, where)
    found = [
        Cell(each, protocol, sizes, made)
        for sizes in _sizes(sweep.sizes, where)
        for each, protocol in product(chosen, wanted)
        if plays(each, protocol) and sizes.members >= each.least
    ]
    there = {cell.scenario.name for cell in found}
    for lost in (name for name in sweep.scenarios if name not in there):
        least = scenario(lost).least
        raise BadInput(f"{where}.scenarios: {lost} is not played with these protocols and sizes (it needs {least} members)")
    there = {name for cell in found for name in (cell.protocol.name, str(cell.protocol))}
    for lost in (name for name in sweep.protocols if name not in there):
        raise BadInput(f"{where}.protocols: {lost} plays none of {', '.join(each.name for each in chosen)}; name other scenarios")
    yield from found


def _chosen(sweep: Sweep, where: str) -> tuple[list[Scenario], list[Protocol]]:
    try:
        chosen = [scenario(name) for name in sweep.scenarios] or list(SCENARIOS)
    except LookupError as problem:
        raise BadInput(f"{where}.scenarios: {problem.args[0]}") from None
    try:
        return chosen, [each for name in sweep.protocols for each in protocols(STAGE, name)] or list(VIRTUAL)
    except LookupError as problem:
        raise BadInput(f"{where}.protocols: {problem.args[0]}") from None


def _sizes(given: Mapping[str, Number | list[Number]], where: str) -> Iterator[Sizes]:
    """Yield every combination of the sizes given in a sweep. Sizes that are not given have their defaults."""
    for name, value in given.items():
        if name not in SIZES:
            raise BadInput(f"{where}.sizes: no size {name!r}: there are {', '.join(SIZES)}")
        for each in _list(value):
            if SIZES[name] is int and not isinstance(each, int):
                raise BadInput(f"{where}.sizes.{name}: {each!r} is to be a whole number")
        if not _list(value):
            raise BadInput(f"{where}.sizes.{name}: an empty list; leave it out for the default {getattr(Sizes(), name):g}")
    for values in product(*map(_list, given.values())):
        try:
            yield replace(Sizes(), **_typed(dict(zip(given, values, strict=True))))
        except ValueError as problem:
            raise BadInput(f"{where}.sizes: {problem}") from None


def _list(value: Number | list[Number]) -> list[Number]:
    return value if isinstance(value, list) else [value]


def _typed(values: Mapping[str, Number]) -> dict[str, Any]:
    """Convert rates to float, so that 10 and 10.0 have the same key."""
    return {name: float(value) if SIZES[name] is float else value for name, value in values.items()}
