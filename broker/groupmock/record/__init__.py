"""A recording is a journal of the requests and answers between real consumers and a real cluster."""

from __future__ import annotations
