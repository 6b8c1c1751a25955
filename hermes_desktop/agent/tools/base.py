"""What a tool is, and what it works with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_desktop.agent.types import CancelSignal
from hermes_desktop.core.clock import Clock
from hermes_desktop.state import SessionDB

if TYPE_CHECKING:
    from hermes_desktop.agent.tools.asking.approvals import ApprovalGate
    from hermes_desktop.agent.tools.asking.clarify import PersonAsker
    from hermes_desktop.agent.tools.processes.process_table import ProcessTable

Arguments = Mapping[str, Any]
Answer = Mapping[str, Any]
"""What a tool tells the model: names and plain values. ``error`` says that it did not work."""
STOPPED = "The person stopped this before it was over. What it did until then stands."


class ToolError(Exception):
    """A tool could not do it; the words are for the model."""


@dataclass(frozen=True, slots=True)
class ToolSetup:
    """What tools work with, the same for the life of an agent.

    Attributes:
        cwd: The folder of the work; relative paths begin here.
        roots: Folders in which files may be read and written without asking.
        home: The Hermes home.
        user_home: The person's home folder.
        store: The conversations.
        environ: What programs get; without secrets.
        clean: Takes secrets out of text.
        terminal_timeout_s: How long a command may take unless it says otherwise.
        asker: Asks a person; None: nobody can be asked.
        memory_approval: What is to be remembered waits for the person's word.
        processes: What runs in the background; None: nothing does.
    """

    cwd: Path
    roots: tuple[Path, ...]
    home: Path
    user_home: Path
    store: SessionDB
    clock: Clock
    environ: Mapping[str, str]
    clean: Callable[[str], str]
    terminal_timeout_s: float = 180.0
    asker: "PersonAsker | None" = None
    processes: "ProcessTable | None" = None
    memory_approval: bool = False


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool gets for one call.

    Attributes:
        gate: Whoever must be asked before something that may do harm.
        cancel: Set when the person stops the turn: end within a fraction of a second.
        notes: What tools remember of this session as long as the program runs.
    """

    setup: ToolSetup
    gate: "ApprovalGate"
    session_id: str
    cancel: CancelSignal
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool:
    """One thing that the model may have done.

    Attributes:
        name: As the model calls it.
        toolset: The group by which it is switched off.
        description: For the model.
        properties: JSON schema of each argument.
        run: Does it. Blocking, on a thread of its own; raises :class:`ToolError`.
        required: Arguments that must be there.
        parallel: It changes nothing, so that several may run at once.
        subject: The argument that says what it works on, for a line in the window.
    """

    name: str
    toolset: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    run: Callable[[Arguments, ToolContext], Answer]
    required: tuple[str, ...] = ()
    parallel: bool = False
    subject: str = ""

    def schema(self) -> dict[str, Any]:
        """JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {name: dict(each) for name, each in self.properties.items()},
            "required": list(self.required),
        }

    def definition(self) -> dict[str, Any]:
        """The tool in the wire's own shape."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.schema(),
        }
        return {"type": "function", "function": function}
