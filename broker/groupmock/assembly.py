"""Puts a cluster together from a configuration and starts it: sockets, core, journal, server."""

from __future__ import annotations
