"""Fault injection: rules as data, a pure decision, one file for each kind of fault, and a registry. The sockets are in `net.fault_gate`."""

from __future__ import annotations
