"""Reads shell text into the programs it would start, as far as that can be told without running it.

Quotes, escapes, ``$'…'``, substitutions, pipes, redirections, here-documents, simple variables,
functions, choices and braces are followed. What cannot be followed is a problem, never a guess:
whoever judges a command asks a person then. What was read until then stands.
"""

import re
import unicodedata

from hermes_desktop.agent.tools.shell_braces import closing
from hermes_desktop.agent.tools.shell_words import (
    BLANK,
    ENDS_WORD,
    CannotReadError,
    Reading,
    Simple,
    Word,
    WordReader,
    assignment,
)

__all__ = ["Reading", "Simple", "Word", "read_shell"]

MOST_CHARACTERS = 10_000
MOST_COMMANDS = 5000
MOST_DEPTH = 12
_SKIPPED = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}", "time"}
)
_SETTERS = frozenset({"read", "mapfile", "readarray", "printf", "getopts", "let", "unset"})
_DECLARES = frozenset({"export", "local", "declare", "readonly", "typeset"})
_SHADOWED = frozenset({"cd", "pushd", "popd", "command", "builtin", "source", ".", "eval", "exec"})
_FUNCTION = re.compile(r"\([ \t]*\)")
_CASE_IN = re.compile(r"\s*in(?=\s)")
_ESAC = re.compile(r"esac(?=[\s;&|)]|$)")
_OF_TIME = re.compile(r"[ \t]+(-p|--)(?=[ \t])")


def read_shell(text: str) -> Reading:
    """All commands in the text, those in substitutions included. Never raises."""
    reader = _Reader(text.replace("\\\n", ""))
    lost = len(text) > MOST_CHARACTERS
    if lost:
        reader.problems.append("it is very long")
    else:
        try:
            reader.commands(until="")
        except CannotReadError as error:
            lost = True
            reader.problems.append(str(error))
    if any(_is_strange(each) for each in text):
        reader.problems.append("it has characters that cannot be seen")
    return Reading(reader.found, reader.problems, lost, reader.lists, reader.functions)


def _is_strange(character: str) -> bool:
    category = unicodedata.category(character)
    return category in {"Cf", "Co", "Cs"} or (category == "Cc" and character not in "\t\n")


class _Reader(WordReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.found: list[Simple] = []
        self.lists: list[list[Word]] = []
        self.functions: set[str] = set()
        self._choices = 0
        self._bodies: list[tuple[Simple, str, bool, bool]] = []

    # Lists of commands

    def commands(self, until: str) -> None:
        """Read up to ``until`` (")" or "" for the end of the text)."""
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise CannotReadError("it is nested very deeply")
        choices, self._choices = self._choices, 0
        self._skip_blanks()
        while (here := self._peek()) and not (here == ")" and until == ")"):
            self._step(here)
            self._skip_blanks()
        if until and self._peek() != until:
            raise CannotReadError("its brackets do not match")
        if self._bodies and not until:
            self._read_bodies()
        self._choices = choices
        self.depth -= 1

    def commands_in(self, text: str, *, quoted: bool = False) -> None:
        """Follow the commands of a text that stood in other quotes."""
        nested = _Reader(text)
        nested.depth, nested.values = self.depth, self.values
        nested.found, nested.problems, nested.lists = self.found, self.problems, self.lists
        nested.functions = self.functions
        if quoted:
            nested._put_in()
        else:
            nested.commands(until="")

    def _step(self, here: str) -> None:
        """Pass one command or sign."""
        if here in ";&|":
            self._separator()
        elif here == "\n":
            self.at += 1
            self._read_bodies()
        elif here == "(":
            self._group()
        elif here == "#":
            self._skip_comment()
        elif here == ")":
            raise CannotReadError("its brackets do not match")
        else:
            self._simple()

    def _separator(self) -> None:
        if self.text.startswith((";;", ";&"), self.at):
            if not self._choices:
                raise CannotReadError("it chooses between commands")
            self.at += 3 if self.text.startswith(";;&", self.at) else 2
            self._pattern()
            return
        two = self.text[self.at : self.at + 2]
        self.at += 2 if two in {"&&", "||", "|&"} else 1

    def _group(self) -> None:
        if self.text.startswith("((", self.at):
            end = closing(self.text, self.at + 1, "(", ")")
            if end >= 0 and self.text.startswith("))", end):
                inner = self.text[self.at + 2 : end]
                self.at = end + 2
                self._calculation(inner)
                return
        self.at += 1
        self.commands(until=")")
        self.at += 1

    # Choices

    def _choice(self) -> None:
        """Pass ``case WORD in`` and the first pattern."""
        self._skip_blanks()
        self._words()
        if (begins := _CASE_IN.match(self.text, self.at)) is None:
            raise CannotReadError("it chooses between commands")
        self.at = begins.end()
        self._choices += 1
        self._pattern()

    def _pattern(self) -> None:
        self._skip_blanks("\n")
        while self._peek() == "#":
            self._skip_comment()
            self._skip_blanks("\n")
        if _ESAC.match(self.text, self.at):
            return
        if self._peek() == "(":
            self.at += 1
        while (here := self._peek()) != ")":
            if not here or here in "\n;&<>(":
                raise CannotReadError("it chooses between commands")
            if here in BLANK + "|":
                self.at += 1
            else:
                self._words()
        self.at += 1

    # One command

    def _simple(self) -> None:
        command = Simple()
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
                self._bracket(command)
            else:
                self._take_word(command)
            if self.text.startswith("&>", self.at):
                self._redirect(command)
        self._note_values(command)

    def _bracket(self, command: Simple) -> None:
        """A list, the head of a function, or of a counting loop."""
        if self.at and self.text[self.at - 1] == "=":
            self._list(command)
        elif [each.text for each in command.words] == ["for"] and self.text.startswith(
            "((", self.at
        ):
            self._group()
        elif len(command.words) == 1 and (head := _FUNCTION.match(self.text, self.at)):
            self.at = head.end()
            self._function(command.words.pop().text)
        elif not command.words and not command.assigned:
            self._group()  # after a word such as "then"
        else:
            raise CannotReadError("it has brackets in an unusual place")

    def _function(self, name: str) -> None:
        self.functions.add(name)
        if name in _SHADOWED:
            self.problems.append("it changes what later words mean")

    def _list(self, command: Simple) -> None:
        self.at += 1
        words: list[Word] = []
        while (here := self._peek()) != ")":
            if not here or here in ";&|<>(":
                raise CannotReadError("its brackets do not match")
            if here in BLANK + "\n":
                self.at += 1
            else:
                words += self._words()
        self.at += 1
        self.lists.append(words)
        if command.assigned:
            self.values[command.assigned[-1][0]] = None

    def _take_word(self, command: Simple) -> None:
        start = self.at
        words = self._words()
        raw = self.text[start : self.at]
        if not command.words and self._took_keyword(command, raw, words[0]):
            return
        if raw in {"{", "("} and self._is_named_coprocess(command):
            command.words.clear()
            return
        command.words += [each for each in words if each.text or each.opaque or not each.bare]

    def _took_keyword(self, command: Simple, raw: str, word: Word) -> bool:
        name, is_assignment, value = assignment(raw, word)
        if is_assignment:
            command.assigned.append((name, value))
        elif raw == "esac":
            self._choices -= 1
        elif raw == "case":
            self._choice()
        elif raw in {"function", "coproc", "time"}:
            self._begin(raw)
        elif raw == "[[":
            self._skip_test()
            command.words.append(Word("[["))
        elif raw not in _SKIPPED:
            command.loop = raw in {"for", "select"}
            return False
        return True

    def _begin(self, keyword: str) -> None:
        """What stands before a command of its own."""
        if keyword == "coproc":
            self.problems.append("it runs something beside itself")
        elif keyword == "time":
            while option := _OF_TIME.match(self.text, self.at):
                self.at = option.end()
        else:
            self._skip_blanks()
            self._function(self._word().text)
            self._skip_blanks()
            if head := _FUNCTION.match(self.text, self.at):
                self.at = head.end()

    def _is_named_coprocess(self, command: Simple) -> bool:
        beside = "it runs something beside itself"
        return len(command.words) == 1 and self.problems[-1:] == [beside]

    def _note_values(self, command: Simple) -> None:
        program = command.words[0].text if command.words else ""
        if command.loop and len(command.words) > 1:
            name, given = command.words[1].text, command.words[3:]
            only = given[0] if len(given) == 1 and not given[0].wild else None
            known = only is not None and not only.opaque and name not in self.values
            self.values[name] = only.text if known and only is not None else None
        if program in {"eval", "source", "."}:
            self.values = dict.fromkeys(self.values)
        elif program in _SETTERS:
            self.values |= {word.text: None for word in command.words[1:]}
        if not command.words or program in _DECLARES:
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
        if operator in {"<<", "<<-"}:
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
            raise CannotReadError("its here-document has no end")
        raw = self.text[start : self.at]
        self._bodies.append((command, word.text, raw != word.text, strips))

    def _read_bodies(self) -> None:
        """Pass the bodies of here-documents, and follow what is put into them."""
        bodies, self._bodies = self._bodies, []
        for command, end, is_quoted, strips in bodies:
            lines: list[str] = []
            while True:
                if self.at >= len(self.text):
                    raise CannotReadError("its here-document has no end")
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

    def _skip_test(self) -> None:
        end = self.text.find("]]", self.at)
        if end < 0:
            raise CannotReadError("its brackets do not match")
        inner = self.text[self.at : end]
        if "$(" in inner or "`" in inner:
            self.commands_in(inner, quoted=True)
        self.at = end + 2
