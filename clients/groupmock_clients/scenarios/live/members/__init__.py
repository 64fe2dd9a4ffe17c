"""The member programs, one for each library: `run(spec, channel)` runs one stock consumer and reports its events to the channel.

A test passes its own channel and runs the program in a thread. The stage runs it in a process (started by `forkserver`) with
`channel.Pipes`. Its stdout has one event per line: `ready` (library), `assigned`, `revoked`, `lost` (calls of its listener, [[topic,
number], ...]), `holds` (the library's assignment, whenever it changed), `delivered` (topic, partition, first, last offset), `left`,
`failed` (error). Its stdin takes orders, one JSON object per line: {"subscribe": [topic, ...]}. The end of stdin ends the process, so that
no member outlives its stage. SIGTERM closes the consumer as an application would, which leaves the group. SIGKILL is the process death of
the scenarios.
"""

from __future__ import annotations
