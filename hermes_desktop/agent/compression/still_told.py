"""Check at the end of a turn that its question is still part of the conversation.

Another program may have compacted the conversation while the turn ran. It sets aside every
stored message, even those it had not read, or continues in a new session without them. Then the
question is written once more, so that the reply is not stored without it, or in an ended session.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hermes_desktop.agent.compression.compression_plan import is_summary
from hermes_desktop.core.errors import NotFoundError
from hermes_desktop.state import SessionDB
from hermes_desktop.state.records.records import Message

if TYPE_CHECKING:
    from hermes_desktop.agent.turns.tool_rounds import ToolRounds

log = logging.getLogger(__name__)

_KEPT = ("content", "api_content")


def still_told(store: SessionDB, rounds: "ToolRounds") -> str:
    """Write the question once more if it was set aside. Blocking.

    Returns:
        The session in which the conversation continues.

    Raises:
        NotFoundError: It is gone.
        HermesError: The store failed.
    """
    session_id = rounds.turn.session_id
    row = store.get_session(session_id)
    if row is None:
        raise NotFoundError("The session is gone.")
    goes_on_in = session_id
    if row["end_reason"] == "compression":
        goes_on_in = store.get_compression_tip(session_id)
    written = store.messages_by_ids(rounds.writer.ids[:1])
    if goes_on_in == session_id and not any(map(_was_set_aside, written)):
        return session_id
    asked = _questions(rounds.history)
    told = _questions(store.get_messages_as_conversation(goes_on_in))
    rounds.writer.move(goes_on_in)
    rounds.hooks.move(goes_on_in)
    same = [each for each in asked if each["content"] == asked[-1]["content"]]
    if len(same) > sum(each["content"] == asked[-1]["content"] for each in told):
        log.info("What was asked in %s is written once more in %s", session_id, goes_on_in)
        kept = {name: asked[-1][name] for name in _KEPT if asked[-1].get(name)}
        if written:
            kept["timestamp"] = written[0].timestamp  # so that it is shown once
        rounds.writer.write("user", kept.pop("content"), **kept)
    return goes_on_in


def _was_set_aside(message: Message) -> bool:
    """Return whether a message was summarized; a message the user took back stays so."""
    return message.compacted and not message.active


def _questions(history: Sequence[Any]) -> list[Any]:
    return [each for each in history if each["role"] == "user" and not is_summary(each)]
