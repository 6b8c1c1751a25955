"""User-defined commands from ``quick_commands`` in config.yaml: shell commands and aliases."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hermes_desktop.commands.registry import CommandDef
from hermes_desktop.core.processes.child_process import Ended, run_bounded
from hermes_desktop.core.processes.clean_environment import without_secrets
from hermes_desktop.core.text.escape_sequences import without_escape_sequences

log = logging.getLogger(__name__)

QUICK_S = 30.0
MOST_BYTES = 16_000
MOST_CHARACTERS = 3_500
_NAME = re.compile(r"[^\s/\x00-\x1f\x7f]+")
"""A name that can be typed after a slash."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class QuickCommand:
    """A user-defined command.

    Attributes:
        name: In lower case, without a slash.
        kind: ``exec`` for the shell, ``alias`` for another command.
        does: The shell command, or the other command with its arguments.
    """

    name: str
    kind: Literal["exec", "alias"]
    does: str
    description: str = ""

    def definition(self) -> CommandDef:
        """Return the definition for a list of commands; it does not reveal the shell command."""
        words = self.description or (
            f"the same as /{self.does.lstrip('/')}" if self.kind == "alias" else "a custom command"
        )
        return CommandDef(self.name, words, "Added")


def quick_commands(section: Mapping[str, Any]) -> dict[str, QuickCommand]:
    """Return all valid commands by name, sorted; of several entries of a name the first counts."""
    found: dict[str, QuickCommand | None] = {}
    for key, entry in section.items():
        name = _name(key)
        if isinstance(entry, Mapping) and _NAME.fullmatch(name):
            found.setdefault(name, _command(name, entry))
    return {name: command for name, command in sorted(found.items()) if command is not None}


def _command(name: str, entry: Mapping[str, Any]) -> QuickCommand | None:
    kind = entry.get("type")
    does = entry.get("command" if kind == "exec" else "target")
    if kind not in {"exec", "alias"} or not isinstance(does, str) or not does.strip():
        return None
    about = entry.get("description")
    words = " ".join(about.split())[:200] if isinstance(about, str) else ""
    return QuickCommand(name, kind, does.strip(), words)


def _name(key: object) -> str:
    return str(key).strip().lstrip("/").lower()


@dataclass(frozen=True, slots=True)
class QuickRunner:
    """Runner of the shell commands.

    Attributes:
        environ: The process environment; secrets in it are left out.
        cwd: The working directory.
        clean: Removes secrets from the output.
        secrets: Returns further secrets, as of now; called on the thread of a command.
    """

    environ: Mapping[str, str]
    cwd: Path
    clean: Callable[[str], str] = lambda text: text
    secrets: Callable[[], Iterable[str]] = tuple

    def run(self, command: QuickCommand, given_up: Callable[[], bool] = lambda: False) -> str:
        """Run a command and return its output. Blocks, for up to :data:`QUICK_S`.

        Arguments typed after the command do not reach the shell.
        """
        try:
            ended = run_bounded(
                command.does,
                environ=without_secrets(self.environ, self.clean),
                cwd=self.cwd,
                timeout_s=QUICK_S,
                most_bytes=MOST_BYTES,
                given_up=given_up,
            )
        except (OSError, ValueError) as error:  # the latter: it contains a NUL
            log.warning("The command %s cannot be started: %s", command.name, error)
            return f"/{command.name} cannot be started."
        return self._words(command, ended, left=given_up())

    def _words(self, command: QuickCommand, ended: Ended, *, left: bool) -> str:
        text = "\n".join(filter(None, (self._text(ended.out), self._text(ended.err))))
        cut = ended.cut or len(text) > MOST_CHARACTERS
        remarks = []
        if ended.timed_out and left:
            remarks.append("It was stopped.")
        elif ended.timed_out:
            remarks.append(f"It took longer than {QUICK_S:g} seconds and was stopped.")
        elif ended.code and not ended.cut:
            remarks.append(f"It ended with exit code {ended.code}.")
        if cut:
            remarks.append("The rest of the output is not shown.")
        if not text and not remarks:
            return f"/{command.name} is done; it printed nothing."
        return "\n".join(filter(None, [text[:MOST_CHARACTERS].rstrip(), *remarks]))

    def _text(self, data: bytes) -> str:
        text = without_escape_sequences(data.decode("utf-8", "replace").replace("\r\n", "\n"))
        text = _CONTROLS.sub("\ufffd", text)
        for secret in sorted(self.secrets(), key=len, reverse=True):
            text = text.replace(secret, "[secret]")
        return self.clean(text).strip()
