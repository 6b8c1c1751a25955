"""Programs in which something hangs when they are to end. A program.

    python hung_programs.py gateway HOME HOW DRAIN
    python hung_programs.py desktop HOME HOW MESSAGE

HOW says what hangs: ``nothing`` of ours; ``workers``, reading the settings once there is a file
``hang`` in the home; the ``loop``, when a platform is left or the window closes; a ``thread`` that
the end of the interpreter waits for. With the last two a child process sleeps beside it, and the
desktop gives replies only one second.

The gateway serves the chat service of the tests; the desktop sends the message into its own chat
as soon as it stands.
"""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from hermes_desktop.core.log_setup import SecretRedactor, set_up_logging
from hermes_desktop.core.paths import HermesPaths

FOR_EVER = threading.Event()


def hang_here() -> None:
    """What the stacks in the log must name."""
    FOR_EVER.wait()


def start_hanging(home: Path, how: str) -> None:
    from hermes_desktop.services.agents import agent_builder

    read = agent_builder.read_agent_settings

    def read_or_hang(*args: Any) -> Any:
        if home.joinpath("hang").exists():
            home.joinpath("hangs").touch()
            hang_here()
        return read(*args)

    if how == "workers":
        agent_builder.read_agent_settings = read_or_hang
    if how in {"loop", "thread"}:
        subprocess.Popen(["sleep", "600"], start_new_session=how == "loop")
    if how == "thread":
        threading.Thread(target=hang_here, name="a-thread-that-hangs").start()


def gateway(home: Path, how: str, drain_s: float) -> int:
    from hermes_desktop.cli.gateway.gateway_program import run_gateway
    from hermes_desktop.gateway.config.gateway_config import Platform, PlatformConfig
    from hermes_desktop.gateway.platforms.registry import AdapterContext, AdapterRegistry
    from tests.fakes.socket_platform import SocketPlatform

    class Hanging(SocketPlatform):
        async def disconnect(self) -> None:
            if how == "loop":
                hang_here()
            await super().disconnect()

    def make(config: PlatformConfig, context: AdapterContext) -> SocketPlatform:
        return Hanging(config, context.platform, clock=context.clock)

    start_hanging(home, how)
    return run_gateway(
        HermesPaths(home, home),
        insist=True,
        drain_s=drain_s,
        registry=AdapterRegistry({Platform.TELEGRAM: make}),
    )


def desktop(home: Path, how: str, message: str) -> int:
    from hermes_desktop.services.assembly.desktop_services import DesktopServices
    from hermes_desktop.ui.shell.main_window import MainWindow
    from hermes_desktop.ui.shell.tray import Tray
    from hermes_desktop.ui.start import desktop_program

    async def say(services: DesktopServices) -> None:
        while services.gateway.state not in {"running", "working", "degraded"}:
            await asyncio.sleep(0.02)
        await services.chat.send(message)

    class Hanging(desktop_program.DesktopProgram):
        async def _run_open(
            self, services: DesktopServices, window: MainWindow, tray: Tray
        ) -> None:
            if message:
                services.tasks.start(say(services), name="a message")
            if how == "loop":
                window.destroyed.connect(hang_here)
            await super()._run_open(services, window, tray)

    start_hanging(home, how)
    if how in {"loop", "thread"}:
        desktop_program.DRAIN_S = 1.0
    desktop_program.DesktopProgram = Hanging  # type: ignore[misc]
    paths = HermesPaths(home, home)
    redactor = SecretRedactor()
    set_up_logging(redactor, log_file=paths.log_file)
    return desktop_program.run_program(desktop_program.ProgramSetup(paths, redactor)).code


if __name__ == "__main__":
    kind, folder, what, last = sys.argv[1:]
    if kind == "gateway":
        raise SystemExit(gateway(Path(folder), what, float(last)))
    raise SystemExit(desktop(Path(folder), what, last))
