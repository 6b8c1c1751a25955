"""The settings window on real services; the chat service and the keyring are handed in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)

from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.services.assembly.assembly import build_services
from hermes_desktop.settings.environment_with_secrets import EnvironmentWithSecrets
from hermes_desktop.settings.secret_index import PlainTextSecretStore, SecretIndex
from hermes_desktop.settings.secrets import KeyringSecretStore
from hermes_desktop.ui.gateway.gateway_questions import ConfirmationDialog
from hermes_desktop.ui.settings.platforms.platform_card import PlatformCard
from hermes_desktop.ui.settings.platforms.platforms_part import PlatformsPart
from hermes_desktop.ui.settings.secrets.secret_field import SecretField
from hermes_desktop.ui.settings.secrets.secrets_group import SecretsPart
from hermes_desktop.ui.settings.settings_view import SettingsView
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.event_bridge import EventBridge
from hermes_desktop.ui.widgets.theme import Theme
from tests.fakes.keyring import FakeKeyring
from tests.fakes.socket_platform import chat_server, socket_registry
from tests.support.waiting import until

TOKEN = "TELEGRAM_BOT_TOKEN"
GOOD = "123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"
BETTER = "987654321:BBEhBOweik6ad9r_QXMENQjcrGbqCr4K-zz"


class PlatformsStage:
    """A shown window of settings; use as ``async with``.

    Attributes:
        keyring: Behind the services, unless another one is handed in.
        environ: The process environment.
        hosts: Whether the gateway may run here.
        registry: What can be served; Telegram is the chat service unless another is handed in.
        more: Lines of config.yaml, in the block of Telegram and after it; None: there is none.
        chat: What Telegram is here.
    """

    def __init__(self, home: Path, theme: Theme) -> None:
        self.home, self.theme = home, theme
        self.more: str | None = ""
        self.paths = HermesPaths(home, home)
        self.keyring = FakeKeyring()
        self.open_keyring: Callable[[], Any] = lambda: self.keyring
        self.environ: dict[str, str] = {}
        self.hosts = False
        self.registry = socket_registry()
        self.first_page = "platforms"
        self.clock = SystemClock()
        self.index = SecretIndex(self.paths.desktop_dir)
        self.redactor = SecretRedactor()

    def _write_config(self) -> None:
        text = f"platforms:\n  telegram:\n    extra:\n      port: {self.chat.port}\n{self.more}"
        self.paths.config_yaml.write_text(text, encoding="utf-8")

    def env_file(self, **values: str) -> None:
        """Write ``.env``."""
        text = "".join(f"{name}={value}\n" for name, value in values.items())
        self.paths.env_file.write_text(text, encoding="utf-8")

    def kept(self, **values: str) -> None:
        """Put secrets into the keyring, as another process of ours does."""
        store = self._store()
        for name, value in values.items():
            store.store(name, value)
        store.close()

    def _store(self) -> KeyringSecretStore:
        service = f"hermes-desktop:{self.home}"
        return KeyringSecretStore(self.index, service, self.clock, open_keyring=self.open_keyring)

    async def __aenter__(self) -> Self:
        # Here, not in a fixture: its tasks must not outlive the loop of the test.
        self.serving = chat_server()
        self.chat = await self.serving.__aenter__()
        if self.more is not None:
            self._write_config()
        self.store = self._store()
        environ = EnvironmentWithSecrets(self.environ, self.store, PlainTextSecretStore(self.index))
        self.services = build_services(
            self.paths, redactor=self.redactor, environ=environ, hosts=self.hosts,
            autostart=False, registry=self.registry, clock=self.clock,
        )  # fmt: skip
        self.bus = self.services.bus
        self.bridge = EventBridge(self.bus)
        await self.services.start()
        self.view = SettingsView(
            services=self.services,
            slots=AsyncSlots(self.services.tasks, self.bus),
            bridge=self.bridge, theme=self.theme, clock=self.clock,
            restart_gateway=lambda: None, first_page=self.first_page,
        )  # fmt: skip
        self.view.resize(1070, 660)
        self.view.show()
        self.view.come_forward()
        kind = PlatformsPart if self.first_page == "platforms" else SecretsPart
        await self.until(lambda: self.view.findChildren(kind))
        await self.until(lambda: self.view.findChildren(kind)[0].feed.known)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.keyring.answers.set()
        self.store.give_up()
        self.view.close()
        await self.services.close(drain_s=0.0)
        self.view.deleteLater()
        self.bridge.close()
        self.store.close()
        await self.serving.__aexit__(None, None, None)

    # ------------------------------------------------------------------------------- looking

    @property
    def part(self) -> PlatformsPart:
        return self.view.findChildren(PlatformsPart)[0]

    @property
    def group(self) -> SecretsPart:
        return self.view.findChildren(SecretsPart)[0]

    @property
    def telegram(self) -> PlatformCard:
        return self.part.cards["telegram"]

    @property
    def field(self) -> SecretField:
        """The field of Telegram's token."""
        return self.telegram.fields[TOKEN]

    @property
    def busy(self) -> bool:
        """Whether a question stands, or something is done to a secret."""
        parts = (*self.view.findChildren(PlatformsPart), *self.view.findChildren(SecretsPart))
        return any(part.commands.busy for part in parts)

    def offers(self, field: SecretField | None = None) -> set[str]:
        """What the buttons of a field offer."""
        field = field or self.field
        return {name for name, button in field.offers.items() if not button.isHidden()}

    async def until(self, check: Callable[[], object]) -> None:
        await until(check)

    async def shown_cards(self, *names: str) -> None:
        """Wait until the cards of some platforms are visible.

        Qt shows a widget that joins a visible layout in a later event, not at once.
        """
        for name in names:
            await self.until(
                lambda name=name: (
                    name in self.part.cards and self.part.cards[name].isVisibleTo(self.view)
                )
            )

    async def card(self) -> PlatformCard:
        """Telegram's card, once it is there."""
        await self.until(lambda: self.part.known)
        await self.shown_cards("telegram")
        if len(self.part.cards) > 1:
            self.telegram.show_open(opened=True)
        assert self.telegram.is_open
        await self.until(lambda: self.telegram.body.whole)
        return self.telegram

    # --------------------------------------------------------------------------------- doing

    def paste(self, text: str, field: SecretField | None = None) -> None:
        """Paste from the clipboard into a field, as Ctrl+V does."""
        line = (field or self.field).line
        QApplication.clipboard().setText(text)
        line.selectAll()
        line.paste()

    def press(self, button: QPushButton) -> None:
        """Space on a button that can be seen."""
        assert button.isVisibleTo(self.view)
        assert button.isEnabled()
        button.setFocus()
        QTest.keyClick(button, Qt.Key.Key_Space)

    async def undo(self, field: SecretField | None = None) -> None:
        """Press Undo under a field, once it is offered."""
        button = (field or self.field).message.button
        await self.until(lambda: not self.busy)
        await self.until(lambda: button.isVisibleTo(self.view) and button.text() == "Undo")
        self.press(button)

    async def offer(self, name: str, field: SecretField | None = None) -> None:
        """Press one of the buttons of a field, once nothing else is done."""
        await self.until(lambda: not self.busy)
        self.press((field or self.field).offers[name])

    async def question(self) -> ConfirmationDialog:
        await self.until(lambda: self._dialogs(ConfirmationDialog))
        return self._dialogs(ConfirmationDialog)[0]

    async def agree(self) -> str:
        """Say yes to the question that comes; its words."""
        question = await self.question()
        words = question.accessibleDescription()
        question.agree.click()
        await self.until(lambda: not self._dialogs(ConfirmationDialog))
        return words

    async def save(self) -> None:
        """Press Save, and wait until it was done or refused."""
        bar = self.view.bar
        await self.until(lambda: bar.isVisibleTo(self.view) and bar.save.isEnabled())
        self.press(bar.save)
        await self.until(lambda: self.view.controller.busy)
        await self.until(lambda: not self.view.controller.busy)

    def _dialogs(self, kind: type[QDialog]) -> list[QDialog]:
        return [each for each in QApplication.topLevelWidgets() if isinstance(each, kind)
                and each.isVisible()]  # fmt: skip

    def shown_text(self, widget: QWidget | None = None) -> str:
        """Every word that can be seen."""
        found = []
        for child in (widget or self.view).findChildren(QWidget):
            if not child.isVisibleTo(self.view):
                continue
            if isinstance(child, QLabel | QAbstractButton):
                found.append(child.text())
            elif isinstance(child, QLineEdit):
                found += [child.displayText(), child.placeholderText()]
            elif isinstance(child, QPlainTextEdit):
                found.append(child.toPlainText())
        return "\n".join(found)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def stage(home: Path, theme: Theme) -> PlatformsStage:
    return PlatformsStage(home, theme)
