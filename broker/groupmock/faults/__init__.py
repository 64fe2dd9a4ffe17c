"""Break it on purpose: rules as data, a pure decision, one file per kind of fault, a registry. Sockets are in `net.fault_gate`."""

from __future__ import annotations

from typing import Final

COMMANDS: Final = ("add_faults", "remove_fault", "release_fault", "clear_faults", "seed_faults")
"""Commands that are about rules; all others are the core's. Here, so that who asks loads none of the rest."""
