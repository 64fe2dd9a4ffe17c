"""The stages on which exchanges are played: the pure core on a virtual clock, or a broker over TCP, with what is known about that
broker."""

from __future__ import annotations
