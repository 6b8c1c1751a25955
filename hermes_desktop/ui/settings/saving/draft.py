"""The draft: the user's unsaved edits, over the values that the files hold now.

The one model behind every page: fields show it and write into it. It never touches a file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from hermes_desktop.services.settings.settings_repository import Change
from hermes_desktop.settings.options import InvalidValueError
from hermes_desktop.settings.yaml_values import same

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hermes_desktop.services.settings.config_health import RepeatedKey
    from hermes_desktop.services.settings.settings_reading import SettingView
    from hermes_desktop.settings.config_store import Seen
    from hermes_desktop.settings.options import Option

_MOST_STEPS = 200


@dataclass(frozen=True, slots=True)
class Edit:
    """The wanted value of one setting.

    Attributes:
        given: The content of the field, in the type that the field works with.
        value: The parsed value; None while there is a problem, or to go back to the default.
        unset: Whether the setting goes back to the default.
        problem: Why the content is invalid, as a sentence or two; "" if it is valid.
        seen: What the file held when the edit began.
        before: The effective value at that time, for messages about a conflict.
    """

    given: Any
    value: Any = None
    unset: bool = False
    problem: str = ""
    seen: tuple[Seen, ...] = ()
    before: Any = None

    def change(self, key: str) -> Change:
        """Return the edit as a change for the service."""
        return Change(key, self.value, unset=self.unset, seen=self.seen)


class Draft(QObject):
    """All edits, with undo and redo. Main thread only.

    Signals:
        key_changed: The content to show for a setting has changed.
        edits_changed: Edits were added, removed or replaced.
        loaded: All settings were read again.
    """

    key_changed = Signal(str)
    edits_changed = Signal()
    loaded = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._views: dict[str, SettingView] = {}
        self._edits: dict[str, Edit] = {}
        self._past: list[dict[str, Edit]] = []
        self._future: list[dict[str, Edit]] = []
        self._typing_in = ""
        self._repeated: dict[str, tuple[int, ...]] = {}
        self._just_saved: frozenset[str] = frozenset()

    # ------------------------------------------------------------------------------- queries

    @property
    def views(self) -> Mapping[str, SettingView]:
        """Every setting as the files have it."""
        return self._views

    @property
    def edits(self) -> Mapping[str, Edit]:
        """The edits, by setting key."""
        return self._edits

    def other_lines(self, key: str) -> tuple[str, tuple[int, ...]]:
        """Return the repeated key on the path to a setting, and its lines that have no effect."""
        path = self._views[key].place.split(".")
        names = (".".join(path[:length]) for length in range(len(path), 0, -1))
        found = next((name for name in names if name in self._repeated), "")
        return found, self._repeated.get(found, ())[:-1]

    @property
    def faulty(self) -> list[str]:
        """Settings that block saving: the value is invalid, or it was also changed elsewhere."""
        return [key for key, edit in self._edits.items() if edit.problem or self.in_conflict(key)]

    def value_of(self, key: str) -> Any:
        """Return the value that takes effect on saving; the current one if the edit is invalid."""
        view, edit = self._views[key], self._edits.get(key)
        if edit is None or edit.problem:
            return view.value
        return view.option.default if edit.unset else edit.value

    def in_conflict(self, key: str) -> bool:
        """Return whether the setting was changed in the file since its edit began."""
        edit = self._edits.get(key)
        return edit is not None and edit.seen != self._views[key].seen

    def changes(self) -> list[Change]:
        """Return the edits as changes for the service."""
        return [edit.change(key) for key, edit in self._edits.items()]

    # ------------------------------------------------------------------------------- editing

    def give(self, key: str, given: Any, *, typing: bool = False, insist: bool = False) -> None:
        """Take the content of a field.

        Args:
            key: The setting.
            given: A text, a boolean, a value of the choices, or a list of texts.
            typing: The content changed by one keystroke: it is undone together with those before
                it.
            insist: Write the value to the file even if it is already in effect.
        """
        edit = self._edit_for(key, given, insist=insist)
        self._step({key: edit}, typing_in=key if typing else "")

    def set_contents(self, given: Mapping[str, Any]) -> None:
        """Fill in several fields in one step."""
        self._step({key: self._edit_for(key, each) for key, each in given.items()})

    def _edit_for(self, key: str, given: Any, *, insist: bool = False) -> Edit | None:
        """Return the edit for a field's content; None if the setting already has that value."""
        view = self._views[key]
        wanted = _understood(view.option, given)
        old = self._edits.get(key)
        seen, before = (old.seen, old.before) if old is not None else (view.seen, view.value)
        insist = insist or (old is not None and not view.is_set and self._owned(key))
        if not insist and not wanted.problem and seen == view.seen and _same_as(view, wanted):
            return None
        return replace(wanted, seen=seen, before=before)

    def reset(self, *keys: str) -> None:
        """Reset settings to their defaults; several settings are one step."""
        wanted: dict[str, Edit | None] = {}
        for key in keys:
            view = self._views[key]
            edit = Edit(view.option.default, unset=True, seen=view.seen, before=view.value)
            wanted[key] = edit if view.is_set else None
        self._step(wanted)

    def drop(self, *keys: str) -> None:
        """Drop the edits of settings, so that the values of the files remain."""
        self._step(dict.fromkeys(keys))

    def resolve_with_edit(self, key: str) -> None:
        """Resolve a conflict: keep the edit, based on what the file holds now."""
        edit, view = self._edits[key], self._views[key]
        kept = replace(edit, seen=view.seen, before=view.value)
        self._step({key: None if _same_as(view, kept) else kept})

    def discard(self) -> None:
        """Drop all edits; this can be undone, too."""
        if self._edits:
            self._remember()
            self._put({})

    def end_typing(self) -> None:
        """End the typing step; further keystrokes form a new step."""
        self._typing_in = ""

    def undo(self) -> str:
        """Undo one step; return the key of a setting that it changed, "" without one."""
        return self._go(self._past, self._future)

    def redo(self) -> str:
        """Redo one step; return the key of a setting that it changed, "" without one."""
        return self._go(self._future, self._past)

    # ------------------------------------------------------------------------------- loading

    def load(self, views: Iterable[SettingView], repeated: Iterable[RepeatedKey] = ()) -> list[str]:
        """Replace the views with what the files hold now; edits are kept.

        Args:
            views: Every setting.
            repeated: Keys that occur more than once in the file.

        Returns:
            Settings whose value has changed.
        """
        before = self._views
        self._repeated = {each.key: each.lines for each in repeated}
        self._views = {view.key: view for view in views}
        changed = [
            key
            for key, view in self._views.items()
            if key in before and not same(before[key].value, view.value)
        ]
        kept = {
            key: self._after_saving(key, edit)
            for key, edit in self._edits.items()
            if key in self._views and not self._is_fulfilled(key, edit)
        }
        self._just_saved = frozenset()
        fewer = len(kept) != len(self._edits)
        self._edits = kept
        self._typing_in = ""
        self.loaded.emit()
        for key, view in self._views.items():
            if before.get(key) != view:
                self.key_changed.emit(key)
        if fewer or changed:
            self.edits_changed.emit()
        return changed

    def saved(self, done: Mapping[str, Edit]) -> None:
        """Drop the edits that were saved; call :meth:`load` next.

        Fields that were filled in since remain edits, based on what the file holds then.
        """
        self._past.clear()
        self._future.clear()
        self._just_saved = frozenset(done)
        self._put({key: edit for key, edit in self._edits.items() if done.get(key) != edit})

    def _after_saving(self, key: str, edit: Edit) -> Edit:
        view = self._views[key]
        return replace(edit, seen=view.seen) if key in self._just_saved else edit

    def _is_fulfilled(self, key: str, edit: Edit) -> bool:
        """Return whether the file holds by now what the edit wants."""
        view = self._views[key]
        return edit.seen != view.seen and not edit.problem and _same_as(view, edit)

    def _owned(self, key: str) -> bool:
        """Return whether the mere presence of the key in the file matters, whatever its value."""
        return any(place.owns for place in self._views[key].option.all_places())

    def _step(self, wanted: Mapping[str, Edit | None], *, typing_in: str = "") -> None:
        if all(self._edits.get(key) == edit for key, edit in wanted.items()):
            return
        if not typing_in or self._typing_in != typing_in:
            self._remember()
        self._typing_in = typing_in
        edits = {key: edit for key, edit in self._edits.items() if key not in wanted}
        edits |= {key: edit for key, edit in wanted.items() if edit is not None}
        self._put(edits)

    def _remember(self) -> None:
        self._past.append(self._edits)
        del self._past[:-_MOST_STEPS]
        self._future.clear()

    def _go(self, source: list[dict[str, Edit]], other: list[dict[str, Edit]]) -> str:
        if not source:
            return ""
        self._typing_in = ""
        other.append(self._edits)
        found = source.pop()
        keys = self._put({key: edit for key, edit in found.items() if key in self._views})
        return keys[-1] if keys else ""

    def _put(self, edits: dict[str, Edit]) -> list[str]:
        before, self._edits = self._edits, edits
        keys = [key for key in {**before, **edits} if before.get(key) != edits.get(key)]
        for key in keys:
            if key in self._views:
                self.key_changed.emit(key)
        if keys:
            self.edits_changed.emit()
        return keys


def _understood(option: Option, given: Any) -> Edit:
    """Return the edit that a field's content stands for."""
    blank = isinstance(given, str) and not given.strip()
    if blank and option.kind in {"text", "address"} and not option.may_be_none:
        return Edit(given, unset=True)
    try:
        value = option.parse(given) if isinstance(given, str) else option.check(given)
    except InvalidValueError as error:
        return Edit(given, problem=" ".join(filter(None, (error.detail, error.hint))))
    if value is None and option.default is None:
        return Edit(given, unset=True)
    return Edit(given, value)


def _same_as(view: SettingView, edit: Edit) -> bool:
    if edit.unset:
        return not view.is_set
    if view.problem:
        return False
    now = view.stored if view.overridden else view.value
    if view.option.kind == "number":
        return bool(now == edit.value)  # 15 typed over 15.0 is not a change
    return same(now, edit.value)
