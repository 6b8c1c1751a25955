"""Putting back what turns changed: the plan, the difference, and the work itself.

Nothing is followed out of the folder: each file is reached through its real folders, and a folder
that was replaced by a link is an obstacle, not a way.
"""

import contextlib
import difflib
import os
import secrets
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hermes_desktop.agent.undo.content_store import ContentStore
from hermes_desktop.agent.undo.folder_scan import Entry, TooMuchError, entry_of, keep_file
from hermes_desktop.agent.undo.turn_record import TurnRecord, new_record
from hermes_desktop.agent.undo.turn_undo import UndoStore, compare, is_kept, text_before, text_now
from hermes_desktop.core.files.beneath import OpenFolder

State = Literal["ready", "changed-since", "not-kept", "as-before"]
MOST_DIFF_LINES = 200
_MOST_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Step:
    """One file, link or folder to put back.

    Attributes:
        folder: The folder that the path is relative to.
        before: Its entry before the turn; None: there was none.
        after: Its entry after the turn.
        now: Its present entry.
        state: ``changed-since``: another program or the user changed it after the turn.
            ``not-kept``: the earlier content is not known. ``as-before``: there is nothing to do.
    """

    folder: Path
    path: str
    before: Entry | None
    after: Entry | None
    now: Entry | None
    state: State

    @property
    def shown(self) -> str:
        """The path to show: relative for a file of the folder, whole for another."""
        return (
            self.path if self.folder != Path(self.folder.anchor) else str(self.folder / self.path)
        )

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder, before and now."""
        kinds = {each.kind for each in (self.before, self.now) if each is not None}
        return kinds == {"folder"}

    @property
    def verb(self) -> str:
        """The change that the turn made, in one word."""
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class Undo:
    """A plan for putting back what turns changed.

    Attributes:
        steps: In the order of their paths.
        not_covered: Why not all changes are known, as sentences.
        interrupted: A turn was killed: all changes since its beginning count as its own.
    """

    records: tuple[TurnRecord, ...]
    steps: tuple[Step, ...]
    not_covered: tuple[str, ...] = ()
    interrupted: bool = False

    def having(self, *states: State) -> tuple[Step, ...]:
        """Return the steps in these states."""
        return tuple(each for each in self.steps if each.state in states)


@dataclass(frozen=True, slots=True)
class PutBack:
    """The result of putting files back.

    Attributes:
        done: The steps that were done.
        failed: Those that were not, with the reason.
        stopped: It was cancelled; the other steps are still to be done.
    """

    done: tuple[Step, ...]
    failed: tuple[tuple[Step, str], ...] = ()
    stopped: bool = False


def plan_undo(store: UndoStore, records: Sequence[TurnRecord]) -> Undo:
    """Return what would be put back. Blocking; changes nothing.

    Args:
        store: What is kept.
        records: The turns, the earliest first.
    """
    compared: list[TurnRecord] = []
    notes: list[str] = []
    for record in records:
        if record.why_not:
            notes.append(f"Changes of commands in {record.folder} are not known. {record.why_not}")
        if record.state != "running":
            compared.append(record)
            continue
        try:
            compared.append(compare(record))
        except (OSError, TooMuchError) as error:
            why = (error.strerror or "unknown error") if isinstance(error, OSError) else str(error)
            notes.append(f"{record.folder} cannot be compared: {why}.")
    steps: list[Step] = []
    for folder in dict.fromkeys(each.folder for each in compared):
        steps += _steps(store.contents, folder, [e for e in compared if e.folder == folder])
    interrupted = any(each.state == "running" for each in records)
    ordered = sorted(steps, key=lambda each: (str(each.folder), each.path))
    return Undo(tuple(records), tuple(ordered), tuple(notes), interrupted)


def _steps(contents: ContentStore, folder: Path, records: Sequence[TurnRecord]) -> list[Step]:
    before: dict[str, Entry | None] = {}
    after: dict[str, Entry | None] = {}
    for record in records:
        for path, entry in record.after.items():
            before.setdefault(path, record.before.get(path))
            after[path] = entry
    steps: list[Step] = []
    try:
        opened = OpenFolder(folder)
    except OSError:
        return [Step(folder, path, before[path], after[path], None, "not-kept") for path in after]
    with opened:
        for path, left in after.items():
            now = _present(opened, path)
            steps.append(_step(contents, folder, path, before[path], left, now))
    return steps


def _step(
    contents: ContentStore,
    folder: Path,
    path: str,
    before: Entry | None,
    after: Entry | None,
    now: Entry | None,
) -> Step:
    state: State = "changed-since"
    if _is_same(before, now) and (before is None or is_kept(before)):
        state = "as-before"
    elif not is_kept(before) or not _has(contents, before):
        state = "not-kept"
    elif _is_same(after, now):
        state = "ready"
    return Step(folder, path, before, after, now, state)


def _has(contents: ContentStore, entry: Entry | None) -> bool:
    return entry is None or entry.kind != "file" or contents.has(entry.content)


def _present(opened: OpenFolder, path: str) -> Entry | None:
    try:
        return entry_of(opened, path, digest=True)
    except OSError:
        return None


def difference(store: UndoStore, step: Step, most_lines: int = MOST_DIFF_LINES) -> str:
    """Return what would change in a file, as a unified difference; "" where there is no text.

    Lines with ``-`` are there now, lines with ``+`` are put back.

    Args:
        store: What is kept.
        step: The file.
        most_lines: What exceeds them is only counted.
    """
    try:
        with OpenFolder(step.folder) as opened:
            is_file = step.now is not None and step.now.kind == "file"
            now = text_now(opened, step.path) if is_file else ""
        was_file = step.before is not None and step.before.kind == "file"
        before = text_before(store.contents, step.before) if step.before and was_file else ""
    except (OSError, ValueError):
        return ""
    lines = list(
        difflib.unified_diff(
            now.splitlines(), before.splitlines(), step.shown, step.shown, lineterm=""
        )
    )
    more = len(lines) - most_lines
    shown = lines[:most_lines] + ([f"… {more:,} more lines"] if more > 0 else [])
    return "\n".join(shown)


# The work


def put_back(
    store: UndoStore,
    undo: Undo,
    *,
    overwrite: bool = False,
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> PutBack:
    """Put back what turns changed. Blocking.

    The present state is kept before it is replaced. The work can be repeated after it was killed:
    files that are already as before are skipped.

    Args:
        store: What is kept.
        undo: The plan; each file is compared with it again.
        overwrite: Also files that another program or the user changed after the turn.
        on_step: Called after each file with how many are done, and with their number.
        cancelled: Checked before each file; ends the work.
    """
    wanted: set[State] = {"ready", "changed-since"} if overwrite else {"ready"}
    chosen = undo.having(*wanted)
    done: list[Step] = []
    failed: list[tuple[Step, str]] = []
    stopped = False
    for folder in dict.fromkeys(each.folder for each in chosen):
        steps = [each for each in chosen if each.folder == folder]
        try:
            with OpenFolder(folder) as opened:
                work = _Work(store, opened)
                for step in _ordered(steps):
                    if stopped := stopped or cancelled():
                        break
                    try:
                        work.put_back(step)
                        done.append(step)
                    except OSError as error:
                        failed.append((step, error.strerror or str(error)))
                    on_step(len(done) + len(failed), len(chosen))
                work.end()
        except OSError as error:
            failed += [(step, error.strerror or str(error)) for step in steps]
    return PutBack(tuple(done), tuple(failed), stopped)


def _ordered(steps: Sequence[Step]) -> list[Step]:
    """Return the steps in order: created entries, the deepest first; then the rest from the top."""
    created = [each for each in steps if each.before is None]
    rest = [each for each in steps if each.before is not None]
    return [
        *sorted(created, key=lambda each: each.path.count("/"), reverse=True),
        *sorted(rest, key=lambda each: (each.path.count("/"), each.path)),
    ]


class _Work:
    """Work in one folder."""

    def __init__(self, store: UndoStore, opened: OpenFolder) -> None:
        self._store = store
        self._opened = opened
        self._modes: list[tuple[str, int]] = []

    def put_back(self, step: Step) -> None:
        now = _present(self._opened, step.path)
        if not _is_same(step.now, now):
            raise OSError(0, "it has changed in the meantime")
        _keep(self._store, self._opened, step.path, now)
        with self._opened.parent(step.path) as (descriptor, name):
            self._replace(step, now, descriptor, name)

    def end(self) -> None:
        """Set the modes of folders, when nothing has to be written there any more."""
        for path, mode in reversed(self._modes):
            with contextlib.suppress(OSError):
                self._set_mode(path, mode)

    def _set_mode(self, path: str, mode: int) -> None:
        descriptor = self._opened.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def _replace(self, step: Step, now: Entry | None, descriptor: int | None, name: str) -> None:
        before = step.before
        if now is not None and now.kind == "folder" and (not before or before.kind != "folder"):
            os.rmdir(
                name, dir_fd=descriptor
            )  # fails where other programs have put something into it
        elif now is not None and (not before or before.kind != now.kind):
            os.unlink(name, dir_fd=descriptor)
        if before is None:
            return
        if before.kind == "folder":
            if now is None or now.kind != "folder":
                os.mkdir(name, 0o700, dir_fd=descriptor)
            self._set_mode(step.path, before.mode | stat.S_IRWXU)  # files come back into it
            self._modes.append((step.path, before.mode))
        elif before.kind == "link":
            _replace_by_link(before.content, descriptor, name)
        elif before.kind == "file":
            data = self._store.contents.read(before.content)
            self._opened.replace(step.path, data, mode=before.mode, mtime=before.mtime)


def _keep(store: UndoStore, opened: OpenFolder, path: str, now: Entry | None) -> Entry | None:
    """Return the present entry, with its content as far as it can be kept."""
    if now is None or now.kind != "file" or (now.content and store.contents.has(now.content)):
        return now
    return keep_file(opened, path, replace(now, content=""), store.contents)


def keep_present(store: UndoStore, undo: Undo) -> tuple[TurnRecord, ...]:
    """Keep what the steps of a plan are about to replace. Blocking.

    Returns:
        A record for each folder, as if the undo were a turn: what is there now is its ``before``,
        and what is put back its ``after``. Undoing it reverts the undo.
    """
    records: list[TurnRecord] = []
    for folder in dict.fromkeys(each.folder for each in undo.steps):
        steps = [each for each in undo.steps if each.folder == folder]
        with contextlib.suppress(OSError), OpenFolder(folder) as opened:
            before = {each.path: _keep(store, opened, each.path, each.now) for each in steps}
            record = new_record("", 0, folder, time.time_ns())
            records.append(
                replace(
                    record,
                    state="done",
                    before={path: entry for path, entry in before.items() if entry is not None},
                    after={each.path: each.before for each in steps},
                )
            )
    return tuple(records)


def _is_same(one: Entry | None, other: Entry | None) -> bool:
    return other is None if one is None else one.same(other)


def _replace_by_link(target: str, descriptor: int | None, name: str) -> None:
    folder, slash, last = name.rpartition("/")
    temporary = f"{folder}{slash}.{last[:100]}.{secrets.token_hex(6)}.tmp"
    os.symlink(target, temporary, dir_fd=descriptor)
    try:
        os.replace(temporary, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=descriptor)
        raise


def undone(store: UndoStore, records: Sequence[TurnRecord]) -> None:
    """Mark records as undone, so that they are not offered again.

    Raises:
        OSError: One cannot be written.
    """
    for record in records:
        store.records.write(replace(record, state="undone"))
