"""The page of platforms: what is listed, tested, switched, saved, refused; who may write."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest

from hermes_desktop.core.events import GatewayStatusChanged, PairingChanged, PlatformHealth
from hermes_desktop.gateway.access.pairing import PairingStore
from hermes_desktop.ui.settings.fields.options_part import OptionsPart
from tests.ui.settings_platforms.conftest import BETTER, GOOD, TOKEN, PlatformsStage

pytestmark = pytest.mark.asyncio


async def test_an_empty_home_says_what_it_is_for_and_adds_what_can_be_served(stage) -> None:
    stage.more = None
    async with stage:
        await stage.until(lambda: stage.part.none.isVisibleTo(stage.view))
        assert stage.part.cards == {}
        assert [each.text() for each in stage.part.add_menu.actions()] == ["Telegram"]
        words = stage.part.others.text()
        assert words.startswith(
            "Supported by “hermes” only, not by this version of Hermes Desktop: D"
        )
        assert "“hermes gateway setup”" in words


async def test_added_it_opens_with_the_focus_where_one_pastes(stage: PlatformsStage) -> None:
    stage.more = None
    async with stage:
        await stage.until(lambda: stage.part.none.isVisibleTo(stage.view))
        stage.part.add_menu.actions()[0].trigger()
        assert stage.telegram.is_open
        assert stage.view.window().focusWidget() is stage.field.line
        assert "BotFather" in stage.field.help.text()
        assert not stage.telegram.body.check.button.isEnabled()
        assert stage.telegram.body.check.hint.text() == "There is no token to test yet."
        assert stage.telegram.head.state.text() == "No token yet"


async def test_one_that_only_hermes_serves_is_listed_without_a_test(stage) -> None:
    stage.env_file(DISCORD_BOT_TOKEN="a-discord-token-of-some-length")
    async with stage:
        await stage.shown_cards("discord")
        card = stage.part.cards["discord"]
        card.show_open(opened=True)
        assert not card.body.check.isVisibleTo(stage.view)
        assert "does not support it" in card.body.why.text()
        assert card.fields["DISCORD_BOT_TOKEN"].origin.text() == "Stored in .env."


async def test_the_connection_is_tested_for_real_and_nothing_is_stored(stage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        card = await stage.card()
        stage.press(card.body.check.button)
        await stage.until(lambda: card.body.check.answer.text)
        assert card.body.check.answer.text == (
            f"Telegram accepts the token. The bot is @bot-{GOOD[-4:]}."
        )
        stage.paste(BETTER)
        assert card.body.check.answer.text == ""
        assert card.body.check.hint.text() == "Tests the pasted value without storing it."
        stage.chat.set(bad_token=BETTER)
        stage.press(card.body.check.button)
        await stage.until(lambda: card.body.check.answer.text)
        assert card.body.check.answer.text.startswith("Telegram rejected the token. It answered: ")
        assert stage.chat.asked == [GOOD, BETTER]
        assert stage.store.demand(TOKEN) == GOOD
        await stage.chat.stop()
        stage.press(card.body.check.button)
        await stage.until(lambda: "could not be reached" in card.body.check.answer.text)
        assert card.body.check.answer.level == "warning"


async def test_a_test_shows_that_it_runs_and_can_be_stopped(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        card = await stage.card()
        stage.chat.set(silent=True)
        stage.press(card.body.check.button)
        await stage.until(lambda: card.body.check.waiting.isVisibleTo(stage.view))
        assert card.body.check.waiting.words.text().startswith("Contacting Telegram")
        assert not card.body.check.button.isEnabled()
        stage.press(card.body.check.waiting.cancel)
        assert card.body.check.answer.text == "The test was canceled."
        assert card.body.check.button.isEnabled()
        stage.chat.set()
        stage.press(card.body.check.button)
        await stage.until(lambda: "accepts the token" in card.body.check.answer.text)


async def test_a_refused_token_is_said_at_the_field_and_the_old_one_stays(stage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        await stage.card()
        stage.chat.set(bad_token=BETTER)
        stage.paste(BETTER)
        await stage.save()
        await stage.until(lambda: "bad_token" in stage.field.message.text)
        assert "The previous one is kept and still works." in stage.field.message.text
        assert stage.field.line.text() == BETTER
        assert stage.store.demand(TOKEN) == GOOD
        assert BETTER not in stage.shown_text()


async def test_one_that_cannot_be_checked_is_saved_and_that_is_said(stage) -> None:
    async with stage:
        stage.part._add("telegram")
        await stage.chat.stop()
        stage.paste(GOOD)
        assert stage.view.bar.words.text() == "1 token"
        await stage.save()
        await stage.until(lambda: stage.field.message.text == "It is stored in the keyring.")
        await stage.until(lambda: "Telegram could not be reached to check" in stage.shown_text())
        assert stage.store.demand(TOKEN) == GOOD


async def test_saving_can_be_given_up_while_the_platform_is_asked(stage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        await stage.card()
        stage.chat.set(silent=True)
        stage.paste(BETTER)
        stage.press(stage.view.bar.save)
        await stage.until(lambda: stage.field.waiting.isVisibleTo(stage.view))
        stage.press(stage.field.waiting.cancel)
        await stage.until(lambda: not stage.view.controller.busy)
        assert not stage.field.waiting.waiting
        assert stage.field.line.text() == BETTER
        assert stage.store.demand(TOKEN) == GOOD


async def test_it_is_switched_off_and_on_with_a_token_there(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        card = await stage.card()
        assert card.head.switch.isChecked()
        QTest.keyClick(card.head.switch, Qt.Key.Key_Space)
        assert card.head.switch.text() == "Off, not saved yet"
        assert stage.view.bar.words.text() == "1 change"
        QTest.keyClick(card.head.switch, Qt.Key.Key_Space)
        assert card.head.switch.text() == "On"
        assert len(stage.part.pending()) == 0
        QTest.keyClick(card.head.switch, Qt.Key.Key_Space)
        await stage.save()
        await stage.until(lambda: card.head.switch.text() == "On")
        await stage.until(lambda: not card.head.switch.isChecked())
        assert "enabled: false" in stage.paths.config_yaml.read_text()
        assert card.head.state.text() == "Turned off"


async def test_health_is_told_in_the_words_of_the_gateway(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        card = await stage.card()
        assert card.head.state.text() == "Gateway stopped"
        heard = stage.clock.time() - 12
        health = PlatformHealth("telegram", "connected", heard)
        card.show_status(GatewayStatusChanged("running", platforms=(health,)), heard + 12)
        assert card.head.state.text() == "Connected · 12 s ago"
        assert card.accessibleName() == "Telegram, Connected · 12 s ago"
        fatal = PlatformHealth("telegram", "fatal", None, "Telegram rejected the token.")
        card.show_status(GatewayStatusChanged("degraded", platforms=(fatal,)), heard)
        assert (card.head.state.text(), card.head.shape.shape) == ("Needs attention", "attention")
        assert card.trouble.text == "Telegram rejected the token."
        silent = PlatformHealth("telegram", "disabled", None, "The keyring is not answering.")
        card.show_status(GatewayStatusChanged("running", platforms=(silent,)), heard)
        assert card.head.state.text() == "Not connected"
        assert card.trouble.text == "The keyring is not answering."


async def test_people_are_listed_and_everybody_is_warned_of(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    stage.env_file(TELEGRAM_ALLOWED_USERS="11,12")
    async with stage:
        card = await stage.card()
        people = card.people
        assert people.about.text().startswith("Only people listed here by")
        assert people.listed.text() == "TELEGRAM_ALLOWED_USERS in .env also allows 11 and 12."
        box = people.row("telegram.allow_from").editor.widget
        box.setPlainText("123\n*")
        assert people.warning.text.startswith("“*” lets anyone write")
        box.setPlainText("123\n456")
        assert people.warning.text == ""
        await stage.save()
        await stage.until(lambda: "456" in stage.paths.config_yaml.read_text())
        stage.env_file(TELEGRAM_ALLOW_ALL_USERS="true")
        stage.part.refresh()
        await stage.until(lambda: "TELEGRAM_ALLOW_ALL_USERS is set in .env" in people.warning.text)


async def test_which_groups_are_answered_is_set_in_the_card(stage: PlatformsStage) -> None:
    stage.more = "telegram:\n  allowed_chats: [-100]\n"
    async with stage:
        card = await stage.card()
        assert card.body is not None
        row = card.body.row("telegram.allowed_chats")
        assert row is not None
        assert row.isVisibleTo(stage.view)
        draft = stage.view.draft
        assert draft.views["telegram.allowed_chats"].value == ["-100"]
        draft.give("telegram.require_mention", given=True)
        await stage.until(stage.view.bar.isVisible)
        stage.press(stage.view.bar.save)
        file = stage.paths.config_yaml
        await stage.until(lambda: "require_mention: true" in file.read_text(encoding="utf-8"))
        titles = [part.title for part in stage.view.findChildren(OptionsPart)]
        assert "Groups and threads" not in titles


async def test_requests_are_answered_where_the_platform_is_set_up(stage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        card = await stage.card()
        store = PairingStore(stage.home, stage.clock)
        assert store.request("telegram", "77", "Anna").code
        assert store.request("discord", "88", "Bob").code
        stage.bus.publish(PairingChanged())
        await stage.until(lambda: card.people.requests.lines)
        (line,) = card.people.requests.lines
        assert line.accessibleName() == "Anna, asked just now"
        stage.press(line.buttons[0])
        await stage.until(lambda: card.people.people.lines)
        assert store.is_approved("telegram", "77")
        assert card.people.said.text == "Anna can now write on Telegram."
        stage.press(card.people.said.button)
        await stage.until(lambda: not card.people.people.lines)
        assert not store.is_approved("telegram", "77")


async def test_the_home_channel_is_set_and_taken_back(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    stage.env_file(TELEGRAM_HOME_CHANNEL="5")
    async with stage:
        card = await stage.card()
        home = card.body.home
        await stage.until(lambda: home.line.text() == "5")
        home.line.setFocus()
        home.line.selectAll()
        QTest.keyClicks(home.line, "two words")
        QTest.keyClick(home.line, Qt.Key.Key_Return)
        await stage.until(lambda: "cannot be a chat ID" in home.said.text)
        home.line.selectAll()
        QTest.keyClicks(home.line, "-1009")
        QTest.keyClick(home.line, Qt.Key.Key_Return)
        await stage.until(
            lambda: home.said.text == "Telegram messages that are not replies now go to that chat."
        )
        assert "TELEGRAM_HOME_CHANNEL=-1009\n" in stage.paths.env_file.read_text()
        stage.press(home.said.button)
        await stage.until(lambda: home.line.text() == "5")


async def test_in_a_managed_home_the_keyring_can_be_used_all_the_same(stage) -> None:
    stage.environ = {"HERMES_MANAGED": "nixos"}
    stage.env_file(**{TOKEN: GOOD})
    async with stage:
        card = await stage.card()
        assert stage.offers() == {"end"}
        await stage.until(lambda: not card.head.switch.isEnabled())
        assert not card.body.home.line.isEnabled()
        assert stage.field.line.isEnabled()
        stage.paste(BETTER)
        await stage.save()
        await stage.until(lambda: stage.field.conflict.text)
        assert stage.store.demand(TOKEN) == BETTER
        assert GOOD in stage.paths.env_file.read_text()


async def test_search_and_keys_lead_to_the_token(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        card = await stage.card()
        assert [hit.key for hit in stage.part.search(["telegram", "token"])] == [TOKEN]
        card.show_open(opened=False)
        stage.view.show_setting(TOKEN)
        assert card.is_open
        assert stage.view.window().focusWidget() is stage.field.line
        await asyncio.sleep(0)


async def test_tab_goes_through_a_card_as_it_is_read(stage: PlatformsStage) -> None:
    stage.kept(**{TOKEN: GOOD})
    async with stage:
        card = await stage.card()
        field = stage.field
        wanted = [
            card.head.switch,
            card.head.fold,
            field.offers["end"],
            field.offers["move_back"],
            field.offers["remove"],
            field.line,
            card.body.check.button,
            card.people.row("telegram.allow_from").editor.widget,
        ]
        stage.view.activateWindow()
        wanted[0].setFocus()
        reached = []
        for _ in wanted:
            reached.append(stage.view.window().focusWidget())
            QTest.keyClick(reached[-1], Qt.Key.Key_Tab)
        assert reached == wanted


async def test_a_refusal_is_an_error_and_is_readable_in_the_folded_card(stage) -> None:
    stage.more = "  discord:\n    enabled: true\n"
    stage.env_file(DISCORD_BOT_TOKEN="a-discord-token-of-some-length")
    stage.kept(**{TOKEN: GOOD})
    why = "Telegram rejected the token. It answered: Unauthorized. Paste a new token."
    async with stage:
        await stage.shown_cards("discord", "telegram")
        card = stage.telegram
        assert not card.is_open
        card.show_status(degraded("fatal", why), 1000.0)
        assert card.trouble.isVisibleTo(stage.view)
        assert (card.trouble.text, card.trouble.level) == (why, "error")
        assert card.accessibleDescription() == why
        colour = card.trouble.words.palette().color(card.trouble.words.foregroundRole())
        assert colour == QColor(stage.theme.palette.error)
        card.show_open(opened=True)
        assert not card.body.why.isVisibleTo(stage.view), "it is not said twice"
        card.show_status(degraded("retrying", "The connection was reset."), 1000.0)
        assert (card.trouble.text, card.trouble.level) == ("The connection was reset.", "warning")
        card.show_status(degraded("connected", ""), 1000.0)
        assert not card.trouble.isVisibleTo(stage.view)


def degraded(state: str, detail: str) -> GatewayStatusChanged:
    platforms = (PlatformHealth("telegram", state, detail=detail),)
    return GatewayStatusChanged("degraded", platforms=platforms)
