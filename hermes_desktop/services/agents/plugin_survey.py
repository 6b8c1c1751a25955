"""The plugins, event hooks and shell hooks of a home, and the user's consent to run each."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.core.clock import Clock
from hermes_desktop.core.errors import ConfigError, NotFoundError, RefusedError
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.plugins import discovery
from hermes_desktop.plugins.consents import (
    ALLOWLIST,
    Consent,
    ConsentFile,
    Standing,
    anything_answered,
    consent_state,
)
from hermes_desktop.plugins.contents import digest_of
from hermes_desktop.plugins.discovery import Found
from hermes_desktop.plugins.shell_hooks import (
    ShellHook,
    is_as_allowed,
    parse_shell_hooks,
    read_allowlist,
)
from hermes_desktop.settings.config_file import read_config

PluginStanding = Literal["enabled", "not enabled", "changed", "not usable"]
_WORDS: Mapping[Standing, PluginStanding] = {
    "given": "enabled",
    "refused": "not enabled",
    "none": "not enabled",
    "changed": "changed",
}


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """One plugin, event hook or shell hook.

    Attributes:
        key: Its identifier.
        kind: ``plugin`` (a folder), ``package``, ``hook`` (an event hook) or ``shell``.
        path: Its path; the command of a shell hook.
        standing: ``changed``: it was enabled and was modified since.
        reason: Why it is not usable, or a remark on it.
        hooks: The hooks that it declares.
        files: Its files with their sizes.
        changed: Files that were modified since it was enabled.
        later: Modules that parts of it need and that are missing.
    """

    key: str
    kind: Literal["plugin", "package", "hook", "shell"]
    name: str
    path: str
    standing: PluginStanding
    reason: str = ""
    version: str = ""
    description: str = ""
    author: str = ""
    hooks: tuple[str, ...] = ()
    files: tuple[tuple[str, int], ...] = ()
    changed: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    digest: str = ""
    digests: Mapping[str, str] | None = None
    found: Found | None = None
    shell: ShellHook | None = None

    @property
    def runs(self) -> bool:
        """Whether it is to be run."""
        return self.standing == "enabled"


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of one survey."""

    entries: tuple[PluginEntry, ...] = ()
    warnings: tuple[str, ...] = ()


class PluginSurvey:
    """Lists plugins, and stores the user's consents. Blocking; runs nothing of what it lists.

    Args:
        paths: The home.
        clock: The clock that dates the consents.
    """

    def __init__(self, paths: HermesPaths, clock: Clock) -> None:
        self._paths = paths
        self._clock = clock
        self._consents = ConsentFile(paths.desktop_dir)

    def look(self) -> Survey:
        """Return all plugins and hooks of the home.

        Raises:
            ConfigError: The consents cannot be read.
        """
        consents = self._consents.read()
        return self._survey(consents, lambda _key: True, ["package:"])

    def look_at_answered(self) -> Survey:
        """Return those that the user made a decision about; the others are not even read.

        Raises:
            ConfigError: As in :meth:`look`.
        """
        if not anything_answered(self._paths.home, self._paths.desktop_dir):
            return Survey()
        consents = self._consents.read()
        return self._survey(consents, consents.__contains__, consents)

    def _survey(
        self,
        consents: Mapping[str, Consent],
        wanted: Callable[[str], bool],
        keys: Collection[str],
    ) -> Survey:
        entries = [_entry(each, consents.get(each.key)) for each in self._found(wanted, keys)]
        hooks, warnings = self._shell_hooks()
        allowed = read_allowlist(self._paths.home / ALLOWLIST) if hooks else {}
        entries += [
            _shell_entry(hook, consents.get(hook.key), allowed, self._paths.home) for hook in hooks
        ]
        return Survey(tuple(entries), tuple(warnings))

    def _shell_hooks(self) -> tuple[list[ShellHook], list[str]]:
        """Return the shell hooks in config.yaml; none while that cannot be read."""
        try:
            return parse_shell_hooks(_read_yaml(self._paths.config_yaml).get("hooks"))
        except ConfigError as error:
            return [], [str(error)]

    def _found(self, wanted: Callable[[str], bool], keys: Collection[str]) -> Iterator[Found]:
        home = self._paths.home
        yield from discovery.find_plugins(home / "plugins", _read_yaml, wanted)
        yield from discovery.find_event_hooks(home / "hooks", _read_yaml, wanted)
        if any(key.startswith("package:") for key in keys):  # searching for them takes a while
            yield from discovery.find_packages(wanted)

    def find(self, key: str) -> PluginEntry:
        """Return the plugin or hook of a key.

        Raises:
            NotFoundError: There is none.
            ConfigError: As in :meth:`look`.
        """
        entries = {each.key: each for each in self.look().entries}
        if key not in entries:
            raise NotFoundError(
                "There is no such plugin.",
                f"“{key}” is not in this home.",
                "List them with `hermes-desktop plugins list`.",
            )
        return entries[key]

    def enable(self, entry: PluginEntry) -> PluginEntry:
        """Enable one from the next start of a program on, as it was when it was surveyed.

        Raises:
            RefusedError: It cannot be used here.
            ConfigError: The consent cannot be stored.
        """
        if entry.standing == "not usable":
            raise RefusedError(
                f"{entry.key} cannot be used here.", entry.reason, "Nothing was changed."
            )
        self._consents.write(self._answer(entry, given=True))
        return replace(entry, standing="enabled", changed=())

    def disable(self, entry: PluginEntry) -> PluginEntry:
        """Disable one from the next start of a program on.

        Raises:
            ConfigError: The consent cannot be stored.
        """
        if entry.kind == "shell":  # the allowlist of the hermes command may include it
            self._consents.write(self._answer(entry, given=False))
        else:
            self._consents.forget(entry.key)
        return replace(entry, standing="not enabled", changed=())

    def _answer(self, entry: PluginEntry, *, given: bool) -> Consent:
        at = self._clock.now().astimezone().isoformat(timespec="seconds")
        return Consent(entry.key, entry.path, entry.digest, given, dict(entry.digests or {}), at)


def _read_yaml(path: Path) -> Mapping[str, Any]:
    return read_config(path).data


def _entry(found: Found, consent: Consent | None) -> PluginEntry:
    contents = found.contents
    standing = _WORDS[consent_state(consent, str(found.path), contents.digest)]
    reason = found.problem
    if not reason and found.needs.later:
        reason = f"Parts of it need {', '.join(found.needs.later)}, which is not available."
    return PluginEntry(
        found.key,
        found.kind,
        found.name,
        str(found.path),
        "not usable" if found.problem and standing != "changed" else standing,
        reason,
        found.version,
        found.description,
        found.author,
        found.hooks,
        tuple(sorted(contents.sizes.items())),
        _differing(consent, contents.files) if standing == "changed" else (),
        found.needs.later,
        contents.digest,
        contents.files,
        found,
    )


def _shell_entry(
    hook: ShellHook,
    consent: Consent | None,
    allowed: Mapping[tuple[str, str], str | None],
    cwd: Path,
) -> PluginEntry:
    digests = hook.contents(cwd)
    digest = digest_of({**digests, "": hook.command})
    standing = consent_state(consent, hook.command, digest)
    words = _WORDS[standing]
    reason = ""
    if consent is None and (hook.event, hook.command) in allowed:
        as_allowed = is_as_allowed(hook, allowed[hook.event, hook.command], cwd)
        words = "enabled" if as_allowed else "changed"
        reason = "It is in the list of the hermes command." if as_allowed else ""
    return PluginEntry(
        hook.key,
        "shell",
        hook.event,
        hook.command,
        words,
        reason,
        description=hook.command,
        hooks=(hook.event,),
        files=tuple((name, _size(name)) for name in sorted(digests)),
        changed=_differing(consent, digests) if words == "changed" else (),
        digest=digest,
        digests=digests,
        shell=hook,
    )


def _differing(consent: Consent | None, now: Mapping[str, str]) -> tuple[str, ...]:
    before: Mapping[str, str] = consent.files if consent is not None else {}
    names: Collection[str] = {*before, *now}
    return tuple(sorted(name for name in names if before.get(name) != now.get(name)))


def _size(name: str) -> int:
    try:
        return Path(name).stat().st_size
    except OSError:
        return 0
