"""Scenarios on a virtual clock: scripted members with the policy of the stock ones, and the real core; minutes take milliseconds.

A run is a function of its sizes, seed included: played twice it writes the same journal, and `groupmock.rig.replay` takes it.
"""

from __future__ import annotations

from .stage import CLIENTS, PROTOCOLS, VirtualStage, open_stage

__all__ = ["CLIENTS", "PROTOCOLS", "VirtualStage", "open_stage"]
