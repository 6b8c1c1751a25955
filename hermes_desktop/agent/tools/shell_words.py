"""Reads the words of shell text: quotes, escapes, values and what is put in by substitution."""

from dataclasses import dataclass

BLANK = " \t"
ENDS_WORD = frozenset(" \t\n;&|()<>")
_NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _NAME_START | frozenset("0123456789")
_ANSI_C = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class CannotReadError(ValueError):
    """The text does something that cannot be told from outside; the words say what."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quotes were taken off.

    Attributes:
        text: What the program gets, as far as that is known.
        opaque: A part of it is only known when it runs.
        bare: No part of it was quoted, so that ``~`` and globs count.
    """

    text: str
    opaque: bool = False
    bare: bool = True


class WordReader:
    """Walks through the text; whoever follows commands in it builds upon this.

    Attributes:
        text: All of it.
        at: Where the next character is.
        values: Variables whose value is known; None for one that is only known later.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.values: dict[str, str | None] = {}

    def commands(self, until: str) -> None:
        """Follow commands up to ``until``."""
        raise NotImplementedError

    def commands_in(self, text: str) -> None:
        """Follow the commands of a text that stood in other quotes."""
        raise NotImplementedError

    # Words

    def _word(self) -> Word:
        pieces: list[str] = []
        opaque, bare = False, True
        while (here := self._peek()) and here not in ENDS_WORD:
            if here == "\\":
                pieces.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
                bare = False
            elif here == "'":
                pieces.append(self._single())
                bare = False
            elif here == '"':
                text, hidden = self._double()
                pieces.append(text)
                opaque, bare = opaque or hidden, False
            elif here == "$":
                found = self._dollar(quoted=False)
                if found is None:  # $IFS: the word ends here
                    break
                text, hidden, was_bare = found
                pieces.append(text)
                opaque, bare = opaque or hidden, bare and was_bare
            elif here == "`":
                self._backtick()
                opaque = True
            else:
                pieces.append(here)
                self.at += 1
        return Word("".join(pieces), opaque, bare)

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise CannotReadError("a quote is not closed")
        inner = self.text[self.at + 1 : end]
        self.at = end + 1
        return inner

    def _double(self) -> tuple[str, bool]:
        pieces: list[str] = []
        opaque = False
        self.at += 1
        while (here := self._peek()) != '"':
            if not here:
                raise CannotReadError("a quote is not closed")
            if here == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                pieces.append(following if following in '$`"\\' else "\\" + following)
                self.at += 2
            elif here == "$":
                found = self._dollar(quoted=True)
                text, hidden, _ = found if found is not None else (" ", False, True)
                pieces.append(text)
                opaque = opaque or hidden
            elif here == "`":
                self._backtick()
                opaque = True
            else:
                pieces.append(here)
                self.at += 1
        self.at += 1
        return "".join(pieces), opaque

    def _dollar(self, *, quoted: bool) -> tuple[str, bool, bool] | None:
        """A value: its text, whether it is only known later, whether it stood unquoted.

        None: it divides words, as blanks do.
        """
        following = self.text[self.at + 1 : self.at + 2]
        if following == "(":
            return self._substitution()
        if following in {"'", '"'} and not quoted:
            self.at += 1
            return (self._ansi_c() if following == "'" else "", False, False)
        if following == "{":
            return self._braced(quoted=quoted)
        if following and following in _NAME_START:
            end = self.at + 1
            while end < len(self.text) and self.text[end] in _NAME:
                end += 1
            name = self.text[self.at + 1 : end]
            self.at = end
            return self._value(name, quoted=quoted)
        is_special = bool(following) and following in "0123456789@*#?$!-"
        self.at += 2 if is_special else 1
        return ("$" + following if is_special else "$", is_special, True)

    def _braced(self, *, quoted: bool) -> tuple[str, bool, bool] | None:
        end = self.text.find("}", self.at)
        if end < 0:
            raise CannotReadError("a bracket is not closed")
        name = self.text[self.at + 2 : end]
        if "$(" in name or "`" in name:
            raise CannotReadError("a value in it runs commands")
        self.at = end + 1
        return self._value(name, quoted=quoted)

    def _value(self, name: str, *, quoted: bool) -> tuple[str, bool, bool] | None:
        if name == "IFS" and not quoted:
            return None
        if name == "HOME":
            return "~", False, True
        known = self.values.get(name)
        if known is None:
            return f"${{{name}}}", True, True
        if not quoted and any(each in known for each in " \t\n*?["):
            raise CannotReadError("a value in it becomes several words")
        return known, False, True

    def _substitution(self) -> tuple[str, bool, bool]:
        if self.text.startswith("$((", self.at):
            end = self.text.find("))", self.at)
            inner = self.text[self.at + 3 : end]
            if end < 0 or "$(" in inner or "`" in inner or "[" in inner:
                raise CannotReadError("it calculates")
            self.at = end + 2
            return "0", True, True
        self.at += 2
        self.commands(until=")")
        self.at += 1
        return "", True, True

    def _backtick(self) -> None:
        end = self.text.find("`", self.at + 1)
        if end < 0:
            raise CannotReadError("a quote is not closed")
        inner = self.text[self.at + 1 : end]
        if "\\" in inner:
            raise CannotReadError("it has commands within commands within quotes")
        self.commands_in(inner)
        self.at = end + 1

    def _ansi_c(self) -> str:
        pieces: list[str] = []
        self.at += 1
        while (here := self._peek()) != "'":
            if not here:
                raise CannotReadError("a quote is not closed")
            self.at += 1
            pieces.append(here if here != "\\" else self._escape())
        self.at += 1
        return "".join(pieces)

    def _escape(self) -> str:
        kind = self._peek()
        self.at += 1
        if kind in {"x", "u", "U"}:
            return self._number("0123456789abcdefABCDEF", {"x": 2, "u": 4, "U": 8}[kind], 16)
        if kind and kind in "01234567":
            self.at -= 1
            return self._number("01234567", 3, 8)
        if kind == "c":
            raise CannotReadError("it has control characters")
        return _ANSI_C.get(kind, kind)

    def _number(self, digits: str, most: int, base: int) -> str:
        start = self.at
        while self.at - start < most and self._peek() and self._peek() in digits:
            self.at += 1
        code = int(self.text[start : self.at] or "0", base)
        if not 0 < code < 0x110000:  # noqa: PLR2004 - the end of Unicode
            raise CannotReadError("it has characters that do not exist")
        return chr(code)

    # Small steps

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_blanks(self) -> None:
        while self._peek() and self._peek() in BLANK:
            self.at += 1

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end


def assignment(raw: str, word: Word) -> tuple[str, bool, Word]:
    """Name and value, if a word is an assignment."""
    name, sign, _ = raw.partition("=")
    name = name.removesuffix("+")
    is_one = bool(sign) and bool(name) and name[0] in _NAME_START and set(name) <= _NAME
    if not is_one:
        return "", False, word
    return name, True, Word(word.text.partition("=")[2], word.opaque, word.bare)
