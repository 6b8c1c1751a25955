"""Parser of shell text into the programs it would start, as far as is possible statically.

Quotes, escapes, ``$'…'``, substitutions, pipes, redirections, here-documents, simple variables,
functions, choices and braces are supported. What cannot be parsed is reported as a problem and
never guessed: approval is requested then. What was parsed before remains valid.
"""

import re
import unicodedata

from hermes_desktop.agent.tools.danger.shell_expansion import closing, printed
from hermes_desktop.agent.tools.danger.shell_words import (
    ASSIGNS,
    BLANK,
    Reading,
    RedirectReader,
    ShellParseError,
    Simple,
    Word,
    assignment,
)

MOST_CHARACTERS = 10_000
MOST_COMMANDS = 5000
MOST_DEPTH = 12
_SKIPPED = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}", "time"}
)
_SETTERS = frozenset({"read", "mapfile", "readarray", "printf", "getopts", "let", "unset"})
_BEGINS = frozenset({"if", "while", "until", "{"})
_ENDS = frozenset({"fi", "done", "}"})
_PLAIN_FLAGS = frozenset({"-x", "-r", "-g", "--"})
_DECLARES = frozenset({"export", "local", "declare", "readonly", "typeset"})
_SHADOWED = frozenset({"cd", "pushd", "popd", "command", "builtin", "source", ".", "eval", "exec"})
_FUNCTION = re.compile(r"\([ \t]*\)")
_CASE_IN = re.compile(r"\s*in(?=\s)")
_ESAC = re.compile(r"esac(?=[\s;&|)]|$)")
_OF_TIME = re.compile(r"[ \t]+(-p|--)(?=[ \t])")


def read_shell(text: str) -> Reading:
    """Return all commands in the text, those in substitutions included. Never raises."""
    reading = Reading(lost=len(text) > MOST_CHARACTERS)
    if reading.lost:
        reading.problems.append("it is very long")
    else:
        try:
            _Reader(text.replace("\\\n", ""), reading).commands(until="")
        except ShellParseError as error:
            reading.lost = True
            reading.problems.append(str(error))
    if any(_is_strange(each) for each in text):
        reading.problems.append("it has characters that cannot be seen")
    return reading


def _is_strange(character: str) -> bool:
    category = unicodedata.category(character)
    return category in {"Cf", "Co", "Cs"} or (category == "Cc" and character not in "\t\n")


class _Reader(RedirectReader):
    def __init__(self, text: str, reading: Reading) -> None:
        super().__init__(text, reading)
        self.depth = 0
        self._choices = self._nested = 0
        self._after = ""
        self._just_set: set[str] = set()

    # Lists of commands

    def commands(self, until: str) -> None:
        """Read up to ``until`` (")" or "" for the end of the text)."""
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise ShellParseError("it is nested very deeply")
        choices, self._choices = self._choices, 0
        nested, self._nested, self._after = self._nested, 0, ""
        values = dict(self.values)
        self._skip_blanks()
        while (here := self._peek()) and not (here == ")" and until == ")"):
            self._step(here)
            self._skip_blanks()
        if until and self._peek() != until:
            raise ShellParseError("its brackets do not match")
        if self._bodies and not until:
            self._read_bodies()
        self._choices, self._nested = choices, nested
        if until:  # variables set in a subshell are not set outside of it
            self._forget_but(values)
        self.depth -= 1

    def _forget_but(self, values: dict[str, str | None]) -> None:
        changed = {name for name, value in self.values.items() if values.get(name, "") != value}
        self.values |= dict.fromkeys(changed | (set(self.values) - set(values)))

    def commands_in(self, text: str, *, quoted: bool = False) -> None:
        """Read the commands of a text that was in other quotes."""
        nested = _Reader(text, self.reading)
        nested.depth, nested.values = self.depth, dict(self.values)
        if quoted:
            nested._put_in()
        else:
            nested.commands(until="")
        values, self.values = self.values, nested.values
        self._forget_but(values)

    def _step(self, here: str) -> None:
        """Read one command or operator."""
        if here in ";&|":
            self._separator()
        elif here == "\n":
            self.at += 1
            self._after = ""
            self._read_bodies()
        elif here == "(":
            self._group()
        elif here == "#":
            self._skip_comment()
        elif here == ")":
            raise ShellParseError("its brackets do not match")
        else:
            self._simple()

    def _separator(self) -> None:
        if self.text.startswith((";;", ";&"), self.at):
            if not self._choices:
                raise ShellParseError("it chooses between commands")
            self.at += 3 if self.text.startswith(";;&", self.at) else 2
            self._pattern()
            return
        two = self.text[self.at : self.at + 2]
        self._after = two if two in {"&&", "||", "|&"} else two[0]
        self.at += len(self._after)
        if self._after in {"|", "|&", "&"} and self.reading.commands:
            # Variables of this command were set in a subshell.
            self.values |= dict.fromkeys(self._just_set)

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
        """Read ``case WORD in`` and the first pattern."""
        self._skip_blanks()
        self._words()
        if (begins := _CASE_IN.match(self.text, self.at)) is None:
            raise ShellParseError("it chooses between commands")
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
                raise ShellParseError("it chooses between commands")
            if here in BLANK + "|":
                self.at += 1
            else:
                self._words()
        self.at += 1

    # One command

    def _simple(self) -> None:
        command = Simple()
        if len(self.reading.commands) >= MOST_COMMANDS:
            raise ShellParseError("it has very many commands")
        self.reading.commands.append(command)
        while (here := self._peek()) and here not in "\n;&|)":
            if here in BLANK:
                self.at += 1
            elif here == "#":
                self._skip_comment()
            elif self._begins_redirect():
                self._redirect(command)
            elif here == "(":
                self._bracket(command)
            else:
                self._take_word(command)
            if self.text.startswith("&>", self.at):
                self._redirect(command)
        self._note_values(command)

    def _bracket(self, command: Simple) -> None:
        """Read a list, the head of a function, or of a counting loop."""
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
            raise ShellParseError("it has brackets in an unusual place")

    def _function(self, name: str) -> None:
        self.reading.functions.add(name)
        if name in _SHADOWED:
            self.reading.problems.append("it changes what later words mean")

    def _list(self, command: Simple) -> None:
        self.at += 1
        words: list[Word] = []
        while (here := self._peek()) != ")":
            if not here or here in ";&|<>(":
                raise ShellParseError("its brackets do not match")
            if here in BLANK + "\n":
                self.at += 1
            else:
                words += self._words()
        self.at += 1
        self.reading.lists.append(words)
        if command.assigned:
            self._note_list(command.assigned[-1][0], words)

    def _note_list(self, name: str, words: list[Word]) -> None:
        """Record the words of a list that is set for the first time, if all are known."""
        known = name not in self.values and self._is_certain()
        known = known and not any(each.opaque or each.wild for each in words)
        self.values[name] = words[0].text if known and words else None
        for number, word in enumerate(words if known else ()):
            self.values[f"{name}[{number}]"] = word.text

    def _take_word(self, command: Simple) -> None:
        start = self.at
        declares = not command.words or command.words[0].text in _DECLARES
        begins = ASSIGNS.match(self.text, self.at) if declares else None
        words = self._words(whole=begins is not None)
        raw = self.text[start : self.at]
        if not command.words and self._took_keyword(command, raw, words[0]):
            return
        if raw in {"{", "("} and self._is_named_coprocess(command):
            command.words.clear()
            return
        command.words += [each for each in words if each.text or each.opaque or not each.bare]

    def _took_keyword(self, command: Simple, raw: str, word: Word) -> bool:
        if (assigned := assignment(raw, word)) is not None:
            command.assigned.append(assigned)
        elif raw == "esac":
            self._choices -= 1
        elif raw == "case":
            self._choice()
        elif raw in {"function", "coproc", "time"}:
            self._begin(raw)
        elif raw == "[[":
            self._skip_test()
            command.words.append(Word("[["))
        elif raw in _SKIPPED:
            self._nested += (raw in _BEGINS) - (raw in _ENDS)
        else:
            command.loop = raw in {"for", "select"}
            self._nested += command.loop
            return False
        return True

    def _begin(self, keyword: str) -> None:
        """Read a keyword that precedes a command."""
        if keyword == "coproc":
            self.reading.problems.append("it runs something beside itself")
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
        return len(command.words) == 1 and self.reading.problems[-1:] == [beside]

    def _note_values(self, command: Simple) -> None:
        program = command.words[0].text if command.words else ""
        before = dict(self.values)
        if command.loop and len(command.words) > 1:
            name, given = command.words[1].text, command.words[3:]
            only = given[0] if len(given) == 1 and not given[0].wild else None
            known = only is not None and not only.opaque and name not in self.values
            self.values[name] = only.text if known and only is not None else None
        if program in {"eval", "source", "."}:
            self.values = dict.fromkeys(self.values)
        elif program in _SETTERS:
            new = self._set_to(program, command)
            self.values |= {word.text: None for word in command.words[1:]} | new
        if not command.words or program in _DECLARES:
            pairs = list(command.assigned)
            pairs += filter(None, (assignment(each.text, each) for each in command.words[1:]))
            flags = {each.text for each in command.words if each.text[:1] in {"-", "+"}}
            for name, value in pairs:
                known = not value.opaque and name not in self.values
                known = known and flags <= _PLAIN_FLAGS and self._is_certain()
                self.values[name] = value.text if known else None
        self._just_set = {name for name in self.values if name not in before}

    def _is_certain(self) -> bool:
        """Return whether the current command certainly runs, and not in a subshell."""
        return not self._nested and not self._choices and self._after in {"", ";"}

    def _set_to(self, program: str, command: Simple) -> dict[str, str | None]:
        """Return the variables that ``read`` and ``printf -v`` newly set to known values."""
        words = [each.text for each in command.words[1:] if each.text != "-r"]
        if any(each.opaque or each.wild for each in command.words):
            return {}
        if any(target.opaque for _, target in command.redirects) or not self._is_certain():
            return {}
        if program == "read" and len(words) == 1 and len(command.given) == 1:
            return {} if words[0] in self.values else {words[0]: command.given[0].strip()}
        if program == "printf" and words[:1] == ["-v"] and len(words) > 2:  # noqa: PLR2004
            text = printed("printf", words[2:], ())
            return {} if words[1] in self.values else {words[1]: text}
        return {}

    def _skip_test(self) -> None:
        end = self.text.find("]]", self.at)
        if end < 0:
            raise ShellParseError("its brackets do not match")
        inner = self.text[self.at : end]
        if "$(" in inner or "`" in inner:
            self.commands_in(inner, quoted=True)
        self.at = end + 2
