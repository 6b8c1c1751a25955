"""Parser of the words of shell text: quotes, escapes, values and substitutions."""

import re
from dataclasses import dataclass, field

from hermes_desktop.agent.tools.danger.shell_expansion import (
    alternatives,
    ansi_c,
    closing,
    expanded,
    printed,
)

BLANK = " \t"
ENDS_WORD = frozenset(" \t\n;&|()<>")
MOST_SPLICED = 20_000
ASSIGNS = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TO_ESCAPE = re.compile(r"[^\w\-/.*?\[\] \t\n]", re.ASCII)
_REDIRECT = re.compile(r"[<>]|&>|(?<![^ \t\n;&|()<>])\d+[<>]")
_WILD = frozenset("*?[{")
_IN_QUOTES = re.compile(r"'([^']*)'")
_IN_ANSI_C = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_IN_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_USUAL = {"HOME": "~", "SHELL": "/bin/bash", "BASH": "/bin/bash", "PWD": "."}
_OR_ELSE = re.compile(r"^(\w+)(:?[-=?].*|:0)$", re.DOTALL)
_RUNS_IN_PLACE = re.compile(r"\w\[[^\]]{0,400}(\$\(|`)")
_NUMBER_OR_NAME = re.compile(r"^\s*-?\w*\s*$")


class ShellParseError(ValueError):
    """The text cannot be analyzed; the message says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word after quotes were removed.

    Attributes:
        text: What the program receives, as far as that is known.
        opaque: A part of it is only known at run time.
        bare: No part of it was quoted, so that ``~`` is expanded.
        wild: It has unquoted characters by which the shell expands it to other words.
    """

    text: str
    opaque: bool = False
    bare: bool = True
    wild: bool = False


@dataclass(slots=True)
class Simple:
    """One program with its arguments.

    Attributes:
        redirects: Operator and target of each redirection.
        given: Text in the command itself that the program reads.
        loop: It only names the values of a loop variable.
    """

    words: list[Word] = field(default_factory=list)
    assigned: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[tuple[str, Word]] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    loop: bool = False


@dataclass(slots=True)
class Reading:
    """The result of parsing.

    Attributes:
        problems: What cannot be analyzed, while the text around it can; sentences without an end.
        lost: Some of the text was not parsed, because of the last problem.
        lists: Stored words that may be run later.
        functions: Names of defined functions.
    """

    commands: list[Simple] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    lost: bool = False
    lists: list[list[Word]] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)


class WordReader:
    """A parser of words; base of the command reader.

    Attributes:
        text: The whole text.
        at: The position of the next character.
        values: Variables with a known value; None for one that is only known at run time.
        reading: What was read so far.
    """

    def __init__(self, text: str, reading: Reading) -> None:
        self.text = text
        self.at = 0
        self.values: dict[str, str | None] = {}
        self.reading = reading
        self._whole = False

    def commands(self, until: str) -> None:
        """Read commands up to ``until``."""
        raise NotImplementedError

    def commands_in(self, text: str, *, quoted: bool = False) -> None:
        """Read the commands of another text; quoted: only substituted ones."""
        raise NotImplementedError

    # Words

    def _words(self, *, whole: bool = False) -> list[Word]:
        """Read one word; several where braces expand to them.

        Args:
            whole: Values in it do not split it: it is an assignment, or a redirection target.
        """
        self._whole = whole
        pieces: list[str] = []
        live: list[bool] = []
        opaque, bare = False, True
        while (here := self._peek()) and here not in ENDS_WORD:
            loose = False
            if here == "\\":
                text = self.text[self.at + 1 : self.at + 2]
                self.at += 2
                bare = False
            elif here == "'":
                text = self._enclosed(_IN_QUOTES)
                bare = False
            elif here == '"':
                text, hidden = self._double()
                opaque, bare = opaque or hidden, False
            elif here == "$":
                found = self._dollar(quoted=False)
                if found is None:  # $IFS: the word ends here
                    break
                text, hidden, was_bare = found
                opaque, bare = opaque or hidden, bare and was_bare
            elif here == "`":
                text = ""
                self._backtick()
                opaque = True
            else:
                text, loose = here, True
                self.at += 1
            pieces.append(text)
            live += [loose] * len(text)
        text = "".join(pieces)
        if _RUNS_IN_PLACE.search(text):
            self.reading.problems.append("it has commands in the place of a list")
        wild = any(loose and each in _WILD for each, loose in zip(text, live, strict=True))
        try:
            texts = alternatives(text, live) if wild else [text]
        except ValueError as error:
            raise ShellParseError("it stands for very many words") from error
        return [Word(text, opaque, bare, wild) for text in texts]

    def _word(self) -> Word:
        first, *others = self._words(whole=True)
        return Word(first.text, first.opaque, first.bare, wild=True) if others else first

    def _enclosed(self, form: re.Pattern[str]) -> str:
        """Read text within quotes of one form."""
        match = form.match(self.text, self.at)
        if match is None:
            raise ShellParseError("a quote is not closed")
        self.at = match.end()
        return match[1]

    def _double(self) -> tuple[str, bool]:
        pieces: list[str] = []
        opaque = False
        self.at += 1
        while (here := self._peek()) != '"':
            if not here:
                raise ShellParseError("a quote is not closed")
            text, hidden = self._within_quotes(here)
            pieces.append(text)
            opaque = opaque or hidden
        self.at += 1
        return "".join(pieces), opaque

    def _within_quotes(self, here: str) -> tuple[str, bool]:
        if here == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            return (following if following and following in '$`"\\' else "\\" + following), False
        if here == "$":
            found = self._dollar(quoted=True)
            return (found[0], found[1]) if found is not None else (" ", False)
        if here == "`":
            self._backtick()
            return "", True
        self.at += 1
        return here, False

    def _put_in(self) -> None:
        """Read only substitutions, up to the end of the text."""
        while here := self._peek():
            self._within_quotes(here)

    def _dollar(self, *, quoted: bool) -> tuple[str, bool, bool] | None:
        """Read a value: its text, whether it is only known at run time, whether it was unquoted.

        None: it separates words, as blanks do.
        """
        following = self.text[self.at + 1 : self.at + 2]
        if following == "(":
            return self._substitution(quoted=quoted)
        if following in {"'", '"'} and not quoted:
            self.at += 1
            if following == "'":
                return self._ansi_c(), False, False
            text, hidden = self._double()
            return text, hidden, False
        if following == "{":
            return self._braced(quoted=quoted)
        if name := _VARIABLE.match(self.text, self.at + 1):
            self.at = name.end()
            return self._value(name[0], quoted=quoted)
        is_special = bool(following) and following in "0123456789@*#?$!-"
        self.at += 2 if is_special else 1
        return ("$" + following if is_special else "$", is_special, True)

    def _braced(self, *, quoted: bool) -> tuple[str, bool, bool] | None:
        end = closing(self.text, self.at + 1, "{", "}")
        if end < 0:
            raise ShellParseError("a bracket is not closed")
        name = self.text[self.at + 2 : end]
        self.at = end + 1
        if "$(" in name or "`" in name or "${" in name:
            self.commands_in(name, quoted=True)
        elif otherwise := _OR_ELSE.match(name):
            if self._is_set(otherwise[1]):
                return self._value(otherwise[1], quoted=quoted)
            return otherwise[2].lstrip(":-=?"), True, True
        known = expanded(name, self.values)
        if known is not None and name not in self.values:
            return self._as_words(known, quoted=quoted)
        return self._value(name, quoted=quoted)

    def _is_set(self, name: str) -> bool:
        return name in _USUAL or bool(self.values.get(name))

    def _value(self, name: str, *, quoted: bool) -> tuple[str, bool, bool] | None:
        if name == "IFS" and not quoted:
            return None
        if name in _USUAL:
            return _USUAL[name], False, True
        known = self.values.get(name)
        if known is None:
            return f"${{{name}}}", True, True
        return self._as_words(known, quoted=quoted)

    def _as_words(self, known: str, *, quoted: bool) -> tuple[str, bool, bool]:
        """Return a known value; unquoted, it may be several words."""
        if quoted or self._whole or not any(each in known for each in " \t\n*?["):
            return known, False, True
        # It becomes several words: they are parsed as if they were part of the text.
        spliced = _TO_ESCAPE.sub(r"\\\g<0>", known).replace("\n", " ")
        self.text = self.text[: self.at] + spliced + self.text[self.at :]
        if len(self.text) > MOST_SPLICED:
            raise ShellParseError("a value in it becomes very many words")
        return "", False, True

    def _substitution(self, *, quoted: bool) -> tuple[str, bool, bool]:
        whole = self._whole
        if self.text.startswith("((", self.at + 1):
            end = closing(self.text, self.at + 2, "(", ")")
            if end >= 0 and self.text.startswith("))", end):
                inner = self.text[self.at + 3 : end]
                self.at = end + 2
                self._calculation(inner)
                return "0", True, True
        self.at += 2
        begun, before = len(self.reading.commands), self.at
        self.commands(until=")")
        self.at += 1
        self._whole = whole
        known = self._output(begun, self.text[before : self.at - 1])
        return ("", True, True) if known is None else self._as_words(known, quoted=quoted)

    def _output(self, begun: int, text: str) -> str | None:
        """Return the output of a substitution, if one simple program produces it."""
        if (
            len(self.reading.commands) != begun + 1
            or set(text) & set(";&|()\n`")
            or self.reading.problems
        ):
            return None
        command = self.reading.commands[begun]
        known = not any(each.opaque or each.wild for each in command.words)
        plain = all(operator == "<<<" for operator, _ in command.redirects)
        given_known = not any(target.opaque for _, target in command.redirects)
        if not command.words or command.assigned or not (known and plain and given_known):
            return None
        program, *args = (each.text for each in command.words)
        if program in self.reading.functions:
            return None
        return printed(program, args, command.given)

    def _calculation(self, inner: str) -> None:
        """Read arithmetic: it may run commands, set variables, and evaluate values again."""
        if "$(" in inner or "`" in inner:
            self.commands_in(inner, quoted=True)
        names = re.findall(r"[A-Za-z_]\w*", inner)
        if any(not _NUMBER_OR_NAME.match(self.values.get(each) or "") for each in names):
            self.reading.problems.append("it calculates with text")
        if "=" in inner or "++" in inner or "--" in inner:
            self.values |= dict.fromkeys(names)

    def _backtick(self) -> None:
        inner = self._enclosed(_IN_BACKTICKS)
        self.commands_in(re.sub(r"\\([`\\$])", r"\1", inner))

    def _ansi_c(self) -> str:
        inner = self._enclosed(_IN_ANSI_C)
        try:
            return ansi_c(inner)
        except ValueError as error:
            raise ShellParseError("it has characters that no word can have") from error

    # Helpers

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_blanks(self, more: str = "") -> None:
        while self._peek() and self._peek() in BLANK + more:
            self.at += 1

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end


def assignment(raw: str, word: Word) -> tuple[str, Word] | None:
    """Return name and value, if a word is an assignment."""
    match = ASSIGNS.match(raw)
    if match is None:
        return None
    opaque = word.opaque or bool(match[2])  # appended to an unknown value
    return match[1], Word(word.text.partition("=")[2], opaque, word.bare)


# Parser of the redirections of shell text, here-documents included.


class RedirectReader(WordReader):
    """A parser of redirections; base of the command reader."""

    def __init__(self, text: str, reading: Reading) -> None:
        super().__init__(text, reading)
        self._bodies: list[tuple[Simple, str, bool, bool]] = []

    def _begins_redirect(self) -> bool:
        return _REDIRECT.match(self.text, self.at) is not None

    def _redirect(self, command: Simple) -> None:
        start = self.at
        while self._peek().isdigit():
            self.at += 1
        while self._peek() and self._peek() in "<>&|":
            self.at += 1
            if self.text[self.at - 1] in "<>" and self._peek() == "(":
                self._process_substitution(command)
                return
        operator = self.text[start : self.at].lstrip("0123456789")
        if operator == "<<":
            self._here_document(command)
            return
        self._skip_blanks()
        target = self._word()
        command.redirects.append((operator, target))
        if operator == "<<<":
            command.given.append(target.text)

    def _process_substitution(self, command: Simple) -> None:
        self.at += 1
        self.commands(until=")")
        self.at += 1
        command.words.append(Word("/dev/fd/63", opaque=True))

    def _here_document(self, command: Simple) -> None:
        strips = self._peek() == "-"
        if strips:
            self.at += 1
        self._skip_blanks()
        start = self.at
        word = self._word()
        if not word.text:
            raise ShellParseError("its here-document has no end")
        raw = self.text[start : self.at]
        self._bodies.append((command, word.text, raw != word.text, strips))

    def _read_bodies(self) -> None:
        """Read the bodies of here-documents, and the commands substituted in them."""
        bodies, self._bodies = self._bodies, []
        for command, end, is_quoted, strips in bodies:
            lines: list[str] = []
            while True:
                if self.at >= len(self.text):
                    raise ShellParseError("its here-document has no end")
                line, _, _ = self.text[self.at :].partition("\n")
                self.at = min(len(self.text), self.at + len(line) + 1)
                line = line.lstrip("\t") if strips else line
                if line == end:
                    break
                lines.append(line)
            body = "\n".join(lines)
            command.given.append(body)
            if not is_quoted and ("$(" in body or "`" in body):
                self.commands_in(body, quoted=True)
