"""Both programs hold the same conversations on Telegram, one after the other."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_desktop.gateway.config.gateway_config import PlatformConfig
from hermes_desktop.gateway.platforms.telegram.inbound import message_event
from hermes_desktop.gateway.platforms.telegram.incoming import incoming
from hermes_desktop.gateway.platforms.telegram.options import read_options
from hermes_desktop.gateway.platforms.telegram.records import Bot
from hermes_desktop.gateway.session import build_session_key
from tests.fakes.bot_api_emulator import TOKEN, BotApi, bot_api
from tests.fakes.model_server import ModelServer
from tests.fakes.telegram_stage import telegram_config, telegram_stage
from tests.interop.conftest import RealHermes
from tests.support.waiting import wait_until

FORUM = {"id": -1005, "type": "supergroup", "title": "Forum", "is_forum": True}
GROUP = {"id": -1006, "type": "supergroup", "title": "Group"}
PERSON = {"id": 42, "is_bot": False, "first_name": "Ann"}


def message(number: int, chat: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {"message_id": number, "date": int(time.time()), "chat": chat, "from": PERSON}
    return told | {"text": f"message {number}"} | more


@contextlib.contextmanager
def real_gateway(hermes: RealHermes, telegram: BotApi, model: ModelServer) -> Iterator[None]:
    """The real program's own gateway, asking the emulator."""
    config = telegram_config(telegram.base_url, model.base_url)
    config["model"] |= {"provider": "custom", "api_key": "x", "context_length": 128_000}
    extra = config["platforms"]["telegram"]["extra"]
    extra["allow_from"] = ["42"]  # a text is taken there for a list of its letters
    extra["base_file_url"] = telegram.base_url.replace("/bot", "/file/bot")
    (hermes.home / "config.yaml").write_text(yaml.safe_dump(config))
    (hermes.home / ".env").write_text(
        f"TELEGRAM_BOT_TOKEN={TOKEN}\nTELEGRAM_ALLOWED_USERS=42\nOPENAI_API_KEY=x\n"
    )
    environment = hermes.environment() | {"HERMES_GATEWAY_LOCK_DIR": str(hermes.home / "locks")}
    program = subprocess.Popen(
        [str(hermes.python.parent / "hermes"), "gateway", "run"],
        env=environment | {"PATH": os.environ["PATH"]},
        cwd=hermes.home.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        program.terminate()
        program.wait(60)


@pytest.mark.asyncio
@pytest.mark.timeout(300)
async def test_one_goes_on_where_the_other_was(hermes_python: Path, tmp_path: Path) -> None:
    hermes = RealHermes(hermes_python, tmp_path / "home")
    hermes.home.mkdir(mode=0o700)
    topic = {"message_thread_id": 11, "is_topic_message": True}
    private = {"id": 42, "type": "private", "first_name": "Ann"}
    sent = [
        message(501, private, text="What is a quokka?"),
        message(502, FORUM, **topic),
        message(503, FORUM),
        message(504, GROUP),
    ]
    with bot_api() as telegram:
        with ModelServer() as model, real_gateway(hermes, telegram, model):
            wait_until(lambda: telegram.calls("setMyCommands"))  # it forgets what came before
            for each in sent:
                telegram.update(message=each)
            chats = (42, FORUM["id"], GROUP["id"])
            wait_until(lambda: all(any("You said" in t for t in telegram.texts(c)) for c in chats))
        theirs = json.loads((hermes.home / "sessions" / "sessions.json").read_text())
        (hermes.home / ".env").unlink()
        async with telegram_stage(tmp_path, telegram.base_url) as stage:
            telegram.say("And where does it live?")
            await stage.until(lambda: any("live?" in text for text in telegram.texts()))
            telegram.update(message=message(505, GROUP))  # the emulator knows no topics
            await stage.until(lambda: any("message 505" in t for t in telegram.texts(-1006)))
            prompts = json.dumps(stage.model.requests[0].messages)

    # The same chats have the same names.
    bot, options = Bot(7, "", "Fixture"), read_options(PlatformConfig())
    events = [message_event([incoming({"update_id": 1, "message": m})], bot, options) for m in sent]
    ours = {build_session_key(each.source) for each in events if each and each.source}
    assert ours == {key for key in theirs if key.startswith("agent:")}

    # The conversation goes on, and is one.
    assert "What is a quokka?" in prompts
    listed = [line for line in hermes.command("sessions", "list").splitlines() if "quokka" in line]
    assert len(listed) == 1
    now = hermes.script("show_chats.py")
    assert {key: now[key]["session_id"] for key in now} == {
        key: theirs[key]["session_id"] for key in theirs if key.startswith("agent:")
    }
    assert not any(now[key]["resume_pending"] for key in now)
