"""Parser of the words of shell text: quotes, escapes, values and substitutions."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

# Brace expansion of a shell, and matching of brackets. Pure.

MOST_WORDS = 64
_MOST_DEPTH = 8


def closing(text: str, at: int, opens: str, closes: str) -> int:
    """Return where the bracket that opens at ``at`` closes; skips quotes and escapes.

    -1: nowhere.
    """
    depth, quote = 0, ""
    while at < len(text):
        here = text[at]
        if here == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if here == quote else quote
        elif here in "'\"":
            quote = here
        elif here == opens:
            depth += 1
        elif here == closes:
            depth -= 1
            if not depth:
                return at
        at += 1
    return -1


def alternatives(text: str, live: Sequence[bool]) -> list[str]:
    """Return the words that ``a{b,c}`` expands to; the text itself where there are no braces.

    Args:
        text: The word without its quotes.
        live: For each character, whether it was outside of quotes.

    Raises:
        ValueError: There are too many.
    """
    return _alternatives(text, list(live), 0)


def _alternatives(text: str, live: list[bool], depth: int) -> list[str]:
    found = _first_list(text, live)
    if found is None:
        return [text]
    if depth >= _MOST_DEPTH:
        raise ValueError("too deep")
    begin, end, commas = found
    tails = _alternatives(text[end + 1 :], live[end + 1 :], depth + 1)
    bounds = [begin, *commas, end]
    words: list[str] = []
    for start, stop in pairwise(bounds):
        for middle in _alternatives(text[start + 1 : stop], live[start + 1 : stop], depth + 1):
            words += [text[:begin] + middle + tail for tail in tails]
            if len(words) > MOST_WORDS:
                raise ValueError("too many")
    return words


def _first_list(text: str, live: list[bool]) -> tuple[int, int, list[int]] | None:
    """Return the first outermost brace list: its ends, and its commas."""
    open_ones: list[tuple[int, list[int]]] = []
    best: tuple[int, int, list[int]] | None = None
    for at, here in enumerate(text):
        if not live[at]:
            continue
        if here == "{":
            open_ones.append((at, []))
        elif here == "," and open_ones:
            open_ones[-1][1].append(at)
        elif here == "}" and open_ones:
            begin, commas = open_ones.pop()
            if commas and (best is None or begin < best[0]):
                best = (begin, at, commas)
    return best


# Expansion of known values in a shell, and the output of simple programs. Pure.
#
# Every result is exact or None: a wrong guess would let something pass.

_SLICE = re.compile(r"^(\w+):\s*(\d{1,4})(?::\s*(\d{1,4}))?$")
_CUT = re.compile(r"^(\w+)(##?|%%?)([^*?\[\]{}$\\'\"]*)$")
_CASE = re.compile(r"^(\w+)(,,?|\^\^?)$")
_OTHER = re.compile(r"^(\w+)(//?)([^/*?\[\]{}$\\'\"#%]+)/([^/*?\[\]{}$\\'\"&]*)$")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|u[0-9a-fA-F]{1,4}|[abefnrtv\\])")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "e": "\x1b",
          "f": "\f", "v": "\v"}  # fmt: skip
_MOST = 4000

Values = Mapping[str, str | None]


def expanded(inner: str, values: Values) -> str | None:
    """Return the value of the content of ``${…}``; None where it is unknown."""
    if inner.startswith("!"):
        name = values.get(inner[1:])
        return values.get(name) if name else None
    if match := _SLICE.match(inner):
        known = values.get(match[1])
        end = int(match[2]) + int(match[3]) if match[3] is not None else None
        return None if known is None else known[int(match[2]) : end]
    if match := _CUT.match(inner):
        return _cut(values.get(match[1]), match[2], match[3])
    if match := _CASE.match(inner):
        return _in_case(values.get(match[1]), match[2])
    if match := _OTHER.match(inner):
        known = values.get(match[1])
        return None if known is None else known.replace(match[3], match[4], _times(match[2]))
    return values.get(inner)


def _times(sign: str) -> int:
    return -1 if sign == "//" else 1


def _cut(known: str | None, sign: str, end: str) -> str | None:
    if known is None:
        return None
    return known.removeprefix(end) if sign[0] == "#" else known.removesuffix(end)


def _in_case(known: str | None, sign: str) -> str | None:
    if known is None:
        return None
    changed = known.lower() if sign[0] == "," else known.upper()
    return changed if len(sign) > 1 else changed[:1] + known[1:]


def printed(program: str, args: Sequence[str], given: Sequence[str]) -> str | None:
    """Return the output of a program, without trailing line ends; None where it is unknown.

    Args:
        program: Its name.
        args: Its arguments, all known exactly.
        given: Its input, if it is part of the command.
    """
    text: str | None = None
    if program == "echo" and not given:
        text = _echoed(list(args))
    elif program == "printf" and not given:
        text = _formatted(list(args))
    elif len(given) == 1 and program == "cat" and not args:
        text = given[0]
    elif len(given) == 1 and program == "rev" and not args:
        text = "\n".join(line[::-1] for line in given[0].split("\n"))
    elif len(given) == 1 and program == "base64" and list(args) in (["-d"], ["--decode"], ["-D"]):
        text = _decoded(given[0])
    return None if text is None or len(text) > _MOST else text.rstrip("\n")


def unescaped(text: str) -> str:
    """Resolve backslash escapes like ``printf`` and ``echo -e``."""
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xu01234567":
        return chr(int(code[1:], 16) if code[0] in "xu" else int(code, 8) & 0xFF)
    return _NAMED[code]


def _echoed(args: list[str]) -> str | None:
    escapes = False
    while args and re.match(r"^-[neE]+$", args[0]):
        escapes = "e" in args.pop(0) or escapes
    text = " ".join(args)
    return unescaped(text) if escapes else text


def _formatted(args: list[str]) -> str | None:
    if args[:1] == ["--"]:
        args = args[1:]
    if not args or args[0].startswith("-"):
        return None
    form, rest = args[0], args[1:]
    if form in {"%s", "%s\\n"} and len(rest) == 1:
        return rest[0]
    if form in {"%b", "%b\\n"} and len(rest) == 1:
        return unescaped(rest[0])
    return unescaped(form) if "%" not in form and not rest else None


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return None


BLANK = " \t"
ENDS_WORD = frozenset(" \t\n;&|()<>")
MOST_SPLICED = 20_000
_NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _NAME_START | frozenset("0123456789")
_PLAIN = _NAME | frozenset("-/.*?[] \t\n")
_WILD = frozenset("*?[{")
_ANSI_C = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
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
        problems: What cannot be analyzed, as sentences without an end.
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
        problems: What cannot be analyzed, while the text around it can.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.values: dict[str, str | None] = {}
        self.problems: list[str] = []
        self.found: list[Simple] = []
        self.functions: set[str] = set()
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
                text = self._single()
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
            self.problems.append("it has commands in the place of a list")
        wild = any(loose and each in _WILD for each, loose in zip(text, live, strict=True))
        try:
            texts = alternatives(text, live) if wild else [text]
        except ValueError as error:
            raise ShellParseError("it stands for very many words") from error
        return [Word(text, opaque, bare, wild) for text in texts]

    def _word(self) -> Word:
        first, *others = self._words(whole=True)
        return Word(first.text, first.opaque, first.bare, wild=True) if others else first

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise ShellParseError("a quote is not closed")
        inner = self.text[self.at + 1 : end]
        self.at = end + 1
        return inner

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
        spliced = "".join(each if each in _PLAIN else "\\" + each for each in known)
        self.text = self.text[: self.at] + spliced.replace("\n", " ") + self.text[self.at :]
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
        begun, before = len(self.found), self.at
        self.commands(until=")")
        self.at += 1
        self._whole = whole
        known = self._output(begun, self.text[before : self.at - 1])
        return ("", True, True) if known is None else self._as_words(known, quoted=quoted)

    def _output(self, begun: int, text: str) -> str | None:
        """Return the output of a substitution, if one simple program produces it."""
        if len(self.found) != begun + 1 or set(text) & set(";&|()\n`") or self.problems:
            return None
        command = self.found[begun]
        known = not any(each.opaque or each.wild for each in command.words)
        plain = all(operator == "<<<" for operator, _ in command.redirects)
        given_known = not any(target.opaque for _, target in command.redirects)
        if not command.words or command.assigned or not (known and plain and given_known):
            return None
        program, *args = (each.text for each in command.words)
        if program in self.functions:
            return None
        return printed(program, args, command.given)

    def _calculation(self, inner: str) -> None:
        """Read arithmetic: it may run commands, set variables, and evaluate values again."""
        if "$(" in inner or "`" in inner:
            self.commands_in(inner, quoted=True)
        names = re.findall(r"[A-Za-z_]\w*", inner)
        if any(not _NUMBER_OR_NAME.match(self.values.get(each) or "") for each in names):
            self.problems.append("it calculates with text")
        if "=" in inner or "++" in inner or "--" in inner:
            self.values |= dict.fromkeys(names)

    def _backtick(self) -> None:
        pieces: list[str] = []
        self.at += 1
        while (here := self._peek()) != "`":
            if not here:
                raise ShellParseError("a quote is not closed")
            following = self.text[self.at + 1 : self.at + 2]
            is_escaped = here == "\\" and following != "" and following in "`\\$"
            pieces.append(following if is_escaped else here)
            self.at += 2 if is_escaped else 1
        self.at += 1
        self.commands_in("".join(pieces))

    def _ansi_c(self) -> str:
        pieces: list[str] = []
        self.at += 1
        while (here := self._peek()) != "'":
            if not here:
                raise ShellParseError("a quote is not closed")
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
            raise ShellParseError("it has control characters")
        return _ANSI_C.get(kind, kind)

    def _number(self, digits: str, most: int, base: int) -> str:
        start = self.at
        while self.at - start < most and self._peek() and self._peek() in digits:
            self.at += 1
        code = int(self.text[start : self.at] or "0", base)
        if not 0 < code < 0x110000:  # noqa: PLR2004 - the end of Unicode
            raise ShellParseError("it has characters that do not exist")
        return chr(code)

    # Helpers

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip_blanks(self, more: str = "") -> None:
        while self._peek() and self._peek() in BLANK + more:
            self.at += 1

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end


def assignment(raw: str, word: Word) -> tuple[str, bool, Word]:
    """Return name and value, if a word is an assignment."""
    name, sign, _ = raw.partition("=")
    name = name.removesuffix("+")
    is_one = bool(sign) and bool(name) and name[0] in _NAME_START and set(name) <= _NAME
    if not is_one:
        return "", False, word
    added = raw.partition("=")[0].endswith("+")  # appended to an unknown value
    return name, True, Word(word.text.partition("=")[2], word.opaque or added, word.bare)


# Parser of the redirections of shell text, here-documents included.


class RedirectReader(WordReader):
    """A parser of redirections; base of the command reader."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._bodies: list[tuple[Simple, str, bool, bool]] = []

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
