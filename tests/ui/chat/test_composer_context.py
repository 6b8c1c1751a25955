"""Around the message field: chats of another gateway are only read, resets are told."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from hermes_desktop.core.errors import BusyError, RefusedError
from hermes_desktop.core.events import GatewayStatusChanged, OtherGateway, SessionReset
from hermes_desktop.ui.chat.composer import Composer
from hermes_desktop.ui.chat.composer_context import ComposerContext
from hermes_desktop.ui.chat.shown_session import ShownSession

pytestmark = pytest.mark.asyncio
OTHER = OtherGateway("hermes gateway", 4711)


def attach(stage) -> None:
    stage.bus.publish(GatewayStatusChanged("attached", other=OTHER))


def detach(stage) -> None:
    stage.bus.publish(GatewayStatusChanged("stopped"))


def reset(old: str, new: str) -> SessionReset:
    words = "This chat was idle for a day, so a new session began."
    return SessionReset("agent:main:telegram:dm:7", "telegram", "Anna", old, new, "idle", words)


async def test_a_platforms_chat_is_read_only_while_another_gateway_answers_it(stage) -> None:
    async with stage:
        stage.make_session("t", "Hello", "Hi", source="telegram")
        stage.make_session("c", "Hello", "Hi", source="cli")
        composer = stage.page.composer
        await stage.show("t")
        composer.set_text("half a thought")
        attach(stage)
        assert composer.read_only.isVisible()
        assert not composer.field.isVisible()
        assert not composer.note.isVisible()
        assert "another gateway" in composer.read_only.words.text().lower()
        await stage.show("c")
        assert composer.field.isVisible()
        assert not composer.read_only.isVisible()
        await stage.show("t")
        assert composer.read_only.isVisible()
        detach(stage)
        assert composer.field.isVisible()
        assert composer.text == "half a thought"


async def test_nothing_is_sent_there_by_any_other_way(stage) -> None:
    async with stage:
        stage.make_session("t", "Hello", "Hi", source="telegram")
        attach(stage)
        with pytest.raises(RefusedError, match="another gateway"):
            await stage.services.chat.send("Hello again", session_id="t")
        with stage.another_program() as db:
            assert len(db.read_messages("t")) == 2


async def test_continue_in_a_copy_leaves_the_chat_alone(qtbot, stage) -> None:
    async with stage:
        stage.make_session("t", "Hello", "Hi", source="telegram", title="Trip")
        await stage.show("t")
        attach(stage)
        button = stage.page.composer.read_only.copy
        button.setFocus()
        with qtbot.waitSignal(stage.page.session_wanted, timeout=60_000) as wanted:
            QTest.keyClick(button, Qt.Key.Key_Space)
            await stage.until(lambda: wanted.signal_triggered)
        copy_id = wanted.args[0]
        copy = await stage.services.catalog.summary(copy_id)
        assert (copy.source, copy.message_count) == ("desktop", 2)
        await stage.show(copy_id)
        assert stage.page.composer.field.isVisible()
        with stage.another_program() as db:
            assert len(db.read_messages("t")) == 2


async def test_a_reset_is_told_in_the_chat_it_ended(qtbot, stage) -> None:
    async with stage:
        stage.make_session("old", "Hello", "Hi", source="telegram")
        stage.make_session("other", "Hello", "Hi", source="telegram")
        await stage.show("old")
        strip = stage.page.place.strip
        stage.bus.publish(reset("something", "else"))
        assert not strip.isVisible()
        stage.bus.publish(reset("old", "new"))
        assert strip.isVisible()
        assert strip.words.text() == "This chat was idle for a day, so a new session began."
        await stage.show("other")
        assert not strip.isVisible()
        await stage.show("old")
        assert strip.isVisible()
        with qtbot.waitSignal(stage.page.session_wanted, timeout=60_000) as wanted:
            strip.new.click()
        assert wanted.args == ["new"]


class Hosting:
    """A gateway that lets chats go on elsewhere, as soon as it is free."""

    def __init__(self) -> None:
        self.busy = True
        self.moved: list[tuple[str, str]] = []

    async def continue_in(self, session_key: str, session_id: str) -> None:
        if self.busy:
            raise BusyError("A reply is being written.")
        self.moved.append((session_key, session_id))


async def test_the_chat_itself_goes_on_in_the_session_before(qtbot, stage) -> None:
    async with stage:
        stage.make_session("old", "Hello", "Hi", source="telegram")
        hosting, composer = Hosting(), Composer(stage.theme)
        qtbot.addWidget(composer)
        place = ComposerContext(
            stage.services.chat,
            hosting,
            composer,
            stage.theme,
            slots=stage.slots,
            bridge=stage.bridge,
        )
        qtbot.addWidget(place.strip)
        stage.make_session("new", "Hello again", "Hi", source="telegram")
        place.show(ShownSession.of(await stage.services.catalog.summary("new")))
        stage.bus.publish(reset("old", "new"))
        with qtbot.waitSignal(place.session_wanted, timeout=60_000) as wanted:
            place.strip.previous.click()
            await stage.until(lambda: wanted.signal_triggered)
        assert wanted.args == ["old"]
        assert stage.notices[-1].title == "A reply is being written."
        assert place.strip.isVisible()

        hosting.busy = False
        place.strip.previous.click()
        await stage.until(lambda: not place.strip.isVisible())

        assert hosting.moved == [("agent:main:telegram:dm:7", "old")]


async def test_the_new_session_leads_back_to_the_one_before(qtbot, stage) -> None:
    async with stage:
        stage.make_session("new", "Hello", "Hi", source="telegram")
        stage.bus.publish(reset("old", "new"))
        await stage.show("new")
        strip = stage.page.place.strip
        assert strip.previous.isVisible()
        assert not strip.new.isVisible()
        with qtbot.waitSignal(stage.page.session_wanted, timeout=60_000) as wanted:
            strip.previous.click()
            await stage.until(lambda: wanted.signal_triggered)
        assert wanted.args == ["old"]
        assert "not served here" in stage.notices[-1].title


async def test_a_reset_that_was_read_can_be_closed(stage) -> None:
    async with stage:
        stage.make_session("old", "Hello", "Hi", source="telegram")
        await stage.show("old")
        stage.bus.publish(reset("old", "new"))
        stage.page.place.strip.close_button.click()
        await stage.show("old")
        assert not stage.page.place.strip.isVisible()
