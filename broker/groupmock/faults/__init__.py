"""Break it on purpose: rules as data, a pure decision, one file per kind of fault, a registry. Sockets are in `net.fault_gate`."""

from __future__ import annotations
