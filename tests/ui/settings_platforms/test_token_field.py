"""One token: pasted, replaced, looked at, in every place and state it may be in."""

import pytest
from PySide6.QtWidgets import QLineEdit

from hermes_desktop.settings.secrets import NoKeyring
from tests.fakes.keyring import FakeKeyring
from tests.ui.settings_platforms.conftest import BETTER, GOOD, TOKEN, PlatformsStage

pytestmark = pytest.mark.asyncio


async def test_what_is_stored_is_never_shown_its_end_only_when_asked_for(stage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        await stage.card()
        field = stage.field
        assert field.origin.text() == "Stored in the keyring."
        assert field.line.text() == ""
        assert field.line.echoMode() == QLineEdit.EchoMode.Password
        assert stage.offers() == {"end", "move_back", "remove"}
        assert GOOD not in stage.shown_text()
        assert GOOD[-4:] not in stage.shown_text()
        await stage.offer("end", field)
        assert field.origin.text() == "Stored in the keyring, ending in …K-bc."
        await stage.offer("end", field)
        assert GOOD[-4:] not in stage.shown_text()


async def test_pasted_saved_and_counted_as_pending(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        await stage.card()
        assert not stage.view.bar.isVisibleTo(stage.view)
        stage.paste(f"{BETTER}\n")
        assert stage.field.message.text == "A line break around it was removed."
        stage.field.eye.click()
        assert BETTER in stage.shown_text()
        await stage.save()
        await stage.until(lambda: stage.field.message.text == "It is stored in the keyring.")
        assert stage.field.line.text() == ""
        stage.field.line.undo()
        assert stage.field.line.text() == ""
        assert stage.field.line.echoMode() == QLineEdit.EchoMode.Password
        assert not stage.view.bar.isVisibleTo(stage.view)
        assert stage.store.demand(TOKEN) == BETTER
        assert stage.chat.asked == [BETTER]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("xoxb-1234567890-abcdefghij", "This looks like a Slack bot token"),
        (f"{GOOD} {GOOD}", "It contains spaces"),
        (f"{GOOD[:20]}\n{GOOD[20:]}", "This has 2 lines"),
        ("y" * 5000, "This has 5,000 characters"),
    ],
)
async def test_what_cannot_be_a_token_is_said_at_the_field_and_changes_nothing(
    stage: PlatformsStage, text: str, words: str
) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        await stage.card()
        stage.paste(text)
        assert words in stage.field.message.text
        assert stage.field.message.level == "error"
        assert stage.part.pending().secrets == {}
        assert stage.part.pending().faulty == 1
        assert stage.view.bar.words.text().endswith("first")
        stage.view.bar.save.click()
        assert stage.store.demand(TOKEN) == GOOD
        stage.press(stage.view.bar.discard)
        assert stage.field.line.text() == ""
        assert stage.field.message.text == ""
        assert len(stage.part.pending()) == 0


async def test_in_the_environment_it_is_read_only_and_named(stage: PlatformsStage) -> None:
    stage.environ = {TOKEN: GOOD}
    async with stage:
        await stage.card()
        assert stage.field.origin.text() == (
            "Set in the environment as TELEGRAM_BOT_TOKEN. It can be changed only there."
        )
        assert not stage.field.line.isEnabled()
        assert stage.offers() == {"end"}


async def test_two_places_that_differ_are_named_with_who_takes_which(stage) -> None:
    stage.kept(**{TOKEN: GOOD})
    stage.env_file(**{TOKEN: BETTER})
    async with stage:
        await stage.card()
        assert stage.field.conflict.text == (
            "Two places hold different values: the keyring, ending in …K-bc and .env, "
            "ending in …K-zz. Hermes Desktop uses the one in the keyring; "
            "“hermes” uses the one in .env."
        )
        assert stage.offers() == {"end", "use_env", "overwrite_env"}
        await stage.offer("use_env")
        assert "the keyring, ending in …K-bc" in await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Stored in .env.")
        assert stage.field.conflict.text == ""
        assert stage.keyring.values == {}
        await stage.undo()
        await stage.until(lambda: stage.field.conflict.text and not stage.busy)
        await stage.offer("overwrite_env")
        assert "is overwritten" in await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Stored in .env.")
        assert f"{TOKEN}={GOOD}" in stage.paths.env_file.read_text()


async def test_moved_to_the_keyring_after_a_preview_and_back(stage: PlatformsStage) -> None:
    stage.env_file(A="1", **{TOKEN: GOOD})
    before = stage.paths.env_file.read_bytes()
    async with stage:
        await stage.card()
        assert stage.offers() == {"end", "move"}
        await stage.offer("move")
        question = await stage.question()
        assert (
            "“hermes” commands, including “hermes gateway run”" in question.accessibleDescription()
        )
        question.reject()
        await stage.until(lambda: not stage.busy)
        assert stage.paths.env_file.read_bytes() == before
        await stage.offer("move")
        await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Stored in the keyring.")
        assert stage.paths.env_file.read_text() == "A=1\n"
        await stage.until(lambda: "from .env to the keyring" in stage.field.message.text)
        await stage.undo()
        await stage.until(lambda: stage.field.origin.text() == "Stored in .env.")
        assert stage.paths.env_file.read_bytes() == before
        assert stage.keyring.values == {}


async def test_one_in_config_yaml_can_be_moved_too(stage: PlatformsStage) -> None:
    stage.more = f"    token: {GOOD}\n"
    async with stage:
        await stage.card()
        assert stage.field.origin.text() == "Stored in config.yaml (platforms.telegram.token)."
        await stage.offer("move")
        assert "previous versions of config.yaml" in await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Stored in the keyring.")
        assert GOOD not in stage.paths.config_yaml.read_text()


async def test_removed_after_a_question_and_brought_back(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        await stage.card()
        await stage.offer("remove")
        assert "Telegram cannot log in without it" in await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Not set.")
        assert stage.keyring.values == {}
        assert stage.telegram.is_on is False
        await stage.undo()
        await stage.until(lambda: stage.field.origin.text() == "Stored in the keyring.")
        assert stage.store.demand(TOKEN) == GOOD


async def test_without_a_keyring_a_plain_file_is_offered_and_never_taken_by_itself(stage) -> None:
    def none() -> None:
        raise NoKeyring

    stage.open_keyring = none
    async with stage:
        stage.part._add("telegram")
        stage.paste(GOOD)
        await stage.save()
        await stage.until(lambda: "This desktop has no keyring" in stage.field.message.text)
        assert not (stage.paths.desktop_dir / "plain-secrets.json").exists()
        assert stage.field.line.text() == GOOD
        assert stage.field.message.button.text() == "Store in a plain file…"
        stage.press(stage.field.message.button)
        assert "not encrypted" in await stage.agree()
        await stage.until(lambda: "plain file" in stage.field.origin.text())
        await stage.until(lambda: stage.field.line.text() == "")
        assert (stage.paths.desktop_dir / "plain-secrets.json").stat().st_mode & 0o777 == 0o600
        assert len(stage.part.pending()) == 0
        stage.keyring, stage.open_keyring = FakeKeyring(), lambda: stage.keyring
        stage.store._open = stage.open_keyring
        await stage.offer("move")
        assert "hermes gateway run" not in await stage.agree()
        await stage.until(lambda: stage.field.origin.text() == "Stored in the keyring.")
        assert not (stage.paths.desktop_dir / "plain-secrets.json").exists()


async def test_a_locked_one_says_so_and_is_unlocked(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    stage.keyring.locked = True
    async with stage:
        await stage.card()
        assert stage.field.origin.text().startswith("The keyring is locked.")
        assert stage.offers() == {"unlock", "remove"}
        await stage.offer("unlock")
        await stage.until(lambda: "The keyring is locked" in stage.field.message.text)
        stage.keyring.locked = False
        await stage.offer("unlock")
        await stage.until(lambda: stage.field.origin.text() == "Stored in the keyring.")
        assert stage.field.message.text == "The keyring works: Fake Keyring."


async def test_waiting_for_the_password_can_be_given_up(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    stage.keyring.locked = True
    async with stage:
        await stage.card()
        stage.keyring.answers.clear()
        await stage.offer("unlock")
        await stage.until(lambda: stage.field.waiting.waiting)
        assert "Waiting for the keyring" in stage.field.waiting.words.text()
        assert not stage.field.line.isEnabled()
        stage.press(stage.field.waiting.cancel)
        await stage.until(lambda: not stage.field.waiting.waiting)
        assert stage.field.message.text == "You stopped waiting for the keyring."
        assert stage.field.line.isEnabled()


async def test_a_keyring_that_hangs_is_told_after_a_while_and_asked_again(stage) -> None:
    stage.kept(**{TOKEN: GOOD})
    stage.keyring.answers.clear()
    async with stage:
        await stage.card()
        assert "does not answer" in stage.field.origin.text()
        assert stage.offers() == {"retry", "remove"}
        stage.keyring.answers.set()
        await stage.offer("retry")
        await stage.until(lambda: stage.field.origin.text() == "Stored in the keyring.")
