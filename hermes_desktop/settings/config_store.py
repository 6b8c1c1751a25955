"""config.yaml changed safely: under a lock, against what was seen, with the versions before kept.

The lock keeps our own processes apart. Others do not know it; what they wrote between reading and
replacing is noticed, and the change is made anew on what they left.
"""

import contextlib
import difflib
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_desktop.core import file_lock
from hermes_desktop.core.atomic_files import write_text_atomic
from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import BusyError, ConfigError, NotFoundError, RefusedError
from hermes_desktop.settings.config_file import parse_config, read_settings_text
from hermes_desktop.settings.config_patch import Edit, patch_text, value_at
from hermes_desktop.settings.secret_marks import masked, without_values
from hermes_desktop.settings.yaml_values import same

KEPT = 5
MOST_CHANGED = 200_000
"""Characters of a file that values are changed in."""
_TRIES = 5
_BOM = "\ufeff"


class ChangedElsewhereError(RefusedError):
    """Somebody else changed the same setting since it was looked at.

    Attributes:
        key: Which, with dots.
    """

    def __init__(self, key: str, path: Path) -> None:
        super().__init__(
            f"“{key}” was changed by somebody else meanwhile.",
            f"{path} no longer holds what you saw; nothing was written.",
            "Look at it again, then change it.",
        )
        self.key = key


@dataclass(frozen=True, slots=True)
class Seen:
    """What stood at a place when a person looked: whether anything, and what."""

    path: tuple[str, ...]
    present: bool
    value: Any = None


@dataclass(frozen=True, slots=True)
class Written:
    """What a change did.

    Attributes:
        diff: The difference, secrets hidden; "" when nothing changed.
        notes: What else is to be said.
    """

    diff: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """A former content of the file.

    Attributes:
        number: 1 is the newest.
        name: The file's name, without its folder.
        time: When it was replaced, seconds since the epoch.
    """

    number: int
    name: str
    time: float
    path: Path


class ConfigStore:
    """One settings file. All of it blocks; any thread.

    Args:
        file: config.yaml, or one of our own in its way.
        folder: Ours, for lock and versions; made (0700) when first needed.
        clock: Names the versions.
        managed: Why the file is not ours to write, as a sentence; "" when it is.
        versions: Whether former contents are kept.
    """

    def __init__(
        self,
        file: Path,
        folder: Path,
        clock: Clock,
        *,
        managed: str = "",
        versions: bool = True,
    ) -> None:
        self.file = file
        self.managed = managed
        self._folder = folder
        self._clock = clock
        self._keeps = versions

    def read(self) -> tuple[str, dict[str, Any]]:
        """The text without its byte-order mark, and what it says.

        Raises:
            ConfigError: It cannot be read or understood.
        """
        text = read_settings_text(self.file) or ""
        return text, parse_config(text, self.file)

    def preview(self, edits: Sequence[Edit]) -> Written:
        """What :meth:`save` would do; writes nothing and may be asked in a managed home.

        Raises:
            ConfigError: The file cannot be understood.
            CannotPatchError: It is written in a way that cannot be changed so.
        """
        text, _ = self.read()
        self._must_be_quick(text)
        patched = patch_text(text, edits, self.file)
        return Written(self._diff(text, patched.text), patched.notes)

    def save(self, edits: Sequence[Edit], seen: Sequence[Seen] = ()) -> Written:
        """Change values.

        Args:
            edits: The changes.
            seen: What the person saw; where that is no longer so, nothing is written.

        Raises:
            RefusedError: The home is managed.
            ChangedElsewhereError: A value is not what was seen.
            ConfigError: The file cannot be understood or written.
            CannotPatchError: It is written in a way that cannot be changed so.
            BusyError: Somebody else writes it all the time.
        """
        self._must_be_ours()
        with self._locked():
            for _ in range(_TRIES):
                raw = self._raw()
                text, data = self.read()
                self._must_be_quick(text)
                for each in seen:
                    self._must_be_as_seen(each, data)
                patched = patch_text(text, edits, self.file)
                if patched.text == text:
                    return Written("", patched.notes)
                if self._raw() != raw:
                    continue
                self._replace(raw, patched.text)
                return Written(self._diff(text, patched.text), patched.notes)
        raise BusyError(
            f"{self.file.name} is being written by somebody else.",
            f"{self.file} changed {_TRIES} times while it was being changed.",
            "Try again in a moment.",
        )

    def versions(self) -> list[Version]:
        """Former contents, the newest first."""
        with contextlib.suppress(OSError):
            files = sorted(self._versions_folder.glob("*.yaml"), reverse=True)
            return [
                Version(number, file.name, _time_of(file), file)
                for number, file in enumerate(files, 1)
            ]
        return []

    def find_version(self, name: str) -> Version:
        """A version by its number or name.

        Raises:
            NotFoundError: There is none.
        """
        for version in self.versions():
            if name in {str(version.number), version.name}:
                return version
        raise NotFoundError(
            f"There is no version “{name}” of {self.file.name}.",
            f"{len(self.versions())} are kept in {self._versions_folder}.",
            "See them with `hermes-desktop config versions`.",
        )

    def diff_to(self, version: Version) -> str:
        """From a version to what stands there now, secrets hidden.

        Raises:
            ConfigError: One of them cannot be read.
        """
        return self._diff(read_settings_text(version.path) or "", self.read_text())

    def restore(self, version: Version, *, dry_run: bool = False) -> Written:
        """Put a former content back, as a whole; what stands there now becomes a version.

        Raises:
            RefusedError: The home is managed.
            ConfigError: One of them cannot be read, or the old one cannot be understood.
        """
        old = read_settings_text(version.path) or ""
        parse_config(old, version.path)
        found = Written(self._diff(self.read_text(), old))
        if dry_run or not found.diff:
            return found
        self._must_be_ours()
        with self._locked():
            self._replace(self._raw(), old)
        return found

    def read_text(self) -> str:
        """The text alone; "" when there is no file. Raises what :meth:`read` does."""
        return read_settings_text(self.file) or ""

    def forget_values(self, values: AbstractSet[str]) -> None:
        """Take secrets that were moved away out of the versions.

        Raises:
            ConfigError: A version cannot be written.
        """
        with self._locked():
            for version in self.versions():
                text = read_settings_text(version.path, errors="replace") or ""
                cleaned = without_values(text, values)
                if cleaned != text:
                    self._write(version.path, cleaned)

    # ------------------------------------------------------------------------------- writing

    @property
    def _versions_folder(self) -> Path:
        return self._folder / "config-versions"

    def _must_be_ours(self) -> None:
        if self.managed:
            raise RefusedError(
                f"{self.file.name} is not written, because this home is managed.",
                self.managed,
                "Change it where the home is managed.",
            )

    def _must_be_quick(self, text: str) -> None:
        if len(text) > MOST_CHANGED:
            raise RefusedError(
                f"{self.file.name} is too large to be changed here.",
                f"{self.file} has {len(text) / 1e6:.1f} million characters; finding the place of "
                "a value in it would take a minute.",
                "Change it in an editor, or take out of it what is no setting.",
            )

    def _must_be_as_seen(self, seen: Seen, data: Mapping[str, Any]) -> None:
        present, value = value_at(data, seen.path)
        if present != seen.present or (present and not same(value, seen.value)):
            raise ChangedElsewhereError(".".join(seen.path), self.file)

    def _raw(self) -> str:
        """A hash of the bytes; "" when there is no file."""
        try:
            return hashlib.sha256(self.file.read_bytes()).hexdigest()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise _unwritable(self.file, error) from error

    def _replace(self, raw: str, text: str) -> None:
        """Write, after what stood there was kept; without that nothing is written."""
        if raw:
            try:
                old = self.file.read_bytes()
                if self._keeps:
                    self._keep(old)
            except OSError as error:
                raise _unwritable(self._versions_folder, error) from error
            if old.startswith(_BOM.encode()):
                text = _BOM + text
        self._write(self.file, text)

    def _keep(self, old: bytes) -> None:
        self._versions_folder.mkdir(mode=0o700, exist_ok=True)
        now = datetime.fromtimestamp(self._clock.time(), UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        number = 0
        while (place := self._versions_folder / f"{now}-{number:03}.yaml").exists():
            number += 1
        self._write(place, old.decode("utf-8", "replace"))
        for version in self.versions()[KEPT:]:
            version.path.unlink(missing_ok=True)

    def _write(self, file: Path, text: str) -> None:
        try:
            write_text_atomic(file, text)
        except OSError as error:
            raise _unwritable(file, error) from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._folder.mkdir(mode=0o700, exist_ok=True)
                lock = self._folder / f"{self.file.stem}.lock"
                stack.enter_context(file_lock.hold(lock))
            except OSError as error:
                raise _unwritable(self._folder, error) from error
            yield

    def _diff(self, before: str, after: str) -> str:
        """For people: line ends alone make no difference there, secrets are hidden."""
        lines = difflib.unified_diff(
            masked(before).splitlines(),
            masked(after).splitlines(),
            f"{self.file.name} (before)",
            f"{self.file.name} (after)",
            lineterm="",
        )
        shown = "".join(f"{line}\n" for line in lines)
        if shown or before == after:
            return shown
        return "Only secrets or line ends differ.\n"


def is_managed(home: Path, environ: Mapping[str, str]) -> str:
    """Why the settings of a home are not ours to write; "" when they are."""
    if environ.get("HERMES_MANAGED", "").strip():
        return "The variable HERMES_MANAGED says so."
    mark = home / ".managed"
    return f"{mark} says so." if os.path.lexists(mark) else ""


def _time_of(file: Path) -> float:
    try:
        stamp = file.name.partition("Z")[0]
        return datetime.strptime(stamp, "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return file.stat().st_mtime


def _unwritable(file: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"{file.name} cannot be written.",
        f"{file}: {error.strerror or type(error).__name__}.",
        "Check the rights of the file and its folder.",
    )
