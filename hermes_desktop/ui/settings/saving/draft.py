"""What a person wants to change and has not saved yet, over what the files say now.

The one model behind every page: fields show it and write into it. Nothing here touches a file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from hermes_desktop.services.settings.settings_book import Change
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
    """What is wanted of one setting.

    Attributes:
        given: What stands in the field, in the field's own kind.
        value: What it means; None while there is a problem, or to go back to the default.
        unset: Whether it goes back to the default.
        problem: Why it cannot be, as a sentence or two; "" when it can.
        seen: What stood in the file when the edit began.
        before: What counted then, for words about a conflict.
    """

    given: Any
    value: Any = None
    unset: bool = False
    problem: str = ""
    seen: tuple[Seen, ...] = ()
    before: Any = None

    def change(self, key: str) -> Change:
        """The same for the service."""
        return Change(key, self.value, unset=self.unset, seen=self.seen)


class Draft(QObject):
    """All edits, with the way back and forth over them. Main thread only.

    Signals:
        key_changed: What is to be shown for a setting is not what it was.
        edits_changed: There are more edits, fewer, or others.
        loaded: Everything was read anew.
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

    # ------------------------------------------------------------------------------- looking

    @property
    def views(self) -> Mapping[str, SettingView]:
        """Every setting as the files have it."""
        return self._views

    @property
    def edits(self) -> Mapping[str, Edit]:
        """What is wanted, by setting."""
        return self._edits

    def other_lines(self, key: str) -> tuple[str, tuple[int, ...]]:
        """Which key on the way to a setting stands elsewhere, too, and in which lines."""
        path = self._views[key].place.split(".")
        names = (".".join(path[:length]) for length in range(len(path), 0, -1))
        found = next((name for name in names if name in self._repeated), "")
        return found, self._repeated.get(found, ())[:-1]

    @property
    def faulty(self) -> list[str]:
        """Settings that keep the rest from being saved: no value, or changed elsewhere too."""
        return [key for key, edit in self._edits.items() if edit.problem or self.in_conflict(key)]

    @property
    def can_undo(self) -> bool:
        """Whether there is a step back."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step forward."""
        return bool(self._future)

    def value_of(self, key: str) -> Any:
        """What would count with the edits saved; what counts now where one is faulty."""
        view, edit = self._views[key], self._edits.get(key)
        if edit is None or edit.problem:
            return view.value
        return view.option.default if edit.unset else edit.value

    def in_conflict(self, key: str) -> bool:
        """Whether somebody else changed a setting since its edit began."""
        edit = self._edits.get(key)
        return edit is not None and edit.seen != self._views[key].seen

    def changes(self) -> list[Change]:
        """The edits for the service."""
        return [edit.change(key) for key, edit in self._edits.items()]

    # ------------------------------------------------------------------------------- editing

    def give(self, key: str, given: Any, *, typing: bool = False, insist: bool = False) -> None:
        """Take what stands in a field.

        Args:
            key: The setting.
            given: Text, a truth, a word of the choices, or a list of texts.
            typing: One letter of many: it is undone together with those before it.
            insist: It is to stand in the file even if it is what counts anyhow.
        """
        edit = self._edit_for(key, given, insist=insist)
        self._step({key: edit}, typing_in=key if typing else "")

    def give_several(self, given: Mapping[str, Any]) -> None:
        """Fill in several fields in one step."""
        self._step({key: self._edit_for(key, each) for key, each in given.items()})

    def _edit_for(self, key: str, given: Any, *, insist: bool = False) -> Edit | None:
        """What a field's content asks for; None where that is so already."""
        view = self._views[key]
        wanted = _understood(view.option, given)
        old = self._edits.get(key)
        seen, before = (old.seen, old.before) if old is not None else (view.seen, view.value)
        insist = insist or (old is not None and not view.is_set and self._owned(key))
        if not insist and not wanted.problem and seen == view.seen and _same_as(view, wanted):
            return None
        return replace(wanted, seen=seen, before=before)

    def reset(self, *keys: str) -> None:
        """Go back to the default; several settings are one step."""
        wanted: dict[str, Edit | None] = {}
        for key in keys:
            view = self._views[key]
            edit = Edit(view.option.default, unset=True, seen=view.seen, before=view.value)
            wanted[key] = edit if view.is_set else None
        self._step(wanted)

    def drop(self, *keys: str) -> None:
        """Leave settings as the files have them."""
        self._step(dict.fromkeys(keys))

    def keep_mine(self, key: str) -> None:
        """In a conflict: the edit stands against what the file holds now."""
        edit, view = self._edits[key], self._views[key]
        kept = replace(edit, seen=view.seen, before=view.value)
        self._step({key: None if _same_as(view, kept) else kept})

    def discard(self) -> None:
        """Drop everything; this, too, can be undone."""
        if self._edits:
            self._remember()
            self._put({})

    def end_typing(self) -> None:
        """What is typed from here on is a step of its own."""
        self._typing_in = ""

    def undo(self) -> str:
        """One step back; returns a setting that it changed, "" without one."""
        return self._go(self._past, self._future)

    def redo(self) -> str:
        """One step forward; returns a setting that it changed, "" without one."""
        return self._go(self._future, self._past)

    # ------------------------------------------------------------------------------- loading

    def load(self, views: Iterable[SettingView], repeated: Iterable[RepeatedKey] = ()) -> list[str]:
        """Take what the files say now; edits stay.

        Args:
            views: Every setting.
            repeated: Keys that stand more than once in the file.

        Returns:
            Settings whose value is not what it was.
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
            if key in self._views and not self._came_true(key, edit)
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
        """These edits were saved; to be followed by :meth:`load`.

        What was filled in since stays an edit, against what stands in the file then.
        """
        self._past.clear()
        self._future.clear()
        self._just_saved = frozenset(done)
        self._put({key: edit for key, edit in self._edits.items() if done.get(key) != edit})

    def _after_saving(self, key: str, edit: Edit) -> Edit:
        view = self._views[key]
        return replace(edit, seen=view.seen) if key in self._just_saved else edit

    def _came_true(self, key: str, edit: Edit) -> bool:
        """Whether the file says by now what the edit wants."""
        view = self._views[key]
        return edit.seen != view.seen and not edit.problem and _same_as(view, edit)

    def _owned(self, key: str) -> bool:
        """Whether it counts that a key stands in the file at all, whatever it says."""
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
    """What a field's content means."""
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
        return bool(now == edit.value)  # 15 typed over 15.0 is no change
    return same(now, edit.value)
