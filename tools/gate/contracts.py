"""The import contract of the house: who may import whom (docs/reference/architecture.md#rule-3), as one table in pyproject.toml.

import-linter's own `forbidden` contract lists what is not allowed, so that a new package is free until somebody thinks of it, and it
refuses names that do not exist. This one is the other way round: a part may import what its row says and nothing else of ours, a
module without a row breaks the contract. (That each row is about a part there is: tests/project/test_import_table.py.)
"""

from __future__ import annotations

from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ARROW = "->"


class ArrowsContract(Contract):
    """`parts` holds rows `part -> part part ...`; a module belongs to the longest part that is a prefix of its name."""

    type_name = "arrows"
    parts = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Every direct import between two parts must be in the table: chains then follow by themselves."""
        table = read_table(cast("list[str]", self.parts))  # the declaration above is the field, the instance holds its value
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
        """One line per import that goes the wrong way."""
        for line in check.metadata["broken"]:
            output.print_error(f"- {line}", bold=False)


def read_table(rows: list[str]) -> dict[str, tuple[str, ...]]:
    """Rows of text to part -> what it may import; a row without an arrow is a mistake."""
    table = {}
    for row in rows:
        part, arrow, may = row.partition(ARROW)
        if not arrow:
            raise ValueError(f"a row of the import table reads `part {ARROW} part part`, not {row!r}")
        table[part.strip()] = tuple(may.split())
    return table


def part_of(module: str, table: dict[str, tuple[str, ...]]) -> str | None:
    """The longest part that holds the module: a bare root name is its own module alone, `root.*` what no longer part holds."""
    names = module.split(".")
    if len(names) == 1:
        return module if module in table else None
    for size in range(len(names), 1, -1):
        if (part := ".".join(names[:size])) in table:
            return part
    root = f"{names[0]}.*"
    return root if root in table else None


def allowed(part: str, imported: str, table: dict[str, tuple[str, ...]]) -> bool:
    """Inside its own part a module is free; elsewhere the row decides, a name covering all below it."""
    if part_of(imported, table) == part:
        return True
    return any(imported == may or imported.startswith(f"{may}.") for may in table[part])
