"""Texts that can be traced through the gateway, and a model that reports those in its prompt.

Each message of a sender carries ``(ask CONVERSATION/NUMBER)``, each message of another program
``(note CONVERSATION/NUMBER)``. The model answers ``(begin …)`` and ``(done …)`` for each question
that its prompt leaves open, ``(saw …)`` for each note in it, and ``(mixed …)`` if there are texts
of more than one conversation.
"""

import random
import re
from collections.abc import Iterable
from typing import Any

from tests.fakes.model_server import ModelServer, Recorded, Reply, text

WORD = re.compile(r"\((ask|note|begin|done|saw) ([^\s/()]+)/(\w+)\)")
MIXED = "(mixed "


def ask(conversation: str, number: int) -> str:
    """Return a question of a sender."""
    return f"(ask {conversation}/m{number})"


def note(conversation: str, number: int) -> str:
    """Return a note of another program."""
    return f"(note {conversation}/n{number})"


def marked(said: str, kind: str) -> list[str]:
    """Return the names of one kind in a text, as ``CONVERSATION/NUMBER``."""
    return [f"{where}/{name}" for what, where, name in WORD.findall(said) if what == kind]


def conversations(said: str) -> set[str]:
    """Return the conversations whose texts are contained in a text."""
    return {where for _, where, _ in WORD.findall(said)}


def answer_to(messages: Iterable[dict[str, Any]]) -> str:
    """Return the model's reply to a prompt."""
    asked: dict[str, None] = {}
    done: set[str] = set()
    notes: dict[str, None] = {}
    whose: set[str] = set()
    for message in messages:
        said = str(message.get("content"))
        whose |= conversations(said)
        notes.update(dict.fromkeys(marked(said, "note")))
        if message["role"] == "user":
            asked.update(dict.fromkeys(marked(said, "ask")))
        else:
            done.update(marked(said, "done"))
    left = [each for each in asked if each not in done]
    words = [f"(begin {each})" for each in left]
    words += [f"(saw {each})" for each in notes]
    words += [f"(done {each})" for each in left]
    if len(whose) > 1:
        words.append(MIXED + " ".join(sorted(whose)) + ")")
    return " ".join(words) or "Nothing is open."


class TellingModel(ModelServer):
    """The model; keeps no requests.

    Args:
        slowness_s: The longest pause between two words.

    Attributes:
        mixed: Answers to prompts with texts of several conversations.
        asked: How many requests there were.
    """

    def __init__(self, slowness_s: float = 0.05) -> None:
        super().__init__(responder=self._answer)
        self.slowness_s = slowness_s
        self.mixed: list[str] = []
        self.asked = 0
        self._chance = random.Random(7)

    def _answer(self, request: Recorded) -> Reply:
        self.requests.clear()
        self.asked += 1
        said = answer_to(request.messages)
        if MIXED in said:
            self.mixed.append(said)
        return text(said, delay=self._chance.random() * self.slowness_s)
