"""Registration of Telegram: adapter factory and settings check."""

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.platforms.checks import CheckAnswer
from hermes_desktop.gateway.platforms.registry import AdapterContext
from hermes_desktop.gateway.platforms.telegram.adapter import TelegramPlatform
from hermes_desktop.gateway.platforms.telegram.loading import ApiMaker, load_api
from hermes_desktop.gateway.platforms.telegram.options import read_options
from hermes_desktop.gateway.platforms.telegram.packages import install_command, missing_words
from hermes_desktop.gateway.platforms.telegram.poller import Conflicts
from hermes_desktop.gateway.platforms.telegram.records import RefusalError


class Serving:
    """Creates adapters that share the count of conflicts with other programs."""

    def __init__(self, make_api: ApiMaker = load_api) -> None:
        self._make_api = make_api
        self._conflicts: dict[str | None, Conflicts] = {}

    def make(self, config: PlatformConfig, context: AdapterContext) -> TelegramPlatform:
        """Create an adapter."""
        conflicts = self._conflicts.setdefault(config.token, Conflicts())
        return TelegramPlatform(config, context, conflicts=conflicts, make_api=self._make_api)

    async def check(self, config: PlatformConfig, _: AdapterContext) -> CheckAnswer:
        """Check whether Telegram accepts the token."""
        return await check(config, self._make_api)


async def check(config: PlatformConfig, make_api: ApiMaker = load_api) -> CheckAnswer:
    """Request the bot's identity; does not disturb a running poller of the bot."""
    token = (config.token or "").strip()
    if not token:
        return CheckAnswer(
            "misconfigured", words="There is no token.", hint="Ask @BotFather for one."
        )
    worker = WorkerThreads("telegram-check")
    try:
        api = await worker.run(make_api, token, read_options(config))
    except ImportError:
        hint = f"Run: {install_command()}"
        return CheckAnswer("missing_package", words=missing_words(), hint=hint)
    finally:
        worker.close()
    try:
        bot = await api.me()
    except RefusalError as error:
        hint = "Copy the token from @BotFather again."
        return CheckAnswer("refused", words=error.words, hint=hint)
    except OSError as error:
        return CheckAnswer("unreachable", words=str(error))
    finally:
        await api.close()
    return CheckAnswer("ok", name=bot.shown)
