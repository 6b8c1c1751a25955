"""How Telegram gets into the registry of platforms: its factory and its check."""

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
    """Makes adapters that know together how often another program had the bot's messages."""

    def __init__(self, make_api: ApiMaker = load_api) -> None:
        self._make_api = make_api
        self._conflicts: dict[str | None, Conflicts] = {}

    def make(self, config: PlatformConfig, context: AdapterContext) -> TelegramPlatform:
        """The factory."""
        conflicts = self._conflicts.setdefault(config.token, Conflicts())
        return TelegramPlatform(config, context, conflicts=conflicts, make_api=self._make_api)

    async def check(self, config: PlatformConfig, _: AdapterContext) -> CheckAnswer:
        """See whether Telegram takes the token."""
        return await check(config, self._make_api)


async def check(config: PlatformConfig, make_api: ApiMaker = load_api) -> CheckAnswer:
    """Ask Telegram who we are; nothing is taken from the bot that may be running."""
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
