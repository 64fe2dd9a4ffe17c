"""Runs a recording proxy on its own thread and event loop and reads its journal for a test."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from groupmock.net.loops import new_loop
from groupmock.record.proxy import Proxy
from groupmock.record.reaching import Where
from groupmock.record.settings import Settings

JsonRow = dict[str, Any]
PATIENCE_S = 60.0


def where(address: str) -> Where:
    host, _, port = address.rpartition(":")
    return Where(host, int(port))


class Recording:
    """A proxy that listens for these upstream nodes and writes `journal`. All calls run on the loop of the proxy (`on_loop`)."""

    def __init__(self, upstream: str, journal: Path, **settings: Any) -> None:
        self.journal = journal
        self._loop = new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="recording", daemon=True)
        self._thread.start()
        self.trouble: str | None = None
        self.proxy: Proxy
        try:
            self._run(self._start(Settings([where(each) for each in upstream.split(",")], str(journal), **settings)))
        except BaseException:
            self._stop()
            raise

    @property
    def bootstrap(self) -> str:
        return self.proxy.bootstrap

    def on_loop(self, call: Callable[[], Any]) -> Any:
        done: Future[Any] = Future()

        def run() -> None:
            try:
                done.set_result(call())
            except BaseException as failure:
                done.set_exception(failure)

        self._loop.call_soon_threadsafe(run)
        return done.result(PATIENCE_S)

    def close(self) -> list[JsonRow]:
        self.trouble = self._run(self.proxy.close())
        self._stop()
        return self.rows()

    def rows(self) -> list[JsonRow]:
        return [json.loads(line) for line in self.journal.read_text().splitlines()[1:]]

    def seen(self) -> list[JsonRow]:
        self.on_loop(self.proxy.work.finish)
        self.on_loop(self.proxy.journal.flush)
        return self.rows()

    async def _start(self, settings: Settings) -> None:
        self.proxy = Proxy(settings)
        await self.proxy.start()

    def _run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_S)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()


@contextmanager
def recording(upstream: str, journal: Path, **settings: Any) -> Iterator[Recording]:
    """Yield a recording and close it afterwards if the test has not."""
    made = Recording(upstream, journal, **settings)
    try:
        yield made
    finally:
        if made._thread.is_alive():
            made.close()


def of_kind(rows: list[JsonRow], *kinds: str) -> list[JsonRow]:
    return [row for row in rows if row["kind"] in kinds]
