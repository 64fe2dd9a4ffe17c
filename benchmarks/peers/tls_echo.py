"""The TLS of Python's asyncio before the constant answers of `echo`: `python -m benchmarks.peers.tls_echo CERTIFICATE KEY`.

It runs on asyncio's own loop, whose TLS is written in Python, as groupmock's between socket and connection is.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys

from .echo import Echo


async def serve(certificate: str, key: str) -> None:
    """Listen on a free port, announce it, and serve until it is terminated."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0, backlog=4096, ssl=context)
    host, port = server.sockets[0].getsockname()
    print(json.dumps({"ready": True, "bootstrap": f"{host}:{port}", "pid": os.getpid()}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
