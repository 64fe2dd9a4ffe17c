"""The member programs: each one process with one stock consumer that tells in lines of JSON what happens to it (`forkserver` starts them).

stdout, one event a line: `ready` (library), `assigned`, `revoked`, `lost` (what its listener heard, [[topic, number], ...]), `holds`
(what the library says it holds, whenever that changed), `delivered` (topic, partition, first, last offset), `left`, `failed` (error).
stdin takes orders, one JSON object a line: {"subscribe": [topic, ...]}; its end ends the process, so that no member outlives its stage.
SIGTERM closes the consumer as an application would, which leaves the group; SIGKILL is the death that scenarios are about.
"""

from __future__ import annotations
