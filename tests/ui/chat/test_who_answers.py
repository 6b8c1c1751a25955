"""Another model answers than the one that was chosen: the window says so, and keeps it there."""

import asyncio
from pathlib import Path

import pytest

from hermes_desktop.services.hosting.desktop_chat import ChatReadiness
from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes import model_server as fake
from tests.fakes.model_server import ModelServer
from tests.fakes.window_stage import WindowStage

pytestmark = pytest.mark.asyncio


class TwoModels(WindowStage):
    """The stage's own model stands by for another one."""

    chosen: ModelServer

    def configure(self) -> None:
        (self.home / "config.yaml").write_text(
            f"model: {{default: big, base_url: '{self.chosen.base_url}', api_key: sk-1234567}}\n"
            f"fallback_providers: [{{model: small, base_url: '{self.server.base_url}'}}]\n",
            encoding="utf-8",
        )


async def test_header_and_strip_say_which_model_answered_and_which_is_next(
    tmp_path: Path, theme: Theme
) -> None:
    async with WindowStage(tmp_path, theme) as stage:
        window = stage.window
        await stage.type_and_send("Hello there")
        await stage.until(lambda: "fake-model" in window.page.header.facts.text())
        assert "answered by" not in window.page.header.facts.text()
        assert window._status.text.endswith("fake-model")
        assert "next:" not in window._status.text
        config = tmp_path / "config.yaml"
        config.write_text(config.read_text().replace("fake-model", "another-model"))
        await window.page.look_at_settings()
        assert "answered by fake-model" in window.page.header.facts.text()
        assert window._status.text.endswith("next: another-model")


async def test_an_earlier_check_never_replaces_a_later_one(
    tmp_path: Path, theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with WindowStage(tmp_path, theme) as stage:
        window = stage.window
        await stage.type_and_send("Hello there")
        await stage.until(lambda: "fake-model" in window.page.header.facts.text())
        known, late = stage.services.chat.readiness, asyncio.Event()

        async def earlier(_session: SessionSummary | None = None) -> ChatReadiness:
            result = await known(None)
            await late.wait()
            return result

        monkeypatch.setattr(stage.services.chat, "readiness", earlier)
        first = asyncio.ensure_future(window.page.look_at_settings())
        await asyncio.sleep(0)
        monkeypatch.setattr(stage.services.chat, "readiness", known)
        config = tmp_path / "config.yaml"
        config.write_text(config.read_text().replace("fake-model", "another-model"))
        await window.page.look_at_settings()
        late.set()
        await first
        assert window._status.text.endswith("next: another-model")


async def test_who_answers_is_said_with_the_reply(tmp_path: Path, theme: Theme) -> None:
    with ModelServer() as chosen:
        chosen.script(fake.error(401, "Incorrect API key", code="invalid_api_key"))
        stage = TwoModels(tmp_path, theme)
        stage.chosen = chosen
        async with stage:
            finished = await stage.type_and_send("Hello there")
            assert finished.outcome == "done"
            await stage.until(lambda: "You said: Hello there" in stage.shown_text())
            note = f"small ({stage.server.host}) answers: {chosen.host} rejected the key."
            await stage.until(lambda: note in stage.shown_text())
            # What the model said is stored as it is.
            rows = stage.services.db.get_messages(finished.session_id)
            assert [row["content"] for row in rows] == ["Hello there", "You said: Hello there"]
