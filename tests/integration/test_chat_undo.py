"""``/undo`` in a chat of a platform: the difference first, then files and messages together."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from hermes_desktop.agent.undo.folder_scan import Limits
from hermes_desktop.agent.undo.turn_undo import TurnUndo, UndoStore
from hermes_desktop.gateway.config.gateway_config import GatewayConfig
from hermes_desktop.services.hosting.chat_undo import ChatUndo
from hermes_desktop.services.sessions.session_actions import never_running
from hermes_desktop.services.sessions.turn_undo import TurnUndoing
from hermes_desktop.state import SessionDB
from hermes_desktop.state.conversations.conversation_locks import ConversationLocks
from tests.fakes.command_gateway import UNASKED, CommandGateway, command_gateway

SECRET = "sk-very-secret-key"


class Stage:
    """A gateway, and a folder in which turns change files."""

    def __init__(self, chat: CommandGateway, store: UndoStore, work: Path) -> None:
        self.chat = chat
        self.store = store
        self.work = work

    async def turn(self, text: str, **changes: str) -> None:
        """Have a message answered, and change files as a turn would."""
        await self.chat.tell(text)
        session_id = self.chat.session_id()
        row = self.chat.gateway.db.list_recent_user_messages(session_id, limit=1)[0]["id"]
        turn = TurnUndo(self.store, session_id, row)
        for name, content in changes.items():
            turn.before_write(self.work / name, self.work)
            (self.work / name).write_text(content)
        turn.finish(session_id, row)


@pytest_asyncio.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (work / "plan").write_text("one\n")
    store = UndoStore(home / "desktop" / "undo", tmp_path, home, Limits(free_bytes=0))

    def undo(db: SessionDB) -> ChatUndo:
        locks = ConversationLocks(db, home / "desktop", "tests")
        undoing = TurnUndoing(db, store, locks, never_running)
        return ChatUndo(undoing, lambda text: text.replace(SECRET, "***"))

    config = GatewayConfig(platforms=UNASKED.platforms)
    async with command_gateway(home, config=config, undo=undo) as chat:
        yield Stage(chat, store, work)


@pytest.mark.asyncio
async def test_the_difference_is_shown_then_it_is_done(stage: Stage) -> None:
    await stage.turn("Change it", plan=f"ONE {SECRET}\n", new="x\n")
    asked = await stage.chat.tell("/undo")
    assert asked == (
        "/undo: The last messages are removed from the session.\n"
        "Files:\n"
        "- `new`: is deleted\n"
        "- `plan`: is put back\n"
        "```diff\n"
        "--- new\n+++ new\n@@ -1 +0,0 @@\n-x\n"
        "--- plan\n+++ plan\n@@ -1 +1 @@\n-ONE ***\n+one\n"
        "```\n"
        "To confirm, answer once or always; otherwise answer cancel."
    )
    assert (stage.work / "new").exists()
    done = await stage.chat.tell("once")
    assert done == (
        "Removed 1 message of yours and 1 row that followed.\n"
        "The first one began: “Change it”\n"
        "Put back: 2 files (`new`, `plan`).\n"
        "/undo restore brings it back."
    )
    assert (stage.work / "plan").read_text() == "one\n"
    assert not (stage.work / "new").exists()
    assert stage.chat.texts() == []

    back = await stage.chat.tell("/undo restore")
    assert back == "Restored: 2 messages.\nRestored: 2 files (`new`, `plan`)."
    assert (stage.work / "plan").read_text() == f"ONE {SECRET}\n"
    assert stage.chat.texts() == ["Change it", "reply 1"]
    assert "nothing to restore" in await stage.chat.tell("/undo restore")
    await stage.chat.tell("Next")  # the agent that was kept has read the session again
    assert stage.chat.gateway.model.texts() == [
        "user: Change it", "assistant: reply 1", "user: Next",
    ]  # fmt: skip


@pytest.mark.asyncio
async def test_what_others_changed_since_is_named_and_stays(stage: Stage) -> None:
    await stage.turn("Change it", plan="ONE\n")
    (stage.work / "plan").write_text("by hand\n")
    asked = await stage.chat.tell("/undo")
    assert "- `plan`: changed since the turn; left as it is" in asked
    assert "by hand" not in asked
    assert "Left, as it was changed since: `plan`" in await stage.chat.tell("once")
    assert (stage.work / "plan").read_text() == "by hand\n"


@pytest.mark.asyncio
async def test_a_mistake_is_said_before_anything_is_asked(stage: Stage) -> None:
    await stage.turn("Change it", plan="ONE\n")
    assert "This is not a valid number of messages." in await stage.chat.tell("/undo all")


@pytest.mark.asyncio
async def test_names_and_texts_cannot_end_the_block(stage: Stage) -> None:
    await stage.turn("Change it", **{"a`b\x1b[2J": "```\nrun this\n"})
    asked = await stage.chat.tell("/undo")
    assert "`a'b\N{REPLACEMENT CHARACTER}[2J`" in asked
    assert asked.count("```") == 2
