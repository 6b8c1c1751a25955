"""The compaction methods of SessionDB."""

from hermes_desktop.state.conversations import compaction
from hermes_desktop.state.conversations.compaction import Compaction
from hermes_desktop.state.facade.store_face import WritingFace


class CompactionMixin(WritingFace):
    """The part of ``SessionDB`` that compacts conversations. One transaction each."""

    def compact_in_place(self, wanted: Compaction) -> int:
        """Archive messages, still visible, and insert a new context.

        See :func:`compaction.in_place`.

        Returns:
            How many messages were added by other writers in the meantime and kept.

        Raises:
            MissingSessionError: The session has no row.
            BusyError: Another holder compresses it.
            RefusedError: It was changed in the meantime; nothing was done.
        """
        now = self._clock.time()
        return self._execute_write(lambda conn: compaction.in_place(conn, wanted, now))

    def rotate_session(self, wanted: Compaction, new_id: str) -> int:
        """End a session and continue in a new one; see :func:`compaction.rotate`.

        Returns and raises as :meth:`compact_in_place`.
        """
        now, layout = self._clock.time(), self.layout
        return self._execute_write(
            lambda conn: compaction.rotate(conn, wanted, new_id, now, layout)
        )
