"""Reads shell text into the programs it would start, as far as that can be told without running it.

Quotes, escapes, ``$'…'``, substitutions, pipes, redirections, here-documents and simple variables
are followed. What cannot be followed is an error, never a guess: whoever judges a command asks a
person then.
"""

import unicodedata
from dataclasses import dataclass, field

from hermes_desktop.agent.tools.shell_words import (
    BLANK,
    ENDS_WORD,
    CannotReadError,
    Word,
    WordReader,
    assignment,
)

__all__ = ["CannotReadError", "Simple", "Word", "read_shell"]

MOST_CHARACTERS = 10_000
MOST_COMMANDS = 400
MOST_DEPTH = 12
_SKIPPED = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}", "time"}
)
_SETTERS = frozenset({"read", "mapfile", "readarray", "printf", "getopts", "let", "unset"})


@dataclass(slots=True)
class Simple:
    """One program with its arguments.

    Attributes:
        redirects: Operator and target of each redirection.
        fed: It reads what another command, or the text itself, hands it.
        loop: It only names the values of a loop variable.
    """

    words: list[Word] = field(default_factory=list)
    assigned: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[tuple[str, Word]] = field(default_factory=list)
    fed: bool = False
    loop: bool = False


def read_shell(text: str) -> list[Simple]:
    """All commands in the text, those in substitutions included.

    Raises:
        CannotReadError: Some of it cannot be told.
    """
    if len(text) > MOST_CHARACTERS:
        raise CannotReadError("it is very long")
    if any(_is_strange(each) for each in text):
        raise CannotReadError("it has characters that cannot be seen")
    reader = _Reader(text.replace("\\\n", ""))
    reader.commands(until="")
    return reader.found


def _is_strange(character: str) -> bool:
    category = unicodedata.category(character)
    return category in {"Cf", "Co", "Cs"} or (category == "Cc" and character not in "\t\n")


class _Reader(WordReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.found: list[Simple] = []
        self._bodies: list[tuple[str, bool, bool]] = []

    # Lists of commands

    def commands(self, until: str) -> None:
        """Read up to ``until`` (")" or "" for the end of the text)."""
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise CannotReadError("it is nested very deeply")
        fed = False
        self._skip_blanks()
        while (here := self._peek()) and not (here == ")" and until == ")"):
            fed = self._step(here, fed=fed)
            self._skip_blanks()
        if until and self._peek() != until:
            raise CannotReadError("its brackets do not match")
        if self._bodies and not until:
            self._read_bodies()
        self.depth -= 1

    def commands_in(self, text: str) -> None:
        """Follow the commands of a text that stood in other quotes."""
        nested = _Reader(text)
        nested.depth, nested.values = self.depth, self.values
        nested.commands(until="")
        self.found += nested.found

    def _step(self, here: str, *, fed: bool) -> bool:
        """Pass one command or sign; whether what follows reads the output of what stood before."""
        if here in ";&|":
            return self._separator()
        if here == "\n":
            self.at += 1
            self._read_bodies()
        elif here == "(":
            self._group()
        elif here == "#":
            self._skip_comment()
        elif here == ")":
            raise CannotReadError("its brackets do not match")
        else:
            self._simple(fed=fed)
        return False

    def _separator(self) -> bool:
        """Pass a separator; whether what follows reads the output of what stood before."""
        two = self.text[self.at : self.at + 2]
        if two in {"&&", "||", ";;", "|&"}:
            self.at += 2
            if two == ";;":
                raise CannotReadError("it chooses between commands")
            return two == "|&"
        self.at += 1
        return two[0] == "|"

    def _group(self) -> None:
        if self.text.startswith("((", self.at):
            raise CannotReadError("it calculates")
        self.at += 1
        self.commands(until=")")
        self.at += 1

    def _simple(self, *, fed: bool) -> None:
        command = Simple(fed=fed)
        if len(self.found) >= MOST_COMMANDS:
            raise CannotReadError("it has very many commands")
        self.found.append(command)
        while (here := self._peek()) and here not in "\n;&|)":
            if here in BLANK:
                self.at += 1
            elif here == "#":
                self._skip_comment()
            elif self._begins_redirect(here):
                self._redirect(command)
            elif here == "(":
                raise CannotReadError("it defines a function or a list")
            else:
                self._take_word(command)
            if self.text.startswith("&>", self.at):
                self._redirect(command)
        self._note_values(command)

    def _take_word(self, command: Simple) -> None:
        start = self.at
        word = self._word()
        raw = self.text[start : self.at]
        if not command.words:
            name, is_assignment, value = assignment(raw, word)
            if is_assignment:
                command.assigned.append((name, value))
                return
            if raw in _SKIPPED:
                return
            if raw in {"case", "select", "function", "coproc"}:
                raise CannotReadError("it has parts that are chosen when it runs")
            if raw == "[[":
                self._skip_test()
                command.words.append(Word("[["))
                return
            command.loop = raw == "for"
        if word.text or word.opaque or not word.bare:
            command.words.append(word)

    def _note_values(self, command: Simple) -> None:
        program = command.words[0].text if command.words else ""
        if command.loop and len(command.words) > 1:
            self.values[command.words[1].text] = None
        if program in {"eval", "source", "."}:
            self.values = dict.fromkeys(self.values)
        elif program in _SETTERS:
            self.values |= {word.text: None for word in command.words[1:]}
        if not command.words or command.words[0].text in {"export", "local", "declare", "readonly"}:
            pairs = list(command.assigned)
            for word in command.words[1:]:
                name, is_assignment, value = assignment(word.text, word)
                if is_assignment:
                    pairs.append((name, value))
            for name, value in pairs:
                known = not value.opaque and name not in self.values
                self.values[name] = value.text if known else None

    # Redirections

    def _begins_redirect(self, here: str) -> bool:
        is_both = here == "&" and self.text.startswith("&>", self.at)
        return here in "<>" or is_both or (here.isdigit() and self._is_descriptor())

    def _is_descriptor(self) -> bool:
        end = self.at
        while end < len(self.text) and self.text[end].isdigit():
            end += 1
        before = self.text[self.at - 1] if self.at else " "
        return before in ENDS_WORD and self.text[end : end + 1] in {"<", ">"}

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
        if operator in {"<<", "<<-"} or (operator == "<<" and self._peek() == "-"):
            self._here_document(command)
            return
        self._skip_blanks()
        target = self._word()
        command.redirects.append((operator, target))
        if operator in {"<", "<<<", "<>"}:
            command.fed = True

    def _process_substitution(self, command: Simple) -> None:
        self.at += 1
        self.commands(until=")")
        self.at += 1
        command.words.append(Word("/dev/fd/63", opaque=True))
        command.fed = True

    def _here_document(self, command: Simple) -> None:
        if self._peek() == "-":
            self.at += 1
        self._skip_blanks()
        start = self.at
        word = self._word()
        if not word.text:
            raise CannotReadError("its here-document has no end")
        raw = self.text[start : self.at]
        strips = self.text[:start].rstrip().endswith("-")
        self._bodies.append((word.text, raw != word.text, strips))
        command.fed = True

    def _read_bodies(self) -> None:
        """Pass the bodies of here-documents; commands in them are not followed but refused."""
        bodies, self._bodies = self._bodies, []
        for end, is_quoted, strips in bodies:
            while True:
                if self.at >= len(self.text):
                    raise CannotReadError("its here-document has no end")
                line, _, _ = self.text[self.at :].partition("\n")
                self.at = min(len(self.text), self.at + len(line) + 1)
                if (line.lstrip("\t") if strips else line) == end:
                    break
                if not is_quoted and ("$(" in line or "`" in line):
                    raise CannotReadError("its here-document runs commands")

    def _skip_test(self) -> None:
        end = self.text.find("]]", self.at)
        inner = self.text[self.at : end]
        if end < 0 or "$(" in inner or "`" in inner or "\n" in inner:
            raise CannotReadError("it tests something that runs commands")
        self.at = end + 2
