"""Fault injection consists of rules as data, a function that decides which rules fire, one file for each kind of fault, and a registry.
The gate at the sockets is `net.fault_gate`."""

from __future__ import annotations
