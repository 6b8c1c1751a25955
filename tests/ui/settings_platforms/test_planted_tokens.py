"""Tokens planted in keyring, ``.env`` and environment stay there, whatever is done in the window.

Looked through afterwards: every file of the home and beside it, the log of everything at its most
talkative, what was told in notices, and what the command line printed.
"""

import asyncio
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.cli.bug_report import report_internal_error
from hermes_desktop.core.events import Notice
from hermes_desktop.core.log_setup import set_up_logging
from hermes_desktop.state import SessionDB
from tests.fakes.private_bus import NEEDS_KEYRING, PrivateBus
from tests.fakes.program import CHECKOUT, files_of
from tests.ui.settings_platforms.conftest import BETTER, GOOD, TOKEN, PlatformsStage
from tests.ui.settings_platforms.test_real_keyring import bus, real

__all__ = ["bus"]

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.slow,
    pytest.mark.two_processes,
    # The library leaves the sockets of calls that failed to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

WRONG = "111222333:CCEhBOweik6ad9r_QXMENQjcrGbqCr4K-no"
DISCORD = "MTplanted0000000000000000.Gabcde.planted-discord-token-of-a-good-length"
MATRIX = "syt_planted_matrix_token_of_the_environment"
SLACK = "xoxb-planted-slack-token-of-the-keyring"
PLANTED = (GOOD, BETTER, WRONG, DISCORD, MATRIX, SLACK)


@pytest.fixture
def log(home: Path) -> Iterator[Path]:
    """Everything of the program, into a file of the home."""
    logger = logging.getLogger("hermes_desktop")
    before, level = list(logger.handlers), logger.level
    file = home / "logs" / "desktop.log"
    yield file
    for handler in [each for each in logger.handlers if each not in before]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(level)


def found_in(content: bytes) -> list[str]:
    return [each for each in PLANTED if each.encode() in content]


async def command_line(stage: PlatformsStage, bus: PrivateBus, *words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "hermes_desktop", *words,
        env={**bus.environ(), **stage.environ, "PATH": "/usr/bin:/bin",
             "HERMES_HOME": str(stage.home), "HOME": str(stage.home.parent),
             "PYTHONPATH": str(CHECKOUT), "LC_ALL": "C.UTF-8"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


async def everything_in_the_window(stage: PlatformsStage) -> None:
    """Paste, test, save, a wrong one, move, remove, bring back, look at ends."""
    card = await stage.card()
    await stage.offer("end")
    stage.press(card.body.check.button)
    await stage.until(lambda: "accepts" in card.body.check.answer.text)
    stage.chat.set(bad_token=WRONG)
    stage.paste(WRONG)
    stage.press(card.body.check.button)
    await stage.until(lambda: "rejected" in card.body.check.answer.text)
    await stage.save()
    await stage.until(lambda: "rejected" in stage.field.message.text)
    stage.press(stage.view.bar.discard)
    for text in ("two\nlines", SLACK, "x" * 5000):
        stage.paste(text)
    stage.press(stage.view.bar.discard)
    stage.paste(f"TELEGRAM_BOT_TOKEN={BETTER}\n")
    await stage.save()
    await stage.until(lambda: stage.field.message.text == "It is stored in the keyring.")
    await stage.offer("remove")
    await stage.agree()
    await stage.until(lambda: stage.field.origin.text() == "Not set.")
    await stage.undo()
    await stage.until(lambda: stage.field.origin.text() == "Stored in the keyring.")
    discord = stage.part.cards["discord"]
    discord.show_open(opened=True)
    field = discord.fields["DISCORD_BOT_TOKEN"]
    await stage.offer("move", field)
    await stage.agree()
    await stage.until(lambda: field.origin.text() == "Stored in the keyring.")
    await stage.undo(field)
    await stage.until(lambda: field.origin.text() == "Stored in .env.")


@NEEDS_KEYRING
async def test_tokens_stay_where_they_are_allowed(
    stage: PlatformsStage, bus: PrivateBus, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus.unlocked()
    stage.open_keyring = real
    stage.environ = {"MATRIX_ACCESS_TOKEN": MATRIX, "MATRIX_HOMESERVER": "http://127.0.0.1:9"}
    stage.env_file(DISCORD_BOT_TOKEN=DISCORD)
    stage.kept(**{TOKEN: GOOD, "SLACK_BOT_TOKEN": SLACK})
    before = stage.paths.env_file.read_bytes()
    recent = set_up_logging(stage.redactor, log_file=log, level=logging.DEBUG)
    notices: list[Notice] = []
    async with stage:
        stage.bus.subscribe(Notice, notices.append)
        await everything_in_the_window(stage)
        stage.view.show_page("privacy")
        await stage.until(lambda: stage.group.feed.known)
        stage.group.ends.setChecked(True)
        stage.group.focus_key("SLACK_BOT_TOKEN")
        assert not found_in(stage.shown_text().encode())
    said = "\n".join(map(str, notices)) + "\n".join(recent.lines)
    db = SessionDB(stage.paths.state_db)
    db.create_session("s1", "desktop")
    db.append_message("s1", "user", "hello")
    db.close()
    printed = [
        await command_line(stage, bus, "sessions", "export", "-"),
        await command_line(stage, bus, "config", "list"),
        await command_line(stage, bus, "config", "list", "--json"),
        await command_line(stage, bus, "secrets", "list", "--show-end"),
        await command_line(stage, bus, "secrets", "list", "--json"),
    ]
    assert "keyring (…K-zz)" in printed[3]
    for name, value in {**stage.environ, "HERMES_HOME": str(stage.home)}.items():
        monkeypatch.setenv(name, value)
    report_internal_error(RuntimeError(f"{GOOD} {BETTER} {DISCORD} {MATRIX} {SLACK}"))
    assert "RuntimeError" in log.read_text()
    for text in (said, *printed):
        assert found_in(text.encode()) == []
    for name, content in files_of(stage.home.parent).items():
        wanted = [DISCORD] if name == "home/.env" else []
        assert found_in(content) == wanted, name
    assert stage.paths.env_file.read_bytes() == before
    assert real().get_password(f"hermes-desktop:{stage.home}", TOKEN) == BETTER
