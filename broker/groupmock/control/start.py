"""Starts the control API beside a cluster, and restarts that cluster at a reset."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..config.resolve import Config
from ..journal.place import make_way
from ..net.listen import bracketed
from ..server.assembly import start
from ..server.running import CannotStart, Running

if TYPE_CHECKING:
    from ..faults.plan import Plan
    from .server import Control


async def start_control(
    config: Config, running: Running, on_failure: Callable[[], None] | None = None, plan: Plan | None = None
) -> Control:
    """Serve the control API at `config.control`. A reset starts the cluster with `on_failure` and `plan`, as `start` does. If this raises
    CannotStart, the cluster is closed, too."""

    async def restart(old: Running, config: Config) -> Running:
        fired = old.fired_earlier | {report.name for report in old.server.driver.rules.reports() if report.fired}
        trouble = await old.close()
        if trouble is not None:
            raise trouble
        if config.journal is not None and config.journal == old.config.journal:
            make_way(config.journal)
        running = await start(config, on_failure, old.ports, stories=True, plan=plan, seed_data=old.seed_data, issuer=old.issuer)
        running.control = old.control
        running.fired_earlier = fired
        if old.audit_sink is not None:
            from ..audit.verdicts import together

            running.earlier = [together([*old.earlier, old.audit()])]
        return running

    try:
        return await _serve(config, running, restart)
    except CannotStart:
        await running.close()
        raise


async def _serve(config: Config, running: Running, restart: Callable[[Running, Config], Awaitable[Running]]) -> Control:
    assert config.control is not None
    try:
        from .server import serve
    except ImportError as lacking:
        from groupmock_codec.extras import pip_install

        raise CannotStart(f"--control needs {lacking.name}: {pip_install('control')}") from None
    host, port = config.control.host, config.control.port or 0
    try:
        control = await serve(running, host, port, config.token, restart)
    except OSError as failure:
        remedy = "choose another --control PORT, or 0 for a free one"
        raise CannotStart(f"cannot serve the control API on {bracketed(host)}:{port}: {failure.strerror}: {remedy}") from None
    running.control = control.url
    return control
