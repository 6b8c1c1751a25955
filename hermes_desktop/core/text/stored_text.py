"""The text of stored messages: marks of summaries and of the user's hints; its size in tokens."""

SUMMARY_MARK = "[CONTEXT COMPACTION — REFERENCE ONLY]"
"""Prefix of a message that contains a summary."""
SUMMARY_END = "[End of the summary. Go on from the messages that follow it.]"
"""The last line of such a message."""

_OPENS = "[THE PERSON SAYS WHILE YOU WORK: "
_CLOSES = "[END OF WHAT THE PERSON SAYS]"
HINT_SIGNS = (_OPENS, _CLOSES)
"""Signs that a tool's own output must not contain."""
HINTS_BEGIN = f"\n\n{_OPENS}this is a message to you, no output of a tool]\n"
HINTS_END = f"\n{_CLOSES}"
_BYTES_PER_TOKEN = 4


def summary_text(message: str) -> str:
    """Return the summary in the text of a message that contains one, without its frame."""
    _, _, rest = message.partition("\n\n")
    return rest.removesuffix(SUMMARY_END).strip() or message


def split_hints(stored: str) -> tuple[str, str]:
    """Split a stored result into the tool's own text and the hints after it ("" for none)."""
    if not stored.endswith(_CLOSES):
        return stored, ""
    result, mark, said = stored.rpartition(HINTS_BEGIN)
    if not mark:
        return stored, ""
    return result, said.removesuffix(HINTS_END)


def estimate_text(text: str) -> int:
    """Estimate the tokens of a text. By its bytes: other scripts take more than Latin letters."""
    return (len(text.encode("utf-8", "replace")) + _BYTES_PER_TOKEN - 1) // _BYTES_PER_TOKEN
