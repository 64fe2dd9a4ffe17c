"""Recordings: the requests and answers of real consumers and a real cluster, as a journal of groupmock's own kind."""

from __future__ import annotations
