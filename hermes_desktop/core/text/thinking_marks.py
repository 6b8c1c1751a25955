"""The marks that models put around their thinking when their server leaves it in the reply.

A server that knows its model sends thinking in a separate field. Many do not: the chat template
is unknown to them, or their reasoning parser is disabled. Then the marks are part of the text.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThinkingMark:
    """A pair of marks with thinking between them.

    Attributes:
        opens: The mark that starts the thinking.
        closes: The mark that ends it.
        source: The models that write it.
        alone: The closing mark may come without the opening one, because the chat template has
            already written that.
        any_case: Models write it in upper or lower case.
    """

    opens: str
    closes: str
    source: str
    alone: bool = True
    any_case: bool = False


def _tag(name: str, source: str) -> ThinkingMark:
    return ThinkingMark(f"<{name}>", f"</{name}>", source, any_case=True)


THINKING_MARKS = (
    _tag("think", "DeepSeek R1, QwQ, Qwen 3, GLM 4.5, MiniMax M2, Nemotron, SmolLM 3"),
    _tag("thinking", "Claude-like prompts and distilled models"),
    _tag("thought", "Gemma and Gemini fine-tunes"),
    _tag("reasoning", "EXAONE Deep and Phi fine-tunes"),
    _tag("reasoning_scratchpad", "Hermes 3 and 4"),
    _tag("seed:think", "Seed-OSS"),
    _tag("antthinking", "prompts for artifacts"),
    ThinkingMark("[THINK]", "[/THINK]", "Magistral, Ministral 3"),
    ThinkingMark("◁think▷", "◁/think▷", "Kimi-VL, Kimi K2 Thinking"),
    ThinkingMark("<|START_THINKING|>", "<|END_THINKING|>", "Command A Reasoning"),
    ThinkingMark("<|begin_of_thought|>", "<|end_of_thought|>", "Sky-T1, OpenThinker"),
    ThinkingMark("<|channel|>analysis<|message|>", "<|end|>", "gpt-oss", alone=False),
    ThinkingMark("<|channel>thought", "<channel|>", "Gemma 4", alone=False),
    ThinkingMark("<unused94>thought", "<unused95>", "MedGemma", alone=False),
)

DROPPED_MARKS = (
    ("<|start|>assistant", "gpt-oss"),
    ("<|channel|>final<|message|>", "gpt-oss"),
    ("<|return|>", "gpt-oss"),
    ("<|START_RESPONSE|>", "Command A Reasoning"),
    ("<|END_RESPONSE|>", "Command A Reasoning"),
    ("<|begin_of_solution|>", "Sky-T1, OpenThinker"),
    ("<|end_of_solution|>", "Sky-T1, OpenThinker"),
)
"""Marks around the reply itself: they mean nothing to the user."""

BEGINS_IN_THOUGHT = re.compile(
    r"deepseek-r1(?!-0528|-distill)|\bqwq\b|thinking-2507|seed-oss|nemotron.*thinking",
    re.IGNORECASE,
)
"""Models whose chat template writes the opening mark, so that their text starts with thinking."""


def _pattern(text: str, *, any_case: bool) -> str:
    return f"(?i:{re.escape(text)})" if any_case else re.escape(text)


def _group(name: str, patterns: list[str]) -> str:
    return f"(?P<{name}>{'|'.join(patterns)})"


_ALL = tuple(
    (text.lower() if mark.any_case else text, mark.any_case)
    for mark in THINKING_MARKS
    for text in (mark.opens, mark.closes)
) + tuple((mark, False) for mark, _ in DROPPED_MARKS)
_LONGEST = max(len(text) for text, _ in _ALL)
_FIRST = f"[{re.escape(''.join(sorted({text[0] for text, _ in _ALL})))}]"
_FIRST_CHARACTER = re.compile(_FIRST)

ANY_MARK = re.compile(
    f"(?={_FIRST})(?:"
    + "|".join(
        (
            _group("opens", [_pattern(m.opens, any_case=m.any_case) for m in THINKING_MARKS]),
            _group(
                "alone",
                [_pattern(m.closes, any_case=m.any_case) for m in THINKING_MARKS if m.alone],
            ),
            _group("closes", [re.escape(m.closes) for m in THINKING_MARKS if not m.alone]),
            _group("dropped", [re.escape(mark) for mark, _ in DROPPED_MARKS]),
        )
    )
    + ")"
)
"""Finds the next mark; the name of the group is its kind."""


def begun_mark(text: str) -> int:
    """Return how many characters at the end of a text may be the beginning of a mark."""
    start = max(0, len(text) - _LONGEST + 1)
    for found in _FIRST_CHARACTER.finditer(text, start):
        tail = text[found.start() :]
        lowered = tail.lower()
        if any(mark.startswith(lowered if any_case else tail) for mark, any_case in _ALL):
            return len(tail)
    return 0


def has_mark(text: str) -> bool:
    """Return whether a text contains any mark of thinking."""
    return ANY_MARK.search(text) is not None
