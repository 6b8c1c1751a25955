"""The tool interface, and the environment of tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_desktop.agent.types import CancelSignal
from hermes_desktop.core.clock import Clock
from hermes_desktop.state import SessionDB

if TYPE_CHECKING:
    from hermes_desktop.agent.sandbox.grants import Access
    from hermes_desktop.agent.sandbox.sandbox import Sandbox
    from hermes_desktop.agent.tools.asking.approvals import ApprovalGate
    from hermes_desktop.agent.tools.asking.clarify import UserQuestions
    from hermes_desktop.agent.tools.processes.process_table import ProcessTable
    from hermes_desktop.agent.tools.work_folder import WorkFolder
    from hermes_desktop.agent.undo.turn_undo import TurnUndo

Arguments = Mapping[str, Any]
Answer = Mapping[str, Any]
"""The answer of a tool for the model: names and plain values. ``error`` marks a failure."""
STOPPED = "The user stopped this before it finished. What it did until then remains."


class ToolError(Exception):
    """A tool failed; the message is for the model."""


@dataclass(frozen=True, slots=True)
class ToolSetup:
    """What tools work with, the same for the life of an agent.

    Attributes:
        cwd: The working folder; relative paths start here.
        roots: Folders in which files may be read and written without approval.
        home: The Hermes home.
        user_home: The user's home folder.
        store: The store of the conversations.
        environ: The environment of started programs; without secrets.
        sandbox: Where they run.
        clean: Removes secrets from text.
        terminal_timeout_s: The default time-out of a command.
        asker: Asks the user; None: the user cannot be asked.
        memory_approval: Changes of the memory need the user's approval.
        keep_grant: Writes to the settings what the user grants to commands permanently; raises
            HermesError. None: nothing can be kept.
        folder: What ``cwd`` is; None: a folder that is known to exist.
        processes: The background processes; None: there are none.
    """

    cwd: Path
    roots: tuple[Path, ...]
    home: Path
    user_home: Path
    store: SessionDB
    clock: Clock
    environ: Mapping[str, str]
    clean: Callable[[str], str]
    sandbox: "Sandbox"
    terminal_timeout_s: float = 180.0
    asker: "UserQuestions | None" = None
    processes: "ProcessTable | None" = None
    memory_approval: bool = False
    keep_grant: "Callable[[Access], object] | None" = None
    folder: "WorkFolder | None" = None

    def require_folder(self, tool: "Tool") -> None:
        """Make sure that a tool has a folder to work in, if it needs one. Blocking.

        Raises:
            ToolError: There is none.
        """
        if self.folder is not None and tool.toolset in {"file", "terminal"} and tool.in_folder:
            self.folder.require()


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of one call.

    Attributes:
        gate: Decides on possibly harmful actions.
        cancel: Set when the user stops the turn: end within a fraction of a second.
        notes: What tools remember of this session as long as the program runs.
        undo: Keeps what the turn is about to change; None: it cannot be undone.
    """

    setup: ToolSetup
    gate: "ApprovalGate"
    session_id: str
    cancel: CancelSignal
    notes: dict[str, Any] = field(default_factory=dict)
    undo: "TurnUndo | None" = None

    def before_command(self) -> None:
        """Keep what is in the working folder, before a program may change it. Blocking.

        Raises:
            ToolError: The turn was stopped.
        """
        if self.undo is not None:
            self.undo.before_command(self.setup.cwd, self.cancel.is_set)
        if self.cancel.is_set():
            raise ToolError(STOPPED)

    def before_write(self, path: Path) -> None:
        """Keep a file before a tool changes it. Blocking."""
        if self.undo is not None:
            self.undo.before_write(path, self.setup.cwd)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model can call.

    Attributes:
        name: Its name for the model.
        toolset: The group by which it is disabled.
        description: For the model.
        properties: JSON schema of each argument.
        run: Executes it. Blocking, on its own thread; raises :class:`ToolError`.
        required: Required arguments.
        parallel: It changes nothing, so that several may run concurrently.
        subject: The argument that names what it works on, for a line in the window.
        in_folder: Whether it works in the working folder, as those for files and commands do.
    """

    name: str
    toolset: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    run: Callable[[Arguments, ToolContext], Answer]
    required: tuple[str, ...] = ()
    parallel: bool = False
    subject: str = ""
    in_folder: bool = True

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {name: dict(each) for name, each in self.properties.items()},
            "required": list(self.required),
        }

    def definition(self) -> dict[str, Any]:
        """Return the tool in the format of the API."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.schema(),
        }
        return {"type": "function", "function": function}
