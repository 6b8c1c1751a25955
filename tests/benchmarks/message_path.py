"""What one message of a chat passes: our modules, their calls, opened files, SQL statements.

Every thread is profiled, except those that only look for changes at intervals: what they do belongs
to no message.
"""

import asyncio
import contextlib
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import enumerate as threads
from types import FrameType
from typing import Any

import yaml

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.events import TurnFinished
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.platforms.reconnect import LinkTiming
from hermes_desktop.gateway.platforms.shipped import shipped_platforms
from hermes_desktop.services.assembly.desktop_services import join_parts
from hermes_desktop.services.assembly.hosting_services import join_gateway
from hermes_desktop.services.hosting.gateway_host import HostSetup
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram_server import telegram_server
from tests.fakes.telegram_stage import telegram_config
from tests.support.waiting import until

OWN = "hermes_desktop"
POLLING = ("state-watch", "drain-watch", "scheduled-work", "settings-watch", "gateway-identity")
"""The threads that look for changes at intervals."""
_PATIENT = LinkTiming(connect_s=60.0, disconnect_s=60.0, probe_s=60.0)
_SQL = frozenset({"execute", "executemany", "executescript"})
_OPENERS = frozenset({("_io", "open"), ("io", "open"), ("posix", "open"), ("nt", "open")})


@dataclass
class MessagePath:
    """What was called while it recorded.

    Attributes:
        calls: Calls of functions, by our module.
        functions: The same by module and function.
        files: The number of opened files.
        statements: The number of executed SQL statements.
    """

    calls: Counter[str] = field(default_factory=Counter)
    functions: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: int = 0
    statements: int = 0

    @property
    def modules(self) -> frozenset[str]:
        """Our modules of which a function was called."""
        return frozenset(self.calls)

    def by_package(self) -> Counter[str]:
        """Return the number of modules of each package."""
        return Counter(name.rpartition(".")[0].removeprefix(f"{OWN}.") for name in self.calls)

    def report(self) -> str:
        """Return the figures as lines."""
        packages = sorted(self.by_package().items(), key=lambda each: (-each[1], each[0]))
        total = (
            f"{len(self.modules)} modules, {self.calls.total()} calls,"
            f" {self.files} opened files, {self.statements} SQL statements"
        )
        return "\n".join([total, *(f"  {count:3}  {name}" for name, count in packages)])


class Recorder:
    """Profiles every thread that starts inside :meth:`installed`, and records where told to."""

    def __init__(self) -> None:
        self._path: MessagePath | None = None

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Profile this thread and all that start meanwhile."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    @contextlib.contextmanager
    def recording(self) -> Iterator[MessagePath]:
        """Record what is called inside the block."""
        self._path = path = MessagePath()
        try:
            yield path
        finally:
            self._path = None

    def _note(self, frame: FrameType, event: str, called: Any) -> None:
        path = self._path
        if path is None or event not in {"call", "c_call"}:
            return
        module = frame.f_globals.get("__name__", "")
        if threading.current_thread().name.startswith(POLLING):
            return
        if event == "call":
            if module.startswith(f"{OWN}.") and frame.f_code.co_name != "<module>":
                path.calls[module] += 1
                path.functions[module, frame.f_code.co_name] += 1
        elif isinstance(getattr(called, "__self__", None), sqlite3.Connection | sqlite3.Cursor):
            path.statements += called.__name__ in _SQL
        elif (called.__module__, called.__name__) in _OPENERS:
            path.files += 1


def _setup(folder: Path, config: dict[str, Any]) -> HostSetup:
    home = folder / "home"
    home.mkdir(mode=0o700)
    home.joinpath("config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return HostSetup(
        HermesPaths(home, home),
        {"HERMES_GATEWAY_LOCK_DIR": str(folder / "locks"), "PATH": ""},
        autostart=False,
        checks=HostingChecks(Path("/"), ()),
        end_program=lambda: None,
    )


async def _answered(finished: list[TurnFinished], count: int) -> None:
    """Wait until so many turns are over and nothing more is done about their messages."""
    await until(lambda: len(finished) >= count and not _at_work())


def _at_work() -> list[str]:
    names = [*(each.get_name() for each in asyncio.all_tasks()), *(t.name for t in threads())]
    return [name for name in names if name.startswith(("turn ", "session-title"))]


async def telegram_path(folder: Path) -> MessagePath:
    """Record the second message of a Telegram chat, of a gateway without a window."""
    recorder, finished = Recorder(), []
    with recorder.installed(), ModelServer() as model:
        async with telegram_server() as telegram:
            setup = _setup(folder, telegram_config(telegram.base_url, model.base_url))
            services = join_gateway(
                setup,
                redactor=SecretRedactor(),
                clock=SystemClock(),
                registry=shipped_platforms(_PATIENT),
            )
            services.bus.subscribe(TurnFinished, finished.append)
            try:
                await services.start()
                await services.gateway.start()
                telegram.say("first")
                await _answered(finished, 1)
                await until(lambda: not telegram.updates)
                with recorder.recording() as path:
                    telegram.say("second")
                    await _answered(finished, 2)
                    await until(lambda: not telegram.updates)
            finally:
                await services.close(drain_s=0.0)
    return path


async def window_path(folder: Path) -> MessagePath:
    """Record the second message of a chat in the window."""
    recorder, finished = Recorder(), []
    with recorder.installed(), ModelServer() as model:
        setup = _setup(folder, {"model": {"default": "fake-model", "base_url": model.base_url}})
        services = join_parts(
            setup,
            redactor=SecretRedactor(),
            offline=False,
            clock=SystemClock(),
            registry=None,
            hosts=False,
        )
        services.bus.subscribe(TurnFinished, finished.append)
        try:
            await services.start(watch=False)
            sent = await services.chat.send("first")
            await _answered(finished, 1)
            with recorder.recording() as path:
                await services.chat.send("second", session_id=sent.session_id)
                await _answered(finished, 2)
        finally:
            await services.close(drain_s=0.0)
    return path
