"""Splitter of a model's thinking from its reply, where both arrive as one text in pieces.

A server that knows its model sends thinking in a separate field. Many do not: the chat template
is unknown to them, or their reasoning parser is disabled. Then marks around it are part of the
text. A mark counts where a model writes it: at the beginning of a reply or of a line, or after a
sentence. In code, in quotation marks and within a sentence it is ordinary text, since models and
users also write about these marks.
"""

import re
from dataclasses import dataclass
from typing import Literal


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


Kind = Literal["text", "thinking", "retracted"]
Part = tuple[Kind, str]
"""``retracted`` repeats text that was emitted as part of the reply and was thinking."""

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_TICKS = re.compile("`+")
_HEAD = 120
_QUOTES = frozenset("\"'`“”‘’«»„‚")
_WITHIN_A_SENTENCE = frozenset(",;:()[]{}=/\\*_-–—|<+&")
_ENDS_A_SENTENCE = frozenset(".!?…。！？")
_AFTER_A_WORD = frozenset(" ,.;:)")
_CLOSING = frozenset({"alone", "closes"})
_BETWEEN_NAMES = frozenset({"", "and", "or", "to", "/", "...", "…", "&", ",", "-", "–"})
"""Text between the two marks where a sentence is about the marks."""
_ITEM = re.compile(r"\s*(?:>|(?:\d+[.)]|[-*+])\s+$)")


class _Place:
    """The position of the next character in a Markdown text."""

    def __init__(self) -> None:
        self.fence = ""
        self.said = False
        self._new_line()

    def _new_line(self) -> None:
        self.head = ""
        self.last = ""
        self.before = ""
        self._runs = 0

    def move(self, text: str) -> None:
        """Advance behind this text."""
        for number, part in enumerate(text.split("\n")):
            if number:
                self._end_line()
            if part:
                self._move_in_line(part)

    def _move_in_line(self, part: str) -> None:
        self.head += part[: _HEAD - len(self.head)]
        runs = len(_TICKS.findall(part))
        if part[0] == "`" and self.before == "`":
            runs -= 1
        self._runs += runs
        self.before = part[-1]
        stripped = part.rstrip()
        if stripped:
            self.last = stripped[-1]
            self.said = True

    def _end_line(self) -> None:
        found = _FENCE.match(self.head)
        if found is not None:
            mark = found[1]
            if not self.fence:
                self.fence = mark
            elif mark.startswith(self.fence) and not self.head[found.end() :].strip():
                self.fence = ""
        self._new_line()

    @property
    def at_line_start(self) -> bool:
        return not self.head.strip()

    @property
    def begins_something(self) -> bool:
        """Whether a mark here is at an edge, not within a sentence."""
        if self.at_line_start or self.before.isalnum():
            return True
        return not (self.last.isalnum() or self.last in _WITHIN_A_SENTENCE)

    @property
    def in_code(self) -> bool:
        indented = self.head.startswith(("    ", "\t")) and self.at_line_start and self.said
        return bool(self.fence) or self._runs % 2 == 1 or indented

    @property
    def is_quoting(self) -> bool:
        in_list_or_quotation = _ITEM.match(self.head) is not None
        return self.in_code or self.before in _QUOTES or in_list_or_quotation


class ThinkingSplitter:
    """The splitter of a reply that arrives in pieces cut anywhere.

    Args:
        begins_inside: The model is known to start with thinking that only a closing mark ends:
            nothing is emitted before that mark, or the end.

    Attributes:
        closed_alone: Thinking was ended by a closing mark without an opening one.
    """

    def __init__(self, *, begins_inside: bool = False) -> None:
        self.closed_alone = False
        self._holding = begins_inside
        self._buffer = ""
        self._out: list[Part] = []
        self._place = _Place()
        self._inside = False
        self._thought = False
        self._quoted_open = False
        # A closing mark came without an opening one; it counts once text follows.
        self._ended = False
        # An opening mark within a sentence, and what followed.
        self._doubtful: list[str] = []
        self._said: list[str] = []
        # Blank text at an edge: it is emitted only if text follows.
        self._edge = True
        self._gap = ""
        self._last_thought = ""
        self._thinking_edge = True
        self._thinking_gap = ""
        self._has_thought = False

    def expect_no_thinking(self) -> None:
        """Expect no thinking in the text: the server sends it in a separate field."""
        if not self._said:
            self._holding = False

    def feed(self, text: str) -> list[Part]:
        """Process a piece; return the parts that are certain by now."""
        self._buffer += text
        self._scan(final=False)
        return self._given()

    def end(self, *, acts: bool = False, cut: bool = False) -> list[Part]:
        """Process the end of the reply; return the remaining parts.

        Args:
            acts: The reply ends with tool calls, so it need not contain text.
            cut: The reply broke off: what may have been thinking is treated as thinking.
        """
        self._scan(final=True)
        if self._doubtful:
            rest, self._doubtful = self._doubtful, []
            if cut:
                self._think("".join(rest[1:]))
            else:
                self._say("".join(rest))
        if self._ended and (acts or self._holding):
            self._settle_ended()
        if self._holding:
            held, self._said, self._holding = "".join(self._said), [], False
            self._out.append(("thinking" if cut else "text", held))
        if not self._thought and not cut:
            self._out.append(("text", self._gap))
        return self._given()

    def _given(self) -> list[Part]:
        given, self._out = self._out, []
        return [part for part in given if part[1]]

    # -------------------------------------------------------------------------------- input

    def _scan(self, *, final: bool) -> None:
        while self._buffer:
            found = ANY_MARK.search(self._buffer)
            if found is None:
                end = len(self._buffer) - (0 if final else begun_mark(self._buffer))
            else:
                end = found.start()
            text, self._buffer = self._buffer[:end], self._buffer[end:]
            if text:
                self._take_text(text)
            if found is None:
                return
            mark, kind = found[0], found.lastgroup or ""
            if len(mark) == len(self._buffer) and not final:
                return  # the character after a mark determines whether it counts
            self._buffer = self._buffer[len(mark) :]
            self._take_mark(mark, kind, self._buffer[:1])

    def _take_text(self, text: str) -> None:
        if self._inside:
            self._think(text)
        elif self._doubtful:
            self._doubtful.append(text)
        else:
            self._say(text)

    def _take_mark(self, mark: str, kind: str, following: str) -> None:
        if self._inside:
            quoted = self._last_thought in _QUOTES and following in _QUOTES
            if kind in _CLOSING and not quoted:
                self._end_thinking()
            else:
                self._think(mark)
        elif self._doubtful:
            self._take_in_doubt(mark, kind)
        elif kind == "opens":
            self._take_opening(mark)
        elif kind == "alone":
            self._take_lone_closing(mark, following)
        elif self._place.is_quoting or (self._place.before == " " and following in _AFTER_A_WORD):
            self._say(mark)

    def _take_opening(self, mark: str) -> None:
        if self._place.is_quoting:
            self._quoted_open = True
            self._say(mark)
        elif self._place.begins_something:
            self._begin_thinking()
        else:
            self._doubtful = [mark]

    def _take_in_doubt(self, mark: str, kind: str) -> None:
        if kind not in _CLOSING:
            self._doubtful.append(mark)
            return
        (opening, *inner), self._doubtful = self._doubtful, []
        between = "".join(inner)
        if between.strip() not in _BETWEEN_NAMES:
            self._begin_thinking()
            self._think(between)
            self._end_thinking()
        else:
            self._quoted_open = True
            self._say(opening + between + mark)

    def _take_lone_closing(self, mark: str, following: str) -> None:
        if not self._is_lone_closing(following):
            self._say(mark)
        elif not self._thought:
            self._ended = True

    def _is_lone_closing(self, following: str) -> bool:
        """Return whether a closing mark without an opening one still ends thinking."""
        place = self._place
        ends_line = following in {"", "\n", "\r"}
        if place.fence:  # thinking may leave a code block open
            return place.at_line_start and ends_line and not self._quoted_open
        if place.in_code or (place.before in _QUOTES and following in _QUOTES):
            return False
        if place.at_line_start:
            return True
        if place.is_quoting:
            return False
        if place.last in _ENDS_A_SENTENCE:
            return True
        stands_apart = place.before.isspace() or place.before in _QUOTES
        return not self._quoted_open and (ends_line or not stands_apart)

    # -------------------------------------------------------------------------------- output

    def _begin_thinking(self) -> None:
        if self._holding:  # the opening mark came after all
            self._holding = False
            self._out += [("text", text) for text in self._said]
        self._inside = self._thought = self._thinking_edge = True
        self._last_thought = ""

    def _end_thinking(self) -> None:
        self._inside = False
        self._edge = True

    def _settle_ended(self) -> None:
        """Reclassify all text so far as thinking."""
        said, self._said = "".join(self._said), []
        self._ended = False
        self._thought = self.closed_alone = True
        if self._holding:
            self._holding = False
            self._think(said)
        else:
            self._out.append(("retracted", said))
        self._place = _Place()
        self._edge, self._gap = True, ""

    def _think(self, text: str) -> None:
        self._last_thought = text[-1:] or self._last_thought
        text = self._thinking_gap + text
        if self._thinking_edge:
            text = text.lstrip()
        body = text.rstrip()
        self._thinking_gap = text[len(body) :]
        if not body:
            return
        if self._thinking_edge and self._has_thought:
            body = f"\n\n{body}"
        self._thinking_edge = False
        self._has_thought = True
        self._out.append(("thinking", body))

    def _say(self, text: str) -> None:
        if self._ended:
            text = text.lstrip()
            if not text:
                return
            self._settle_ended()
        self._place.move(text)
        text, self._gap = self._gap + text, ""
        if self._edge:
            body = text.lstrip()
            if not body:
                self._gap = text
                return
            if self._thought and (not self._said or self._said[-1][-1:].isspace()):
                text = body
            self._edge = False
        self._said.append(text)
        if not self._holding:
            self._out.append(("text", text))


def split_thinking(text: str) -> tuple[str, str]:
    """Return reply and thinking of a text with both; a text without marks is returned as it is."""
    if not has_mark(text):
        return text, ""
    splitter = ThinkingSplitter()
    reply: list[str] = []
    thinking: list[str] = []
    for kind, part in (*splitter.feed(text), *splitter.end()):
        if kind == "retracted":
            reply.clear()
        (reply if kind == "text" else thinking).append(part)
    return "".join(reply), "".join(thinking).strip()
