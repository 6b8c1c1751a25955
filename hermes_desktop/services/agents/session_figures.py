"""Statistics of a session for display: its approximate context size, and its token usage."""

import logging
from dataclasses import dataclass

from hermes_desktop.core.concurrency.background_tasks import WorkerThreads
from hermes_desktop.core.errors import HermesError
from hermes_desktop.core.events import ContextUsed
from hermes_desktop.core.text.stored_text import estimate_text
from hermes_desktop.core.usage import ModelUsage
from hermes_desktop.services.agents.agent_builder import AgentBuilder
from hermes_desktop.state import SessionDB

log = logging.getLogger(__name__)

_BYTES_PER_TOKEN = 4
_PER_MESSAGE = 4


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """The token usage of a session from its first part on.

    Attributes:
        models: The usage of each model, the largest first.
        parts: The number of sessions that its chain consists of.
    """

    models: tuple[ModelUsage, ...]
    parts: int = 1


class SessionStatistics:
    """Asynchronous reads on a separate thread, so that no list waits for them.

    Args:
        db: The history.
        builder: Provides the model that would answer, and its context length.
    """

    def __init__(self, db: SessionDB, builder: AgentBuilder) -> None:
        self._db = db
        self._builder = builder
        self._worker = WorkerThreads("session-figures")

    def close(self) -> None:
        """Take no more calls. Never waits."""
        self._worker.close()

    async def context(self, session_id: str) -> ContextUsed | None:
        """Estimate a session's context size from stored messages; return None if it is unknown.

        Raises:
            StateError: The database cannot be read.
        """
        return await self._worker.run(self._context, session_id)

    async def usage(self, session_id: str) -> SessionUsage:
        """Return the token usage of a session, all parts of its chain together.

        Raises:
            StateError: The database cannot be read.
        """
        return await self._worker.run(self._usage, session_id)

    def _context(self, session_id: str) -> ContextUsed | None:
        if self._db.session_mark(session_id) is None:
            return None
        size = self._db.context_size(session_id)
        prompt = estimate_text(self._builder.prompts.sent(session_id) or "")
        tokens = prompt + size.text_bytes // _BYTES_PER_TOKEN + size.messages * _PER_MESSAGE
        length, threshold = self._room()
        return ContextUsed(session_id, tokens, length, threshold, about=True)

    def _room(self) -> tuple[int | None, int | None]:
        try:
            return self._builder.room()
        except HermesError as error:
            log.info("The context window is not known: %s", error.title)
            return None, None

    def _usage(self, session_id: str) -> SessionUsage:
        parts = self._db.get_compression_lineage(session_id) or [session_id]
        return SessionUsage(self._db.usage_of(parts), len(parts))
