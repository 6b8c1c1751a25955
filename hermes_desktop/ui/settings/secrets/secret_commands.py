"""The controller for actions on stored secrets: confirm, carry out, report, undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog

from hermes_desktop.core.errors import HermesError
from hermes_desktop.settings.secrets import SecretStoreError
from hermes_desktop.ui.gateway.gateway_questions import ConfirmationDialog
from hermes_desktop.ui.settings.secrets.secret_text import (
    HERMES_LOSES_IT,
    MOVED,
    PLAIN_WORDS,
    STATE_WORDS,
    label_words,
    left_after_removal,
    where_words,
)
from hermes_desktop.ui.words.gateway_words import plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from PySide6.QtWidgets import QWidget

    from hermes_desktop.services.secrets.secrets_repository import SecretPlace, SecretView
    from hermes_desktop.services.settings.settings_service import Applied
    from hermes_desktop.ui.settings.fields.parts import SettingsContext

_WAITING = "Waiting for the keyring; it may ask for its password in another window"


@dataclass(frozen=True, slots=True)
class SecretOutcome:
    """The outcome of an action on a secret.

    Attributes:
        name: The variable; "" for the keyring itself.
        words: One sentence or more.
        good: Whether it worked.
        undo: The action for :meth:`SecretCommands.run` that undoes it; "" for none.
    """

    name: str
    words: str
    good: bool = True
    undo: str = ""


class SecretCommands(QObject):
    """Carries out one action at a time. Main thread only.

    Args:
        context: Context of the settings.
        window: Parent of the dialogs.

    Signals:
        busy_changed: Carries the variable ("" for the keyring itself) and what is waited for, ""
            when the wait is over.
        told: Carries a :class:`SecretOutcome`.
        changed: Secrets have moved, or are readable again.
    """

    busy_changed = Signal(str, str)
    told = Signal(object)
    changed = Signal()

    def __init__(self, context: SettingsContext, window: QWidget) -> None:
        super().__init__(window)
        self._context = context
        self._settings = context.services.settings
        self._window = window
        self._busy = False
        self._given_up = False

    @property
    def busy(self) -> bool:
        """Whether an action is in progress."""
        return self._busy

    def run(self, what: str, view: SecretView) -> None:
        """Run an action on one secret.

        Args:
            what: ``move``, ``move_back``, ``use_env``, ``overwrite_env``, ``remove``, ``unlock``,
                ``retry``, ``cancel``, or the ``undo:…`` of a :class:`SecretOutcome`.
            view: The secret as it is shown.
        """
        if what == "cancel":
            self.stop_waiting()
        elif not self._busy:
            doing = {"move": self.tr("Moving a secret"), "unlock": self.tr("Unlocking")}
            self._context.slots.start(
                self._run(what, view), doing=doing.get(what, self.tr("Changing a secret"))
            )

    def keep_plain(self, view: SecretView, value: str) -> None:
        """Ask for confirmation, then store a value in a file that is not encrypted."""
        if not self._busy:
            self._context.slots.start(
                self._keep_plain(view, value), doing=self.tr("Storing a secret")
            )

    def check(self) -> None:
        """Check whether the keyring works; the user may have to unlock it."""
        if not self._busy:
            self._context.slots.start(self._check(""), doing=self.tr("Checking the keyring"))

    def stop_waiting(self) -> None:
        """Stop waiting for the keyring; nothing is changed then."""
        self._given_up = True
        self._settings.stop_waiting()

    # --------------------------------------------------------------------------------- internals

    async def _run(self, what: str, view: SecretView) -> None:
        if what in {"unlock", "retry"}:
            await self._check(view.name)
        elif what == "move":
            await self._move(view)
        elif what in {"move_back", "overwrite_env"}:
            await self._move_back(view)
        elif what in {"remove", "use_env"}:
            await self._remove(view, use_env=what == "use_env")
        elif what.startswith("undo:"):
            await self._undo(what.removeprefix("undo:"), view)

    async def _move(self, view: SecretView) -> None:
        places = [place for place in view.places if place.where in MOVED]
        name = label_words(view)
        facts = [self.tr("It is removed from there once it is stored in the keyring.")]
        if any(place.where != "plain file" for place in places):
            facts.append(HERMES_LOSES_IT)
        if any(place.where == "config.yaml" for place in places):
            facts.insert(
                1, self.tr("It is also removed from the previous versions of config.yaml.")
            )
        title = self.tr("Move the {name} to the keyring?").format(name=name)
        action = self.tr("Move to the keyring")
        if not await self._agreed(title, action, facts, places):
            return
        where = " and ".join(where_words(place) for place in places)
        words = self.tr("The {name} was moved from {where} to the keyring.")
        only_env = all(place.where == ".env" for place in places)
        await self._do(
            self._settings.move_secret(view.name),
            SecretOutcome(
                view.name, words.format(name=name, where=where), undo="back" if only_env else ""
            ),
        )

    async def _move_back(self, view: SecretView) -> None:
        name = label_words(view)
        there = next((place for place in view.places if place.where == ".env"), None)
        facts = [
            self.tr("Any program that can read this file can read the token, including “hermes”."),
            self.tr("It is removed from the keyring once it is stored in .env."),
        ]
        if there is not None:
            facts.insert(0, self.tr("The current value in .env is overwritten."))
        title = self.tr("Move the {name} to .env?").format(name=name)
        if not await self._agreed(
            title, self.tr("Move to .env"), facts, [there] if there is not None else []
        ):
            return
        words = self.tr("The {name} was moved from the keyring to .env.")
        undo = "move" if there is None else ""
        await self._do(
            self._settings.move_secret_back(view.name),
            SecretOutcome(view.name, words.format(name=name), undo=undo),
        )

    async def _remove(self, view: SecretView, *, use_env: bool) -> None:
        name = label_words(view)
        places = [place for place in view.places if place.where in {"keyring", "plain file"}]
        title = self.tr("Remove the {name}?").format(name=name)
        action = self.tr("Remove it")
        if use_env:
            title = self.tr("Use the {name} from .env?").format(name=name)
            action = self.tr("Use the one in .env")
        facts = [left_after_removal(view)]
        if use_env:
            facts.insert(0, self.tr("The one stored here is removed."))
        if not await self._agreed(title, action, facts, places):
            return
        words = self.tr("The {name} was removed. {then}")
        words = words.format(name=name, then=left_after_removal(view))
        await self._do(
            self._settings.remove_secret(view.name), SecretOutcome(view.name, words, undo="bring")
        )

    async def _keep_plain(self, view: SecretView, value: str) -> None:
        name = label_words(view)
        title = self.tr("Store the {name} without encryption?").format(name=name)
        facts = (PLAIN_WORDS, self.tr("You can move it to a keyring later."))
        if await self._agreed(title, self.tr("Store in a plain file"), facts, ()):
            words = self.tr("The {name} is stored in a plain file.").format(name=name)
            await self._do(
                self._settings.keep_plain(view.name, value),
                SecretOutcome(view.name, words, undo="take"),
            )

    async def _undo(self, what: str, view: SecretView) -> None:
        name, settings = view.name, self._settings
        if what == "bring" and settings.can_bring_back(name):
            await self._do(
                settings.restore_secret(name), SecretOutcome(name, self.tr("It was restored."))
            )
        elif what == "back":
            await self._do(
                settings.move_secret_back(name), SecretOutcome(name, self.tr("It is back in .env."))
            )
        elif what == "move":
            await self._do(
                settings.move_secret(name),
                SecretOutcome(name, self.tr("It is back in the keyring.")),
            )
        elif what == "take":
            await self._do(
                settings.remove_secret(name), SecretOutcome(name, self.tr("It was removed."))
            )

    async def _check(self, name: str) -> None:
        self._begin(name, self.tr(_WAITING))
        try:
            reading = await self._settings.check_keyring()
        except Exception:
            self._end(name)
            raise
        self._end(name)
        if reading.state == "stored":
            words = self.tr("The keyring works: {name}.").format(name=reading.detail)
            self.told.emit(SecretOutcome(name, words))
        elif self._given_up:
            self.told.emit(
                SecretOutcome(name, self.tr("You stopped waiting for the keyring."), good=False)
            )
        else:
            self.told.emit(SecretOutcome(name, STATE_WORDS[reading.state][1], good=False))
        self.changed.emit()

    async def _do(self, work: Awaitable[Applied], told: SecretOutcome) -> None:
        self._begin(told.name, self.tr(_WAITING))
        try:
            applied = await work
        except HermesError as error:
            self._end(told.name)
            self.told.emit(SecretOutcome(told.name, self._failure(error), good=False))
        except Exception:
            self._end(told.name)
            raise
        else:
            self._end(told.name)
            undo = told.undo
            if undo == "bring" and not self._settings.can_bring_back(told.name):
                undo = ""
            self.told.emit(
                SecretOutcome(told.name, told.words, undo=f"undo:{undo}" if undo else "")
            )
            if _is_news(applied):
                self._context.report(applied)
        self.changed.emit()

    def _failure(self, error: HermesError) -> str:
        if self._given_up:
            return self.tr("You stopped waiting for the keyring. Nothing was changed.")
        if isinstance(error, SecretStoreError) and error.state in STATE_WORDS:
            words = f"{error.title} {STATE_WORDS[error.state][1]}"
            return self.tr("{words} Nothing was changed.").format(words=words)
        return plain(str(error))

    def _begin(self, name: str, what: str) -> None:
        self._busy, self._given_up = True, False
        self.busy_changed.emit(name, what)

    def _end(self, name: str) -> None:
        self._busy = False
        self.busy_changed.emit(name, "")

    async def _agreed(
        self, title: str, action: str, facts: Sequence[str], places: Sequence[SecretPlace]
    ) -> bool:
        question = ConfirmationDialog(
            title,
            about=[where_words(place, show_end=True) for place in places],
            facts=facts,
            action=action,
            theme=self._context.theme,
            parent=self._window,
        )
        question.setWindowTitle(self.tr("Secrets"))
        self._busy = True  # blocks other actions
        try:
            answer = await self._context.slots.ask(question)
        finally:
            self._busy = False
            question.deleteLater()
        return answer == QDialog.DialogCode.Accepted


def _is_news(applied: Applied) -> bool:
    """Return whether there is more to report than the new place of the secret."""
    waits = applied.after_restart or applied.other_gateway
    return bool(applied.reconnected or waits or applied.trouble)
