"""Write the stub of the package `groupmock`, because type checkers and editors cannot see names that are loaded on demand."""

from __future__ import annotations

import groupmock

HEAD = '''"""{doc}"""

# Written by tools/pages/package_stub_page.py (`make docs`): do not edit.

from __future__ import annotations

'''


def text() -> str:
    """Return the stub, formatted as `ruff format` would."""
    homes = {**vars(groupmock)["HOMES"], "version": ["__version__"]}
    imports = [f"from .{module} import {', '.join(sorted(homes[module]))}" for module in sorted(homes)]
    listed = ["__all__ = [", *(f'    "{name}",' for name in groupmock.__all__), "]"]
    return HEAD.format(doc=groupmock.__doc__) + "\n".join([*imports, "", *listed]) + "\n"
