"""The fork server of members: a process that has loaded one client library and forks a member per order, which takes hardly any time.

Loading a library takes most of a second on a busy machine, and a member that has to be back in time cannot afford that. Orders come over a
Unix socket as JSON lines, each answered by one: {"spec": ...} with three descriptors (stdin, stdout, stderr) -> {"pid"}; {"signal", "pid"}
-> {}; {"poll": pid} -> {"status": exit status, null while it runs}. Children are waited for by `poll` alone, so a pid names the same
process until its stage knows how it ended. The end of the socket ends the fork server.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import socket
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ..member_spec import MemberSpec
from .channel import Channel, Pipes

PROGRAMS: Final = {"aiokafka": "aiokafka", "kafka-python": "kafka_python", "confluent-kafka": "confluent_kafka"}
ORDER_BYTES: Final = 65536
Run = Callable[[MemberSpec, Channel], None]


def main(library: str, descriptor: int) -> int:
    """Serve orders until the socket ends. Raises ImportError if the library is missing."""
    run: Run = importlib.import_module(f".{PROGRAMS[library]}", __package__).run
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as orders:
        while True:
            order, descriptors = _next(orders)
            if order is None:
                return 0
            answer = json.dumps(_obey(order, descriptors, orders, run)).encode() + b"\n"
            try:
                orders.sendall(answer)
            except BrokenPipeError:
                return 0  # An error on the socket, like its end, means that the process that starts the members has ended.


def _next(orders: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Read one order that the stage has sent, with the file descriptors in it. There is at most one, because the stage waits for its
    answer."""
    text = b""
    descriptors: list[int] = []
    while not text.endswith(b"\n"):
        data, passed, _, _ = socket.recv_fds(orders, ORDER_BYTES, 3)
        if not data:
            return None, descriptors
        text += data
        descriptors += passed
    return json.loads(text), descriptors


def _obey(order: dict[str, Any], descriptors: list[int], orders: socket.socket, run: Run) -> dict[str, Any]:
    if "signal" in order:
        os.kill(order["pid"], order["signal"])
        return {}
    if "poll" in order:
        pid, status = os.waitpid(order["poll"], os.WNOHANG)
        return {"status": os.waitstatus_to_exitcode(status) if pid else None}
    spec = msgspec.convert(order["spec"], MemberSpec)
    pid = os.fork()
    if not pid:
        _become(spec, descriptors, orders, run)
    for each in descriptors:
        os.close(each)
    return {"pid": pid}


def _become(spec: MemberSpec, descriptors: list[int], orders: socket.socket, run: Run) -> None:
    """Run the member in the child process that was just forked. Never returns."""
    status = 1
    try:
        orders.close()
        for place, each in enumerate(descriptors):
            os.dup2(each, place)
            os.close(each)
        random.seed()
        status = live(spec, run)
    # The traceback goes to the member's log, and nothing may escape, because no code of the fork server may run in the child.
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def live(spec: MemberSpec, run: Run) -> int:
    """Run a member until it ends. Returns 0 if it left properly. An exception of the library is reported as the last event, and raised."""
    channel = Pipes()
    try:
        run(spec, channel)
    except Exception as error:
        channel.say("failed", error=repr(error))
        raise
    channel.say("left")
    return 0
