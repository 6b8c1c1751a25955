"""The program's own settings count at once: colours, closing, what the desktop is told."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import (
    GatewayStatusChanged,
    PlatformHealth,
    SettingChanged,
    SettingsChanged,
    TurnFinished,
)
from hermes_desktop.services.settings.desktop_config import DesktopConfig
from hermes_desktop.ui.shell.desktop_news import NotificationController
from hermes_desktop.ui.shell.preferences import Preferences
from hermes_desktop.ui.widgets.event_bridge import EventBridge


class Settings:
    def __init__(self) -> None:
        self.config = DesktopConfig()

    async def desktop(self) -> DesktopConfig:
        return self.config


class Slots:
    """Runs what is started, at once."""

    def start(self, coroutine: Any, *, doing: str) -> None:
        assert doing
        asyncio.run(coroutine)


class Stage:
    def __init__(self, window: QWidget) -> None:
        self.bus = EventBus()
        self.bridge = EventBridge(self.bus)
        self.settings, self.window = Settings(), window
        slots: Any = Slots()
        settings: Any = self.settings
        self.preferences = Preferences(settings, slots, self.bridge, DesktopConfig(), window)
        self.news = NotificationController(window, self.bridge, self.preferences, patience_ms=30)
        self.told: list[tuple[str, str]] = []
        self.chats: list[tuple[str, str]] = []
        self.news.told.connect(lambda *words: self.told.append(words))
        self.news.told_of_chat.connect(lambda *words: self.chats.append(words))

    def change(self, **values: Any) -> None:
        self.settings.config = DesktopConfig(**values)
        change = SettingChanged(f"desktop.{next(iter(values))}", "live")
        self.bus.publish(SettingsChanged((change,)))

    def finish(self, key: str = "agent:main:desktop:dm:1", **more: Any) -> None:
        fields = {"outcome": "done", "reply": "It is\ndone.", **more}
        self.bus.publish(TurnFinished("t", key, "s", 1, **fields))

    def platforms(self, *states: tuple[str, Any]) -> None:
        found = tuple(PlatformHealth(name, state, detail="It said no.") for name, state in states)
        self.bus.publish(GatewayStatusChanged("degraded", platforms=found))


@pytest.fixture
def stage(qtbot: QtBot) -> Iterator[Stage]:
    window = QWidget()
    qtbot.addWidget(window)
    stage = Stage(window)
    yield stage
    stage.bridge.close()


def test_what_changed_is_read_and_said_once(stage: Stage) -> None:
    found: list[DesktopConfig] = []
    stage.preferences.changed.connect(found.append)
    stage.change(colour_scheme="dark")
    stage.change(colour_scheme="dark")
    stage.bus.publish(SettingsChanged((SettingChanged("model.default", "live"),)))
    assert found == [DesktopConfig(colour_scheme="dark")]
    assert stage.preferences.current.colour_scheme == "dark"


def test_a_reply_is_told_while_nobody_sees_it(stage: Stage) -> None:
    stage.finish()
    stage.finish("agent:main:telegram:dm:5")
    stage.finish(outcome="stopped")
    stage.finish(reply=" ")
    stage.finish(outcome="failed", error_title="Nobody answers.")
    assert stage.chats == [
        ("Reply finished", "It is done."),
        ("No reply", "Nobody answers."),
    ]
    stage.window.show()
    stage.finish()
    assert len(stage.chats) == 2
    stage.window.hide()
    stage.change(notify_finished=False)
    stage.finish()
    assert len(stage.chats) == 2


def test_a_platform_is_told_of_once_and_after_a_while(stage: Stage, qtbot: QtBot) -> None:
    stage.platforms(("telegram", "fatal"))
    stage.platforms(("telegram", "fatal"))
    assert stage.told == [("Telegram is not reachable", "It said no.")]
    stage.platforms(("discord", "retrying"))
    assert len(stage.told) == 1
    qtbot.waitUntil(lambda: len(stage.told) == 2, timeout=60_000)
    stage.platforms(("discord", "retrying"))
    stage.platforms(("discord", "connected"))
    stage.platforms(("discord", "silent"))
    stage.platforms(("discord", "connected"))
    qtbot.wait(60)
    assert len(stage.told) == 2


def test_what_is_not_wanted_is_not_told(stage: Stage) -> None:
    stage.news.asked("May it?", "rm")
    stage.news.requested("Ann asks", "requests access")
    assert (stage.chats, stage.told) == (
        [("May it?", "rm")],
        [("Ann asks", "requests access")],
    )
    stage.change(notify_approvals=False, notify_requests=False, notify_platforms=False)
    stage.news.asked("May it?", "rm")
    stage.news.requested("Ann asks", "requests access")
    stage.platforms(("telegram", "fatal"))
    assert (len(stage.chats), len(stage.told)) == (1, 1)
