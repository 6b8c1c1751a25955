"""The gateway on a plain event loop: start, follow, stop in time. Loads no Qt."""

import asyncio
from typing import TYPE_CHECKING

from hermes_desktop.cli import output
from hermes_desktop.cli.gateway.gateway_texts import runs_already
from hermes_desktop.core.concurrency.loop_signals import is_ignored, signal_handlers
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import GatewayStatusChanged, Notice, PlatformHealth, UndoneWork
from hermes_desktop.core.log_setup import SecretRedactor, set_up_logging
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.core.processes.exit_deadline import EXIT_SLACK_S, ExitDeadline
from hermes_desktop.services.assembly.assembly import build_gateway
from hermes_desktop.services.hosting.undone_words import UNDONE_HINT, WHY_UNDONE, undone_sentence

if TYPE_CHECKING:
    from hermes_desktop.gateway.platforms.registry import AdapterRegistry
    from hermes_desktop.services.assembly.hosting_services import GatewayServices

ENDED_AS_ASKED, FAILED = 0, 1
_NO_PLATFORM = (
    "No platform is set up yet, so no messages can arrive. For Telegram, run "
    "`hermes-desktop secrets set TELEGRAM_BOT_TOKEN`; the bot connects immediately."
)
_SERVING = frozenset({"running", "working", "degraded"})
_NOT_HOSTING = frozenset({"stopped", "attached"})
_BY_ITSELF = frozenset({"gone", "failed", "not_ours"})


def run_gateway(
    paths: HermesPaths,
    *,
    insist: bool,
    drain_s: float,
    registry: "AdapterRegistry | None" = None,
    deadline: ExitDeadline | None = None,
) -> int:
    """Host the gateway until it is asked to end. Blocks.

    Args:
        paths: The home; it exists.
        insist: Start although something would not run here.
        drain_s: How long running replies may take at the end.
        registry: The platforms that can be served; None for those that the program ships.
        deadline: Armed when the end begins, and not disarmed: the process is to end.

    Returns:
        The exit code.

    Raises:
        HermesError: It was not started.
    """
    redactor = SecretRedactor()
    set_up_logging(redactor, log_file=paths.log_file)
    services = build_gateway(paths, redactor=redactor, registry=registry)
    program = GatewayProgram(
        services, insist=insist, drain_s=drain_s, deadline=deadline or ExitDeadline(tell=output.say)
    )
    return asyncio.run(program.run())


class GatewayProgram:
    """One run of the gateway. For one loop.

    Args:
        services: The parts; closed at the end.
        insist: See :func:`run_gateway`, as for the others.
        drain_s: How long running replies may take at the end.
        deadline: Armed when the end begins.
    """

    def __init__(
        self, services: "GatewayServices", *, insist: bool, drain_s: float, deadline: ExitDeadline
    ) -> None:
        self._services = services
        self._gateway = services.gateway
        self._insist = insist
        self._drain_s = drain_s
        self._deadline = deadline
        self._asked = 0
        self._changed = asyncio.Event()

    async def run(self) -> int:
        """Start, serve, and end the gateway.

        Raises:
            HermesError: It was not started.
        """
        progress = GatewayProgress()
        bus = self._services.bus
        bus.subscribe(GatewayStatusChanged, progress.show)
        bus.subscribe(Notice, progress.note)
        bus.subscribe(GatewayStatusChanged, lambda _: self._changed.set())
        with signal_handlers(_wanted_signals(), self.ask_to_end):
            try:
                await self._services.start()
                await self._start()
                return await self._serve()
            finally:
                self._deadline.arm(self._drain_s + EXIT_SLACK_S)
                await self._services.close(drain_s=self._drain_s)
                progress.clear()

    def ask_to_end(self) -> None:
        """Request the end; a second call interrupts running replies."""
        self._asked += 1
        if self._asked == 1:
            self._deadline.arm(self._drain_s + EXIT_SLACK_S)
        else:
            self._deadline.arm(EXIT_SLACK_S)
            self._gateway.hurry()
        self._changed.set()

    async def _start(self) -> None:
        starting = asyncio.ensure_future(self._gateway.start(insist=self._insist))
        while not starting.done() and not self._asked:
            change = asyncio.ensure_future(self._next_change())
            await asyncio.wait({starting, change}, return_when=asyncio.FIRST_COMPLETED)
            change.cancel()
        if not starting.done():
            starting.cancel()
            return
        starting.result()
        if self._gateway.state in _NOT_HOSTING and not self._asked:
            raise _not_started(self._gateway.status, self._services.paths)
        if not self._gateway.status.platforms:
            output.say(_NO_PLATFORM)
        output.say(f"The gateway of {self._services.paths.home} is running. Press Ctrl-C to stop.")

    async def _serve(self) -> int:
        while not self._asked and self._gateway.state not in _NOT_HOSTING:
            await self._next_change()
        if self._asked:
            output.say("Stopping …")
            return ENDED_AS_ASKED
        status = self._gateway.status
        if status.other is not None:
            output.say(
                f"{status.other.name}, process {status.other.pid}, is now the gateway of this home."
            )
        elif status.refusal is not None:
            refusal = status.refusal
            output.say(" ".join(filter(None, (refusal.title, refusal.detail, refusal.hint))))
        return FAILED if self._gateway.ended_by in _BY_ITSELF else ENDED_AS_ASKED

    async def _next_change(self) -> None:
        await self._changed.wait()
        self._changed.clear()


def _wanted_signals() -> list[str]:
    return [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if not is_ignored(name)]


def _not_started(status: GatewayStatusChanged, paths: HermesPaths) -> HermesError:
    if status.other is not None:
        return runs_already(status.other.name, status.other.pid, status.other.started_at)
    refusal = status.refusal
    if refusal is None:
        look = f"See {paths.log_file}."
        return HermesError("The gateway was not started.", status.detail, look)
    missed = [f"- {each}" for each in refusal.would_not_run]
    insisting = "Add --insist to start it anyway." if refusal.may_insist else ""
    return HermesError(
        refusal.title,
        "\n".join(part for part in (refusal.detail, *missed) if part),
        "\n".join(part for part in (refusal.hint, insisting) if part),
    )


class GatewayProgress:
    """A listener that writes a line to standard error when the status has changed.

    On a terminal the remaining seconds count down in one line; elsewhere, where each would be a
    line of a log, only a change of what is waited for is written.
    """

    def __init__(self) -> None:
        self._told: tuple[object, ...] = ()
        self._said = ""
        self._platforms: dict[str, tuple[str, str]] = {}
        self._line = output.RewrittenLine()
        self._undone: UndoneWork | None = None

    def show(self, status: GatewayStatusChanged) -> None:
        """Show what changed."""
        for platform in status.platforms:
            self._show_platform(platform)
        self._show_undone(status.undone)
        if status.state in _SERVING:
            self._show_gone({platform.name for platform in status.platforms})
        if status.state == "stopping" and status.running_turns and output.is_error_terminal():
            self._line.rewrite(output.one_line(status.detail))
            return
        counted = status.running_turns if status.state == "stopping" else status.detail
        told = (status.state, counted)
        is_news = told != self._told and status.detail != self._said
        if status.detail and is_news and status.refusal is None:
            self._line.say(status.detail)
        self._told, self._said = told, status.detail

    def note(self, notice: Notice) -> None:
        """Show what a window would show as a notice."""
        words = (notice.title, notice.detail, notice.hint)
        self._line.say(" ".join(each for each in words if each))

    def clear(self) -> None:
        """Clear the line that is rewritten."""
        self._line.clear()

    def _show_platform(self, platform: PlatformHealth) -> None:
        told = (platform.state, platform.detail)
        if self._platforms.get(platform.name) != told:
            self._platforms[platform.name] = told
            self._line.say(f"{platform.name}: {platform.state}" + _behind(platform.detail))

    def _show_gone(self, served: set[str]) -> None:
        for name in sorted(self._platforms.keys() - served):
            del self._platforms[name]
            self._line.say(f"{name}: turned off")

    def _show_undone(self, undone: UndoneWork | None) -> None:
        if undone is not None and undone != self._undone:
            self._line.say(f"{undone_sentence(undone)} {WHY_UNDONE} {UNDONE_HINT}")
        self._undone = undone


def _behind(detail: str) -> str:
    return f" – {detail}" if detail else ""
