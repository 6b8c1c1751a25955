"""The controller that runs actions on secrets and reports their outcome at the secret's field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from hermes_desktop.services.secrets.known_secrets import SECRETS
from hermes_desktop.services.settings.platform_checks import RefusedByPlatformError
from hermes_desktop.ui.settings.secrets.secret_text import STATE_WORDS
from hermes_desktop.ui.words.gateway_words import plain
from hermes_desktop.ui.words.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hermes_desktop.core.errors import HermesError
    from hermes_desktop.settings.secrets import SecretStoreError
    from hermes_desktop.ui.settings.secrets.secret_commands import SecretCommands, SecretOutcome
    from hermes_desktop.ui.settings.secrets.secret_field import SecretField
    from hermes_desktop.ui.settings.secrets.secrets_feed import SecretsFeed


class SecretFieldController(QObject):
    """Connects secret fields with the feed and the commands. Main thread only.

    Args:
        fields: Returns the existing fields, by variable.
        feed: Where secrets are; refreshed after every change.
        commands: Carries out the actions.
        parent: Qt parent.

    Signals:
        told_elsewhere: Carries an outcome for which there is no field.
        emptied: A pasted value has been stored, so that it is no longer pending.
    """

    told_elsewhere = Signal(object)
    emptied = Signal()

    def __init__(
        self,
        fields: Callable[[], Mapping[str, SecretField]],
        feed: SecretsFeed,
        commands: SecretCommands,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._fields = fields
        self._feed = feed
        self._commands = commands
        commands.busy_changed.connect(self._busy)
        commands.told.connect(self._told)
        commands.changed.connect(feed.refresh)

    def run(self, what: str, name: str) -> None:
        """Run an action that a field requests."""
        field = self._fields().get(name)
        if what == "plain" and field is not None:
            self._commands.keep_plain(self._feed.view(name), field.pasted.value)
        else:
            self._commands.run(what, self._feed.view(name))

    def wait_for(self, what: str) -> None:
        """Show at fields with pasted values what they wait for; "" ends that."""
        for field in self._fields().values():
            if field.pasted.value or not what:
                field.wait_for(what)

    def saved(self) -> list[str]:
        """Clear fields whose pasted value was stored, and report it; return their variables."""
        names = [name for name, field in self._fields().items() if field.pasted.value]
        for name in names:
            field = self._fields()[name]
            field.clear()
            field.say("ok", self.tr("It is stored in the keyring."))
        return names

    def refused(self, key: str, error: HermesError) -> bool:
        """Show at its field why a pasted value was not stored; return whether there is one."""
        field = self._fields().get(key)
        if field is None or not field.pasted.value:
            return False
        kept = field.view is not None and bool(field.view.places)
        before = self.tr("The previous one is kept and still works.")
        after = before if kept else self.tr("Nothing was stored.")
        said = plain(str(error))
        if isinstance(error, RefusedByPlatformError) and key in SECRETS:
            said = self.tr("{name} rejected it. It answered: {words}").format(
                name=source_name(SECRETS[key].platform), words=plain(error.detail)
            )
            after = self.tr("{after} Copy it again, or create a new one.").format(after=after)
        field.show_problem(f"{said} {after}")
        return True

    def keyring_failed(self, error: SecretStoreError) -> list[str]:
        """Show the error and a remedy at fields with pasted values; return their variables."""
        helps = {
            "locked": (self.tr("Unlock…"), "unlock"),
            "not answering": (self.tr("Try again"), "retry"),
            "no keyring": (self.tr("Store in a plain file…"), "plain"),
            "no keyring yet": (self.tr("Store in a plain file…"), "plain"),
        }
        action, wanted = helps.get(error.state, ("", ""))
        names = [name for name, field in self._fields().items() if field.pasted.value]
        parts = (STATE_WORDS[error.state][1] if error.state != "stored" else error.title,)
        words = " ".join((*parts, *filter(None, (plain(error.detail),))))
        for name in names:
            self._fields()[name].show_problem(
                self.tr("{words} No setting was saved.").format(words=words),
                action=action,
                wanted=wanted,
            )
        return names

    def _busy(self, name: str, what: str) -> None:
        for variable, field in self._fields().items():
            if variable == name:
                field.wait_for(what)
            else:
                field.hold(held=bool(what))

    def _told(self, told: SecretOutcome) -> None:
        field = self._fields().get(told.name)
        if field is None:
            self.told_elsewhere.emit(told)
            return
        if told.undo == "undo:take":
            field.clear()
            self.emptied.emit()
        action = self.tr("Undo") if told.undo else ""
        field.say("ok" if told.good else "error", told.words, action=action, wanted=told.undo)
