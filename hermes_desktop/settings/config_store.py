"""Safe changes of config.yaml: locked, compared with the data seen, former versions kept.

The lock excludes other processes of this program. Other programs do not know it; if they write
between reading and replacing, that is detected, and the change is applied again to the new content.
"""

import contextlib
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import NotFoundError, RefusedError
from hermes_desktop.core.files import file_lock
from hermes_desktop.core.files.atomic_files import make_private_folder
from hermes_desktop.settings.cached_file import CachedFile
from hermes_desktop.settings.config_file import (
    read_settings_bytes,
    read_settings_text,
    settings_text,
)
from hermes_desktop.settings.config_patch import Edit, PatchResult, patch_config, value_at
from hermes_desktop.settings.config_versions import ConfigVersions, Version
from hermes_desktop.settings.safe_replacement import (
    TRIES,
    ConcurrentWriteError,
    SharedFile,
    busy_error,
    unwritable,
)
from hermes_desktop.settings.secret_masking import masked_config
from hermes_desktop.settings.yaml_tree import ConfigText
from hermes_desktop.settings.yaml_values import same

MOST_CHANGED = 200_000
"""Maximum number of characters of a file in which values are changed."""
_BOM = "\ufeff".encode()
_NOT_COMPARED = "The file is too large to compare; it is replaced as a whole.\n"


class ChangedElsewhereError(RefusedError):
    """The same setting was changed elsewhere since it was read.

    Attributes:
        key: The setting, with dots.
    """

    def __init__(self, key: str, path: Path) -> None:
        super().__init__(
            f"“{key}” was changed by another program.",
            f"{path} has a different value now; nothing was written.",
            "Check the new value, then change it again.",
        )
        self.key = key


@dataclass(frozen=True, slots=True)
class Seen:
    """The value shown to the user at a path: whether it existed, and its value."""

    path: tuple[str, ...]
    present: bool
    value: Any = None


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a change.

    Attributes:
        diff: The difference, secrets hidden; "" when nothing changed.
        notes: Further notices.
    """

    diff: str
    notes: tuple[str, ...] = ()


class ConfigStore:
    """One settings file. All methods block; any thread.

    Args:
        file: config.yaml, or a settings file of this program in the same format.
        folder: The folder of this program, for lock and versions; created (0700) on first use.
        clock: Determines the names of the versions.
        managed: Why this program may not write the file, as a sentence; "" when it may.
        versions: Whether former contents are kept.
        cached: The file, where others read it, too.
        wait: Blocks the calling thread for that many seconds; None: waits on an event that is never
            set.
    """

    def __init__(  # noqa: PLR0913 - what two files have in common
        self,
        file: Path,
        folder: Path,
        clock: Clock,
        *,
        managed: str = "",
        versions: bool = True,
        cached: CachedFile[ConfigText] | None = None,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.file = file
        self.managed = managed
        self._folder = folder
        self._versions = (
            ConfigVersions(folder / "config-versions", clock, file.name) if versions else None
        )
        self._careful = SharedFile(file, clock, wait)
        self._cached = cached or CachedFile(file, lambda data: ConfigText.of_bytes(data, file))
        self._patched: _Patched | None = None
        self._last: tuple[bytes | None, bytes] | None = None

    def wait_until_settled(self) -> None:
        """Wait, at most some seconds, while another program writes the file in place."""
        self._careful.settle()

    def read(self) -> ConfigText:
        """Return the content; it is read again only if the file changed.

        Raises:
            ConfigError: It cannot be read or parsed.
        """
        config = self._cached.read()
        _ = config.values  # raises if it cannot be parsed
        return config

    def preview(self, edits: Sequence[Edit]) -> Written:
        """Return what :meth:`save` would do; writes nothing and is allowed in a managed home.

        Raises:
            ConfigError: The file cannot be parsed.
            CannotPatchError: Its format does not allow the change.
        """
        patched = self._patch(self.read(), edits)
        return Written(patched.diff, patched.after.notes)

    def save(self, edits: Sequence[Edit], seen: Sequence[Seen] = ()) -> Written:
        """Change values.

        Args:
            edits: The changes.
            seen: The values the user saw; if one of them has changed since, nothing is written.

        Raises:
            RefusedError: The home is managed.
            ChangedElsewhereError: A value differs from the one seen.
            ConfigError: The file cannot be parsed or written.
            CannotPatchError: Its format does not allow the change.
            BusyError: Another program writes it all the time.
        """
        self._must_be_ours()
        with self._locked():
            for _ in range(TRIES):
                old = self._careful.read()
                config = self._cached.parsed(old)
                self._must_be_quick(config.text)
                for each in seen:
                    self._must_be_as_seen(each, config.values)
                patched = self._patch(config, edits)
                self._last = None
                if patched.after.text == config.text:
                    return Written("", patched.after.notes)
                new = patched.after.text.encode()
                new = _BOM + new if (old or b"").startswith(_BOM) else new
                with contextlib.suppress(ConcurrentWriteError):
                    self._replace(old, new)
                    self._cached.remember(new, patched.after.config)
                    return Written(patched.diff, patched.after.notes)
        raise busy_error(self.file)

    def take_back(self) -> None:
        """Undo the last :meth:`save`, which was part of an operation that failed.

        Changes that another program has written since are kept.

        Raises:
            ConfigError: The file cannot be written.
        """
        if self._last is None:
            return
        (old, new), self._last = self._last, None
        with self._locked(), contextlib.suppress(ConcurrentWriteError):
            try:
                if old is None:
                    self._careful.remove(new)
                else:
                    self._careful.replace(old, new)
            except OSError as error:
                raise unwritable(self.file, error) from error
            if self._versions is not None and old is not None:
                self._versions.delete_newest(old)

    def stands(self) -> bool:
        """Return whether the file is unchanged since the last :meth:`save`."""
        return self._last is None or self._present() == self._last[1]

    def versions(self) -> list[Version]:
        """Return former contents, the newest first."""
        return self._versions.all() if self._versions is not None else []

    def find_version(self, name: str) -> Version:
        """Return a version by its number or name.

        Raises:
            NotFoundError: There is none.
        """
        if self._versions is None:
            raise NotFoundError(f"There are no versions of {self.file.name}.")
        return self._versions.find(name)

    def diff_to(self, version: Version) -> str:
        """Return the difference from a version to the current content, secrets hidden.

        Raises:
            ConfigError: One of them cannot be read.
        """
        before = read_settings_text(version.path) or ""
        return self._diff(ConfigText(before, version.path), self._any_text(self._present()))

    def restore(self, version: Version, *, dry_run: bool = False) -> Written:
        """Restore a former content as a whole; the current content becomes a version.

        The current content may be anything: former versions exist to replace an invalid file.

        Raises:
            RefusedError: The home is managed.
            ConfigError: The old one cannot be read or parsed, or nothing can be written.
            BusyError: Another program writes the file all the time.
        """
        back = read_settings_bytes(version.path) or b""
        old = ConfigText.of_bytes(back, version.path)
        _ = old.values  # raises if it cannot be parsed
        found = Written(self._diff(self._any_text(self._present()), old))
        if dry_run or not found.diff:
            return found
        self._must_be_ours()
        with self._locked():
            for _ in range(TRIES):
                with contextlib.suppress(ConcurrentWriteError):
                    self._replace(self._present(), back)
                    return found
        raise busy_error(self.file)

    def read_text(self) -> str:
        """Return the text alone; "" when there is no file. Raises the same as :meth:`read`."""
        return read_settings_text(self.file) or ""

    def forget_values(self, values: AbstractSet[str]) -> None:
        """Remove secrets that were moved elsewhere from the versions.

        Raises:
            ConfigError: A version cannot be written.
        """
        if self._versions is not None:
            with self._locked():
                self._versions.forget_values(values)

    # ------------------------------------------------------------------------------- writing

    def _must_be_ours(self) -> None:
        if self.managed:
            raise RefusedError(
                f"{self.file.name} is not written, because this home is managed.",
                self.managed,
                "Change it where the home is managed.",
            )

    def _patch(self, config: ConfigText, edits: Sequence[Edit]) -> "_Patched":
        """Change the text; what was previewed is not done twice."""
        known = self._patched
        if known is None or known.config is not config or known.edits is not edits:
            self._must_be_quick(config.text)
            after = patch_config(config, edits)
            known = _Patched(config, edits, after, self._diff(config, after.config))
            self._patched = known
        return known

    def _must_be_quick(self, text: str) -> None:
        if len(text) > MOST_CHANGED:
            raise RefusedError(
                f"{self.file.name} is too large to be changed here.",
                f"{self.file} has {len(text) / 1e6:.1f} million characters; finding a "
                "value in it would take a minute.",
                "Change it in an editor, or remove everything that is not a setting.",
            )

    def _must_be_as_seen(self, seen: Seen, data: Mapping[str, Any]) -> None:
        present, value = value_at(data, seen.path)
        if present != seen.present or (present and not same(value, seen.value)):
            raise ChangedElsewhereError(".".join(seen.path), self.file)

    def _present(self) -> bytes | None:
        """Return the current content, of any kind and size; None when there is no file."""
        try:
            if self.file.exists() and not self.file.is_file():
                return read_settings_bytes(self.file)  # raises the appropriate error
            return self.file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unwritable(self.file, error) from error

    def _any_text(self, data: bytes | None) -> ConfigText:
        return ConfigText(settings_text(data or b"", self.file, errors="replace"), self.file)

    def _replace(self, old: bytes | None, new: bytes) -> None:
        """Write the file after its content was kept as a version; otherwise write nothing.

        Raises:
            ConcurrentWriteError: The content has changed since.
            ConfigError: It cannot be written; nothing changed then.
        """
        kept: Path | None = None
        if old is not None and self._versions is not None:
            try:
                kept = self._versions.keep(old)
            except OSError as error:
                raise unwritable(self.file, error, self._versions.folder) from error
        try:
            self._careful.replace(new, old)
        except BaseException as error:
            if kept is not None:
                kept.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise unwritable(self.file, error) from error
            raise
        self._last = (old, new)
        if self._versions is not None:
            self._versions.forget_oldest()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                make_private_folder(self._folder.parent)
                make_private_folder(self._folder, parents=False)
                lock = self._folder / f"{self.file.stem}.lock"
                stack.enter_context(file_lock.hold(lock))
            except OSError as error:
                raise unwritable(self._folder, error) from error
            yield

    def _diff(self, old: ConfigText, new: ConfigText) -> str:
        """Return the difference for the user, without line endings and with secrets hidden."""
        before, after = old.text, new.text
        if before == after:
            return ""
        if max(len(before), len(after)) > MOST_CHANGED:
            return _NOT_COMPARED
        lines = difflib.unified_diff(
            masked_config(old).splitlines(),
            masked_config(new).splitlines(),
            f"{self.file.name} (before)",
            f"{self.file.name} (after)",
            lineterm="",
        )
        return "".join(f"{line}\n" for line in lines) or "Only secrets or line endings differ.\n"


@dataclass(frozen=True, slots=True)
class _Patched:
    """What changes make of a content, with the difference for the user."""

    config: ConfigText
    edits: Sequence[Edit]
    after: PatchResult
    diff: str
