"""The whole program as a process, on Telegram as an independent emulator knows it, and killed."""

import contextlib
import random
import re
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.fakes.bot_api_emulator import TOKEN, BotApi, bot_api
from tests.fakes.model_server import ModelServer, Recorded, Reply, hang, text
from tests.fakes.program import Program, rows, said
from tests.fakes.telegram_stage import telegram_config
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.two_processes, pytest.mark.slow]

AGAIN = "♻️ You may have received this reply before"
STREAMING = {"enabled": True, "edit_interval": 0.1, "buffer_threshold": 4}


@pytest.fixture
def telegram() -> Iterator[BotApi]:
    with bot_api() as server:
        yield server


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def prepared(folder: Path, telegram: BotApi, model: ModelServer, **more: Any) -> Program:
    home = folder / "home"
    home.mkdir(mode=0o700)
    config = telegram_config(telegram.base_url, model.base_url, **more)
    home.joinpath("config.yaml").write_text(yaml.safe_dump(config))
    return Program(home, {"HERMES_GATEWAY_LOCK_DIR": str(folder / "locks")})


@contextlib.contextmanager
def gateway(program: Program) -> Iterator["subprocess.Popen[bytes]"]:
    with program.start("gateway", "run") as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def arrived(telegram: BotApi, model: ModelServer, requests: int, texts: int) -> bool:
    return len(telegram.texts()) > texts or len(model.requests) >= requests


def is_answered(telegram: BotApi, number: int) -> bool:
    return any(f"answer {number}" in each for each in telegram.texts())


def test_nothing_is_lost_when_it_is_killed_in_the_middle(
    tmp_path: Path, telegram: BotApi, model: ModelServer
) -> None:
    # Else the second message breaks the first off if it comes while that is taken up again.
    queue = {"busy_input_mode": "queue"}
    program = prepared(tmp_path, telegram, model, streaming=STREAMING, display=queue)
    model.script(hang("A reply that never "))
    with gateway(program) as process:
        telegram.say("first")
        wait_until(lambda: any("▉" in each for each in telegram.texts()))
        growing = program.home / "desktop" / "growing-replies.json"
        wait_until(lambda: growing.exists() and "42" in growing.read_text())
        process.kill()
        process.wait()
    telegram.say("second, while nobody was there")
    model.script(text("the answer to first"), text("the answer to second"))
    with gateway(program) as process:
        wait_until(lambda: "the answer to second" in telegram.texts())
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0

    texts = telegram.texts()
    assert not any("▉" in each for each in texts)  # what was cut off came anew, as a whole
    assert texts.count("the answer to first") == 1
    assert texts.count("the answer to second") == 1
    assert telegram.pending() == 0
    (session,) = rows(program.home)
    prompts = [content for role, content in said(program.home, session["id"]) if role == "user"]
    assert sum("first" in each for each in prompts) == 1
    assert prompts[-1].endswith("second, while nobody was there")


@pytest.mark.timeout(300)
def test_killed_again_and_again_each_message_is_answered_and_no_answer_doubled_unsaid(
    tmp_path: Path, telegram: BotApi, model: ModelServer
) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)

    def answer(request: Recorded) -> Reply:
        asked = [m["content"] for m in request.messages if m["role"] == "user"]
        numbers = re.findall(r"message (\d+)", str(asked[-1])) or re.findall(
            r"message (\d+)", str(asked)
        )
        return text(f"answer {numbers[-1] if numbers else '?'}", delay=0.05)

    model.responder = answer
    program = prepared(tmp_path, telegram, model, display={"busy_input_mode": "queue"})
    for number in range(1, 5):
        with gateway(program) as process:
            telegram.say(f"message {number}")
            wait_until(partial(arrived, telegram, model, number, len(telegram.texts())))
            time.sleep(chance.random() * 0.5)
            process.kill()
            process.wait()
        with gateway(program) as process:
            wait_until(partial(is_answered, telegram, number))
            time.sleep(chance.random() * 0.1)
            process.kill()
            process.wait()
        # Else it would be taken for a gateway that kills itself by taking up what it was doing.
        (program.home / "gateway" / "restart_loop.json").unlink(missing_ok=True)
    with gateway(program) as process:
        telegram.say("message 5")
        wait_until(lambda: is_answered(telegram, 5) and telegram.pending() == 0)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    for number in range(1, 5):
        plain = [each for each in telegram.texts() if each == f"answer {number}"]
        marked = [t for t in telegram.texts() if f"answer {number}" in t and t.startswith(AGAIN)]
        assert plain or marked, f"seed {seed}: {telegram.texts()}"
        assert len(plain) <= 1, f"seed {seed}: {telegram.texts()}"


def test_it_stops_cleanly_and_shows_its_token_nowhere(
    tmp_path: Path, telegram: BotApi, model: ModelServer
) -> None:
    program = prepared(tmp_path, telegram, model)
    config = program.home / "config.yaml"
    config.write_text(config.read_text().replace(TOKEN, ""))
    program.home.joinpath(".env").write_text(f"TELEGRAM_BOT_TOKEN={TOKEN}\n")
    with gateway(program) as process:
        telegram.say("hello")
        wait_until(telegram.texts)
        status = program.run("gateway", "status")
        telegram.kill()
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "telegram" in status.out
    shown = out.decode() + err.decode() + status.out + status.err
    logs = "".join(path.read_text() for path in program.home.rglob("*.log*"))
    assert TOKEN not in shown
    assert TOKEN not in logs
    assert "Traceback" not in shown + logs
