"""Shell hooks: programs from ``hooks:`` in config.yaml that exchange JSON with this program."""

import hashlib
import json
import logging
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_desktop.core.processes.child_process import Ended, run_bounded
from hermes_desktop.core.processes.clean_environment import without_secrets
from hermes_desktop.plugins.hooks import HOOKS

log = logging.getLogger(__name__)

TIMEOUT_S = 60.0
LONGEST_S = 300.0
MOST_OUTPUT = 65_536
MOST_CONTEXT = 20_000
_MOST_GIVEN = 4_000_000
_MOST_SCRIPT = 16_000_000
_SYSTEM = ("/bin/", "/lib/", "/sbin/", "/usr/")
_TOOL_HOOKS = frozenset(name for name in HOOKS if "tool" in name)
_APART = frozenset({"tool_name", "args", "session_id"})


@dataclass(frozen=True, slots=True)
class ShellHook:
    """One program and the hook it is called for.

    Attributes:
        event: The hook.
        command: The command from config.yaml; it is not run by a shell.
        matcher: A pattern for the whole name of the tools it is for, None for all.
        timeout_s: Its time limit.
    """

    event: str
    command: str
    matcher: re.Pattern[str] | None = None
    timeout_s: float = TIMEOUT_S

    @property
    def key(self) -> str:
        """Its identifier among plugins."""
        return f"shell:{self.event}:{hashlib.sha256(self.command.encode()).hexdigest()[:8]}"

    def words(self) -> list[str]:
        """Return program and arguments; a leading ``~`` in each means the user's home.

        Raises:
            ValueError: A quotation mark is not closed, or the command is empty.
        """
        words = [
            str(Path(w).expanduser()) if w.startswith("~") else w for w in shlex.split(self.command)
        ]
        if not words:
            raise ValueError("it is empty")
        return words

    def scripts(self, cwd: Path) -> list[Path]:
        """Return the files that the command names, except those of the system. Blocking.

        Args:
            cwd: The folder in which it runs.
        """
        try:
            words = self.words()
            found = shutil.which(words[0]) if "/" not in words[0] else words[0]
            files = [cwd / word for word in [*filter(None, [found]), *words[1:]]]
            return [file for file in files if not str(file).startswith(_SYSTEM) and file.is_file()]
        except (ValueError, OSError, RuntimeError):
            return []

    def contents(self, cwd: Path) -> dict[str, str]:
        """Return digests of those files. Blocking. Args as in :meth:`scripts`."""
        digests = {}
        for file in self.scripts(cwd):
            try:
                big = file.stat().st_size > _MOST_SCRIPT
                data = str(file.stat()).encode() if big else file.read_bytes()
            except OSError:
                data = b""
            digests[str(file)] = hashlib.sha256(data).hexdigest()
        return digests

    def fits(self, tool_name: object) -> bool:
        """Return whether it applies to a tool."""
        return self.matcher is None or bool(self.matcher.fullmatch(str(tool_name)))


def parse_shell_hooks(section: object) -> tuple[list[ShellHook], list[str]]:
    """Parse ``hooks:``; invalid entries are left out and listed as warnings."""
    hooks: list[ShellHook] = []
    warnings: list[str] = []
    if section in (None, {}):
        return hooks, warnings
    if not isinstance(section, Mapping):
        return hooks, ["hooks in config.yaml is not a group of events and is ignored."]
    for event, entries in section.items():
        if event not in HOOKS:
            warnings.append(f"hooks.{event} in config.yaml is not a hook of this version.")
            continue
        for number, entry in enumerate(entries if isinstance(entries, list) else [entries], 1):
            try:
                hooks.append(_parse(str(event), entry))
            except (ValueError, TypeError, re.error) as error:
                warnings.append(f"hooks.{event}, entry {number} in config.yaml: {error}.")
    return _unique(hooks), warnings


def _parse(event: str, entry: object) -> ShellHook:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("command"), str):
        raise TypeError("it has no command")
    command = entry["command"].strip()
    timeout = entry.get("timeout", TIMEOUT_S)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise ValueError("its timeout is not a number of seconds")
    matcher = entry.get("matcher")
    pattern = None
    if matcher is not None and event in _TOOL_HOOKS:
        pattern = re.compile(str(matcher))
    hook = ShellHook(event, command, pattern, min(float(timeout), LONGEST_S))
    hook.words()
    return hook


def _unique(hooks: list[ShellHook]) -> list[ShellHook]:
    seen: dict[tuple[str, str, str], ShellHook] = {}
    for hook in hooks:
        matcher = hook.matcher.pattern if hook.matcher is not None else ""
        seen.setdefault((hook.event, hook.command, matcher), hook)
    return list(seen.values())


# ------------------------------------------------------------ the allowlist of the hermes command


def read_allowlist(path: Path) -> dict[tuple[str, str], str | None]:
    """Return the approvals of the ``hermes`` command: script date by event and command.

    A list that is missing or cannot be parsed allows nothing. Blocking.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        items = data["approvals"]
        return {
            (each["event"], each["command"]): each.get("script_mtime_at_approval")
            for each in items
            if isinstance(each, dict) and {"event", "command"} <= each.keys()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        log.warning("%s cannot be understood and allows nothing", path)
        return {}


def is_as_allowed(hook: ShellHook, mtime: str | None, cwd: Path) -> bool:
    """Return whether a hook's script still has the date it had when it was approved. Blocking."""
    scripts = hook.scripts(cwd)
    return not scripts or mtime in set(_dates(scripts))


def _dates(files: list[Path]) -> Iterator[str]:
    for file in files:
        moment = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        yield moment.isoformat().replace("+00:00", "Z")


# --------------------------------------------------------------------------------------- running


class ShellHookCall:
    """The callback of one shell hook. Blocks; any thread.

    Args:
        hook: The hook.
        environ: The process environment; secrets in it are left out.
        cwd: The folder in which it runs.
        clean: Removes secrets from text.
        given_up: Polled while it runs; True ends the program.
        agreed: Digests of its files as approved; None: not checked. If they differ, it is not run:
            a script may be changed while this program runs.
    """

    def __init__(
        self,
        hook: ShellHook,
        environ: Mapping[str, str],
        cwd: Path,
        clean: Callable[[str], str] = lambda text: text,
        given_up: Callable[[], bool] = lambda: False,
        agreed: Mapping[str, str] | None = None,
    ) -> None:
        self.__qualname__ = hook.command[:80]  # its name in the log
        self._hook = hook
        self._environ = environ
        self._cwd = cwd
        self._clean = clean
        self._given_up = given_up
        self._agreed = agreed

    def __call__(self, **given: Any) -> dict[str, str] | None:
        """Run the program and return what its answer means for the hook."""
        hook = self._hook
        if not hook.fits(given.get("tool_name", "")):
            return None
        if self._agreed is not None and hook.contents(self._cwd) != self._agreed:
            log.warning("%s was changed since it was enabled and is not run", hook.key)
            return None
        ended = run_bounded(
            hook.words(),
            environ=without_secrets(self._environ, self._clean),
            cwd=self._cwd,
            timeout_s=hook.timeout_s,
            most_bytes=MOST_OUTPUT,
            given=told(hook.event, given, self._cwd),
            given_up=self._given_up,
        )
        if ended.timed_out:
            log.error("%s did not end within %g s and was ended", hook.key, hook.timeout_s)
            return None
        if ended.code:
            said = ended.err.decode("utf-8", "replace").strip()[:500]
            log.warning("%s ended with %d: %s", hook.key, ended.code, said)
        return parse_answer(hook.event, ended)


def told(event: str, given: Mapping[str, Any], cwd: Path) -> bytes:
    """Return the JSON that a program reads from standard input."""
    arguments = given.get("args")
    payload = {
        "hook_event_name": event,
        "tool_name": given.get("tool_name"),
        "tool_input": arguments if isinstance(arguments, dict) else None,
        "session_id": str(given.get("session_id") or ""),
        "cwd": str(cwd),
        "extra": {name: value for name, value in given.items() if name not in _APART},
    }
    text = json.dumps(payload, ensure_ascii=False, default=str)
    if len(text) > _MOST_GIVEN:  # a very long conversation
        payload["extra"] = {
            name: value
            for name, value in given.items()
            if name not in _APART and isinstance(value, bool | int | float)
        }
        text = json.dumps(payload, default=str)
    return text.encode("utf-8", "replace")


def parse_answer(event: str, ended: Ended) -> dict[str, str] | None:
    """Parse the output of a program; None when it has no effect."""
    text = ended.out.decode("utf-8", "replace").strip()
    if not text or ended.cut:
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    if event == "pre_tool_call" and "block" in (said.get("decision"), said.get("action")):
        reason = said.get("reason") or said.get("message") or "A hook does not allow it."
        return {"action": "block", "message": str(reason)}
    context = said.get("context")
    if event == "pre_llm_call" and isinstance(context, str) and context.strip():
        return {"context": context[:MOST_CONTEXT]}
    return None
