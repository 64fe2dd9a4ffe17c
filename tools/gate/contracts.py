"""The import contract: which package may import which (docs/reference/architecture.md#rule-3), as one table in pyproject.toml.

import-linter's own `forbidden` contract lists forbidden imports, so that a new package is unrestricted until somebody adds it, and it
refuses names that do not exist. This contract is the opposite: a part may import what its row allows and nothing else of ours, and a module
without a row breaks the contract. (tests/project/test_import_table.py checks that each row's part exists.)
"""

from __future__ import annotations

from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ARROW = "->"


class ArrowsContract(Contract):
    """A contract of import-linter whose option `parts` has rows of the form `part -> part part ...`. A module belongs to the longest
    part that is a prefix of its name."""

    type_name = "arrows"
    parts = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Check that the table of allowed imports has every direct import between two parts. Indirect imports follow from that."""
        # In import-linter the field is a class attribute, and its value an instance attribute.
        table = read_table(cast("list[str]", self.parts))
        ours = {name.split(".")[0] for name in table}
        broken = []
        for module in sorted(name for name in graph.modules if name.split(".")[0] in ours):
            part = part_of(module, table)
            if part is None:
                broken.append(f"{module} belongs to no part of the table")
                continue
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                if imported.split(".")[0] in ours and not allowed(part, imported, table):
                    lines = ", ".join(str(each["line_number"]) for each in graph.get_import_details(importer=module, imported=imported))
                    broken.append(f"{module} (line {lines}) imports {imported}, which {part} may not")
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line per forbidden import."""
        for line in check.metadata["broken"]:
            output.print_error(f"- {line}", bold=False)


def read_table(rows: list[str]) -> dict[str, tuple[str, ...]]:
    """Parse the rows of the contract to a map of each part to its allowed imports. Raises ValueError for a row without an arrow."""
    table = {}
    for row in rows:
        part, arrow, may = row.partition(ARROW)
        if not arrow:
            raise ValueError(f"a row of the import table reads `part {ARROW} part part`, not {row!r}")
        table[part.strip()] = tuple(may.split())
    return table


def part_of(module: str, table: dict[str, tuple[str, ...]]) -> str | None:
    """Return the longest part in the table that contains the module. A bare root name is that module alone, and `root.*` is the rest
    below the root."""
    names = module.split(".")
    if len(names) == 1:
        return module if module in table else None
    for size in range(len(names), 1, -1):
        if (part := ".".join(names[:size])) in table:
            return part
    root = f"{names[0]}.*"
    return root if root in table else None


def allowed(part: str, imported: str, table: dict[str, tuple[str, ...]]) -> bool:
    """Tell whether a part may import a module: its own modules, and those that its row names or covers by a prefix."""
    if part_of(imported, table) == part:
        return True
    return any(imported == may or imported.startswith(f"{may}.") for may in table[part])
