"""The session commands of menus and keys: archive, pin and delete, each with an undo notice."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QWidget

from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice, NoticeCleared
from hermes_desktop.services.sessions.delete_plan import DeletePlan
from hermes_desktop.services.sessions.live_actions import AsyncSessionActions
from hermes_desktop.services.sessions.session_actions import PINS_ARE_OURS
from hermes_desktop.state.records.cancellation import Progress
from hermes_desktop.state.records.records import SessionSummary
from hermes_desktop.state.trash.trash import TrashReceipt, TrashTooLargeError
from hermes_desktop.ui.sessions.delete_question import (
    DeleteDialog,
    LargeTrashQuestion,
    quoted,
    sessions_text,
    what_goes,
)
from hermes_desktop.ui.widgets.async_slots import AsyncSlots
from hermes_desktop.ui.widgets.resource_files import icon
from hermes_desktop.ui.widgets.theme import Theme

KEY_PREFIX = "undo-"
_REMEMBERED = 20

Targets = Sequence[SessionSummary]


@dataclass(frozen=True, slots=True)
class _Done:
    """A command that can be undone."""

    key: str
    undo: Callable[[], Awaitable[str]]
    """Undoes the command and returns a sentence that confirms it."""


class _Percent:
    """A progress callback that shows a percentage; short work never reports a partial step."""

    KEY = "deleting"

    def __init__(self, words: str, bus: EventBus) -> None:
        self._words = words
        self._bus = bus
        self._shown = -1

    def __call__(self, progress: Progress) -> None:
        percent = 100 * progress.done // max(progress.total, 1)
        if percent != self._shown and progress.done < progress.total:
            self._shown = percent
            self._bus.publish(Notice("info", self._words.format(percent=percent), key=self.KEY))


class SessionCommands(QObject):
    """Controller that runs commands for one session or several. Main thread only.

    Args:
        actions: Executes the commands.
        slots: Runs the coroutines; a refusal becomes a notice.
        bus: Receives the notices.
        theme: Colors of the dialog.
        window: Parent of the dialogs.

    Signals:
        deleted: Frozen set of the deleted ids.
        restored: Tuple of the restored ids, the newest part of each conversation last.
    """

    deleted = Signal(object)
    restored = Signal(object)

    def __init__(
        self,
        actions: AsyncSessionActions,
        slots: AsyncSlots,
        bus: EventBus,
        theme: Theme,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._actions = actions
        self._slots = slots
        self._bus = bus
        self._theme = theme
        self._window = window
        self._asking = False
        self._done: list[_Done] = []
        self._count = 0

    def fill_menu(self, menu: QMenu, targets: Targets, rename: Callable[[], object] | None) -> None:
        """Add the commands for these sessions to a menu.

        Args:
            menu: Receives the entries.
            targets: At least one session.
            rename: Starts to edit the title, None if it cannot be edited.
        """
        palette, before = self._theme.palette, len(menu.actions())
        if len(targets) == 1 and rename is not None:
            _entry(menu, self.tr("Rename"), "F2", rename).setIcon(icon("edit", palette))
        if all(each.archived for each in targets):
            put = _entry(menu, self.tr("Unarchive"), "Ctrl+E", lambda: self.unarchive(targets))
        else:
            put = _entry(menu, self.tr("Archive"), "Ctrl+E", lambda: self.archive(targets))
        put.setIcon(icon("archive", palette))
        if all(each.pinned for each in targets):
            pin = _entry(menu, self.tr("Unpin"), "", lambda: self.unpin(targets))
        else:
            pin = _entry(menu, self.tr("Pin"), "", lambda: self.pin(targets))
        pin.setIcon(icon("pin", palette))
        remove = _entry(menu, self.tr("Delete…"), "Del", lambda: self.delete(targets))
        remove.setIcon(icon("trash", palette))
        why_not = self._actions.why_not
        for action in menu.actions()[before:]:
            action.setEnabled(not why_not)
            action.setToolTip(why_not)
        menu.setToolTipsVisible(bool(why_not))
        menu.addSeparator()
        words = self.tr("Copy ID") if len(targets) == 1 else self.tr("Copy IDs")
        _entry(menu, words, "", lambda: copy_ids(targets)).setIcon(icon("copy", palette))

    # ------------------------------------------------------------------------------ archiving

    def toggle_archived(self, targets: Targets) -> None:
        """Archive these sessions, or unarchive them when all of them are archived."""
        if targets and all(each.archived for each in targets):
            self.unarchive(targets)
        elif targets:
            self.archive(targets)

    def archive(self, targets: Targets) -> None:
        """Archive sessions without asking; the notice offers to undo it."""
        self._slots.start(self._archive(tuple(targets)), doing=self.tr("Archiving"))

    def unarchive(self, targets: Targets) -> None:
        """Unarchive sessions without asking."""
        self._slots.start(self._unarchive(tuple(targets)), doing=self.tr("Unarchiving"))

    async def _archive(self, targets: Targets) -> None:
        changed = await self._actions.archive([each.id for each in targets])
        if not changed:
            return
        what = _name_of([each for each in targets if each.id in changed])

        async def undo() -> str:
            await self._actions.unarchive(changed)
            return self.tr("{what} is back in the list.").format(what=what)

        self.tell(self.tr("Archived {what}.").format(what=what), undo)

    async def _unarchive(self, targets: Targets) -> None:
        changed = await self._actions.unarchive([each.id for each in targets])
        if not changed:
            return
        what = _name_of([each for each in targets if each.id in changed])

        async def undo() -> str:
            await self._actions.archive(changed)
            return self.tr("{what} is archived again.").format(what=what)

        self.tell(self.tr("Unarchived {what}.").format(what=what), undo)

    # -------------------------------------------------------------------------------- pinning

    def pin(self, targets: Targets) -> None:
        """Pin sessions, so that they are kept when old ones are deleted."""
        self._slots.start(self._pin(tuple(targets)), doing=self.tr("Pinning"))

    def unpin(self, targets: Targets) -> None:
        """Unpin sessions."""
        self._slots.start(self._unpin(tuple(targets)), doing=self.tr("Unpinning"))

    async def _pin(self, targets: Targets) -> None:
        done = await self._actions.pin([each.id for each in targets])
        if not done.ids:
            return
        what = _name_of([each for each in targets if each.id in done.ids])

        async def undo() -> str:
            await self._actions.unpin(done.ids)
            return self.tr("{what} is no longer pinned.").format(what=what)

        detail = "" if done.known_to_hermes else self.tr(PINS_ARE_OURS)
        self.tell(self.tr("Pinned {what}.").format(what=what), undo, detail)

    async def _unpin(self, targets: Targets) -> None:
        done = await self._actions.unpin([each.id for each in targets])
        if not done.ids:
            return
        what = _name_of([each for each in targets if each.id in done.ids])

        async def undo() -> str:
            await self._actions.pin(done.ids)
            return self.tr("{what} is pinned again.").format(what=what)

        self.tell(self.tr("Unpinned {what}.").format(what=what), undo)

    # ------------------------------------------------------------------------------- deleting

    def delete(self, targets: Targets) -> None:
        """Show what would be deleted, and delete it if the user confirms."""
        if targets and not self._asking:
            self._asking = True
            self._slots.start(self._delete(tuple(targets)), doing=self.tr("Deleting"))

    async def _delete(self, targets: Targets) -> None:
        try:
            preview = await self._actions.plan_delete([each.id for each in targets])
            question = DeleteDialog(preview, self._theme, self._window)
            answer = await self._ask(question)
            if not preview.plan.conversations or answer != QDialog.DialogCode.Accepted:
                return
            receipt = await self._to_trash(preview.plan)
        finally:
            self._asking = False
        if receipt is None or not receipt.items:
            return
        plan = preview.plan
        self.deleted.emit(frozenset((*plan.segments, *plan.subagents)))
        self._offer_restore(receipt, what_goes(plan))

    async def _to_trash(self, plan: DeletePlan) -> TrashReceipt | None:
        tell = _Percent(self.tr("Moving to the trash: {percent} %"), self._bus)
        try:
            try:
                return await self._actions.delete(plan, on_progress=tell)
            except TrashTooLargeError as error:
                question = LargeTrashQuestion(error.title, error.detail, self._window)
            await self._ask(question)
            if not question.agreed:
                return None
            return await self._actions.delete(plan, force=True, on_progress=tell)
        finally:
            self._bus.publish(NoticeCleared(_Percent.KEY))

    async def _ask(self, dialog: QDialog) -> int:
        try:
            return await self._slots.ask(dialog)
        finally:
            dialog.deleteLater()

    def _offer_restore(self, receipt: TrashReceipt, what: str) -> None:
        async def undo() -> str:
            restored = await self._actions.undo_delete(receipt)
            ids = tuple(name for each in restored for name in each.session_ids.values())
            self.restored.emit(ids)
            retitled = [title for each in restored for title in each.retitled.values()]
            if retitled:
                return self.tr("Restored {what} as {title}: its title was taken.").format(
                    what=what, title=quoted(retitled[0])
                )
            return self.tr("Restored {what}.").format(what=what)

        self.tell(self.tr("Deleted {what}.").format(what=what), undo)

    # --------------------------------------------------------------------------------- undoing

    def undo_last(self) -> None:
        """Undo the last command (Ctrl+Z)."""
        if self._done:
            self._undo(self._done[-1])
        else:
            self._bus.publish(Notice("info", self.tr("There is nothing to undo."), key="undo"))

    def act_on(self, key: str) -> None:
        """Handle the action of a notice; notices of other components are ignored."""
        done = next((each for each in self._done if each.key == key), None)
        if done is not None:
            self._undo(done)

    def _undo(self, done: _Done) -> None:
        self._done.remove(done)
        self._bus.publish(NoticeCleared(done.key))
        self._slots.start(self._take_back(done), doing=self.tr("Undoing"))

    async def _take_back(self, done: _Done) -> None:
        try:
            words = await done.undo()
        except BaseException:
            self._done.append(done)  # it can be retried
            raise
        self._bus.publish(Notice("ok", words, key="undo"))

    def tell(
        self, words: str, undo: Callable[[], Awaitable[str]], detail: str = "", *, action: str = ""
    ) -> None:
        """Publish a notice about a command that can be undone.

        The notice strip holds one of these at a time, Ctrl+Z the last twenty.

        Args:
            words: What was done.
            undo: Takes it back and returns a sentence that confirms it.
            detail: More about it.
            action: The label of the notice's button; "" for Undo.
        """
        for earlier in self._done:
            self._bus.publish(NoticeCleared(earlier.key))
        self._count += 1
        done = _Done(f"{KEY_PREFIX}{self._count}", undo)
        self._done = [*self._done, done][-_REMEMBERED:]
        self._bus.publish(NoticeCleared("undo"))
        label = action or self.tr("Undo")
        self._bus.publish(Notice("ok", words, detail, key=done.key, action=label))


def copy_ids(targets: Targets) -> None:
    """Copy the ids of sessions to the clipboard, one per line."""
    QApplication.clipboard().setText("\n".join(each.id for each in targets))


def _name_of(targets: Targets) -> str:
    return quoted(targets[0].label) if len(targets) == 1 else sessions_text(len(targets))


def _entry(menu: QMenu, words: str, keys: str, do: Callable[[], object]) -> QAction:
    action = menu.addAction(words)
    if keys:
        action.setShortcut(QKeySequence(keys))
        action.setShortcutVisibleInContextMenu(True)
    action.triggered.connect(lambda _checked=False: do())
    return action
