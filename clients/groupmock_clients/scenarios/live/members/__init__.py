"""The member programs, one for each library: `run(spec, channel)` runs one stock consumer and tells the channel what happens to it.

A test gives it a channel of its own and a thread. The stage gives it a process (`forkserver` starts them) and `channel.Pipes`:
stdout, one event a line: `ready` (library), `assigned`, `revoked`, `lost` (what its listener heard, [[topic, number], ...]), `holds` (what
the library says it holds, whenever that changed), `delivered` (topic, partition, first, last offset), `left`, `failed` (error).
stdin takes orders, one JSON object a line: {"subscribe": [topic, ...]}; its end ends the process, so that no member outlives its stage.
SIGTERM closes the consumer as an application would, which leaves the group; SIGKILL is the death that scenarios are about.
"""

from __future__ import annotations
