"""Registration of Telegram: adapter factory and settings check."""

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.platforms.checks import CheckResult
from hermes_desktop.gateway.platforms.registry import AdapterContext
from hermes_desktop.gateway.platforms.telegram.adapter import TelegramAdapter
from hermes_desktop.gateway.platforms.telegram.loading import (
    ApiMaker,
    install_command,
    load_api,
    missing_text,
)
from hermes_desktop.gateway.platforms.telegram.options import read_options
from hermes_desktop.gateway.platforms.telegram.poller import ConflictCount
from hermes_desktop.gateway.platforms.telegram.records import RefusalError


class Serving:
    """Creates adapters that share the count of conflicts with other programs."""

    def __init__(self, make_api: ApiMaker = load_api) -> None:
        self._make_api = make_api
        self._conflicts: dict[str | None, ConflictCount] = {}

    def make(self, config: PlatformConfig, context: AdapterContext) -> TelegramAdapter:
        """Create an adapter."""
        conflicts = self._conflicts.setdefault(config.token, ConflictCount())
        return TelegramAdapter(config, context, conflicts=conflicts, make_api=self._make_api)

    async def check(self, config: PlatformConfig, _: AdapterContext) -> CheckResult:
        """Check whether Telegram accepts the token."""
        return await check(config, self._make_api)


async def check(config: PlatformConfig, make_api: ApiMaker = load_api) -> CheckResult:
    """Request the bot's identity; does not disturb a running poller of the bot."""
    token = (config.token or "").strip()
    if not token:
        return CheckResult(
            "misconfigured", words="There is no token.", hint="Get one from @BotFather."
        )
    worker = WorkerThreads("telegram-check")
    try:
        api = await worker.run(make_api, token, read_options(config))
    except ImportError:
        hint = f"Run: {install_command()}"
        return CheckResult("missing_package", words=missing_text(), hint=hint)
    finally:
        worker.close()
    try:
        bot = await api.me()
    except RefusalError as error:
        hint = "Copy the token from @BotFather again."
        return CheckResult("refused", words=error.words, hint=hint)
    except OSError as error:
        return CheckResult("unreachable", words=str(error))
    finally:
        await api.close()
    return CheckResult("ok", name=bot.shown)
