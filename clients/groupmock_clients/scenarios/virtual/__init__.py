"""Scenarios on a virtual clock: scripted members with the policy of the stock ones and the real core. Minutes take milliseconds.

A run is a function of its sizes, including the seed. Playing it twice writes the same journal, and `groupmock.rig.replay` can replay it.
"""

from __future__ import annotations

from .stage import CLIENTS, PROTOCOLS, VirtualStage, open_stage

__all__ = ["CLIENTS", "PROTOCOLS", "VirtualStage", "open_stage"]
