"""Notes for the model about the working folder: in the system prompt, and when it changes."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_NOW = re.compile(r"^\[The working folder is now (.*)\]$", re.MULTILINE)
_BEGINNING = "the working folder is "


def folder_words(folder: str) -> str:
    """Return the sentence for the system prompt; "" stands for no folder."""
    return f"{_BEGINNING}{folder or 'not chosen yet'}."


def folder_news(folder: str, prompt: str, history: Iterable[Mapping[str, Any]]) -> str:
    """Return what to tell before the next message; "" if the model knows the folder.

    Args:
        folder: The folder in which its tools work now.
        prompt: The system prompt.
        history: The conversation as it is sent.
    """
    news = f"[The working folder is now {folder}]"
    told = ""
    for message in history:
        if message.get("role") == "user":
            # Our news precede what was typed, which may look like them.
            sent, typed = str(message.get("api_content") or ""), str(message.get("content") or "")
            found = _NOW.findall(sent.partition(typed)[0] if typed else sent)
            told = found[-1] if found else told
    if told:
        return "" if told == folder else news
    return news if _BEGINNING in prompt and folder_words(folder) not in prompt else ""
