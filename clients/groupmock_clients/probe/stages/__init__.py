"""Where exchanges are played: the pure core on a virtual clock, or a broker over TCP, with what is known of that broker and its pace."""

from __future__ import annotations
