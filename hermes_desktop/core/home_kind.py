"""Detection of the program that may write a home's conversations, from the home's marks.

Since hermes-agent 0.22, its own gateway is the only writer; other programs are its clients. The
version of ``state.db`` does not distinguish the two models, so the marks do. A home whose marks
cannot be understood is opened read-only.
"""

import shlex
from dataclasses import dataclass
from typing import Literal

from hermes_desktop.core.paths import HermesPaths, active_profile

Writer = Literal["shared", "gateway", "elsewhere", "unsure"]
Answer = Literal["none", "older", "newer", "unclear"]
"""The answer on the home's control socket.

Either nothing, a gateway that shares the file with other programs, a gateway that is the only
writer, or something that is not understood.
"""


@dataclass(frozen=True, slots=True)
class HomeMarks:
    """The marks found in a home.

    Attributes:
        tables: The file has tables in which Hermes' gateway admits the work of its clients.
        answer: What answers on the control socket.
        backend: The storage of conversations according to ``config.yaml``, "" for the usual file;
            None when the setting cannot be read.
    """

    tables: bool = False
    answer: Answer = "none"
    backend: str | None = ""


@dataclass(frozen=True, slots=True)
class HomeKind:
    """The program that may write the conversations of a home.

    Attributes:
        writer: ``shared``: several programs, this one included; ``gateway``: only Hermes' own
            gateway; ``elsewhere``: they are in another database; ``unsure``: it is unknown.
        title: Why nothing is written, in one sentence; "" when writing is allowed.
        reason: The evidence for it.
        hint: What to do.
    """

    writer: Writer = "shared"
    title: str = ""
    reason: str = ""
    hint: str = ""

    @property
    def may_write(self) -> bool:
        """Whether this program may write conversations and host the gateway."""
        return self.writer == "shared"


SHARED = HomeKind()
_USE_HERMES = "Continue in `hermes`. Reading, search and export work here."
_BY_GATEWAY = HomeKind(
    "gateway",
    "This history belongs to Hermes' gateway.",
    "In this version of Hermes its own gateway is the only program that writes conversations.",
    _USE_HERMES,
)


def decide(marks: HomeMarks) -> HomeKind:
    """Return the kind of home that has these marks."""
    if marks.backend:
        name = "PostgreSQL" if marks.backend.startswith("postgres") else f"“{marks.backend}”"
        return HomeKind(
            "elsewhere",
            f"The conversations of this home are kept in {name}.",
            f"config.yaml contains database.backend: {marks.backend}. The content of state.db "
            "is not current.",
            "Use the `hermes` command to list, read and continue them.",
        )
    if marks.tables or marks.answer == "newer":
        return _BY_GATEWAY
    if marks.answer == "unclear":
        return _unsure(
            "A program answers gateway.sock of this home in an unknown way.",
            "Stop that gateway with `hermes gateway stop`, or update Hermes Desktop.",
        )
    if marks.backend is None:
        return _unsure(
            "config.yaml contains a section “database” that cannot be read.",
            "Correct that section of config.yaml.",
        )
    return SHARED


def _unsure(reason: str, hint: str) -> HomeKind:
    title = "Hermes Desktop cannot tell whether it may write these conversations."
    return HomeKind("unsure", title, reason, f"{hint} Until then they are only read.")


def continue_command(paths: HermesPaths, session_id: str | None = None) -> str:
    """Return the shell command that continues a session in ``hermes``.

    Args:
        paths: The home.
        session_id: The session; None for a new one.
    """
    words = ["hermes"]
    if paths.profile == "custom":
        words.insert(0, f"HERMES_HOME={shlex.quote(str(paths.home))}")
    elif paths.profile != "default" or active_profile(paths.root):
        words += ["--profile", paths.profile]
    if session_id is not None:
        words += ["--resume", shlex.quote(session_id)]
    return " ".join(words)
