"""What words of a shell stand for: braces, known values, and the output of simple programs. Pure.

Every value is exact or None: a wrong guess would let something pass.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

MOST_WORDS = 64
_MOST_DEPTH = 8
_MOST = 4000

# Braces


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


def alternatives(text: str, live: Sequence[bool], depth: int = 0) -> list[str]:
    """Return the words that ``a{b,c}`` expands to; the text itself where there are no braces.

    Args:
        text: The word without its quotes.
        live: For each character, whether it was outside of quotes.
        depth: How many braces it is in.

    Raises:
        ValueError: There are too many.
    """
    found = _first_list(text, live)
    if found is None:
        return [text]
    if depth >= _MOST_DEPTH:
        raise ValueError("too deep")
    begin, end, commas = found
    tails = alternatives(text[end + 1 :], live[end + 1 :], depth + 1)
    words: list[str] = []
    for start, stop in pairwise([begin, *commas, end]):
        for middle in alternatives(text[start + 1 : stop], live[start + 1 : stop], depth + 1):
            words += [text[:begin] + middle + tail for tail in tails]
            if len(words) > MOST_WORDS:
                raise ValueError("too many")
    return words


def _first_list(text: str, live: Sequence[bool]) -> tuple[int, int, list[int]] | None:
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


# Values

_SLICE = re.compile(r":\s*(\d{1,4})(?::\s*(\d{1,4}))?")
_CUT = re.compile(r"(##?|%%?)([^*?\[\]{}$\\'\"]*)")
_CASE = re.compile(r",,?|\^\^?")
_OTHER = re.compile(r"(//?)([^/*?\[\]{}$\\'\"#%]+)/([^/*?\[\]{}$\\'\"&]*)")
_NAMED_VALUE = re.compile(r"(\w+)(.*)", re.DOTALL)

Values = Mapping[str, str | None]


def expanded(inner: str, values: Values) -> str | None:
    """Return the value of the content of ``${…}``; None where it is unknown."""
    if inner.startswith("!"):
        name = values.get(inner[1:])
        return values.get(name) if name else None
    if inner in values:
        return values[inner]
    match = _NAMED_VALUE.fullmatch(inner)
    known = values.get(match[1]) if match else None
    return None if match is None or known is None else _changed(known, match[2])


def _changed(known: str, how: str) -> str | None:
    """Return what an expansion makes of a value; None where it is unknown."""
    if match := _SLICE.fullmatch(how):
        start = int(match[1])
        return known[start : start + int(match[2]) if match[2] is not None else None]
    if match := _CUT.fullmatch(how):
        is_front = match[1][0] == "#"
        return known.removeprefix(match[2]) if is_front else known.removesuffix(match[2])
    if _CASE.fullmatch(how):
        changed = known.lower() if how[0] == "," else known.upper()
        return changed if len(how) > 1 else changed[:1] + known[1:]
    if match := _OTHER.fullmatch(how):
        return known.replace(match[2], match[3], -1 if match[1] == "//" else 1)
    return None


# Escapes

_OF_PRINTF = re.compile(r"\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|u[0-9a-fA-F]{1,4}|[abefnrtv\\])")
_OF_QUOTES = re.compile(
    r"\\(x[0-9a-fA-F]{0,2}|[0-7]{1,3}|u[0-9a-fA-F]{0,4}|U[0-9a-fA-F]{0,8}|.)", re.DOTALL
)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v",
          "c": "\0"}  # fmt: skip


def unescaped(text: str) -> str:
    """Resolve backslash escapes like ``printf`` and ``echo -e``."""
    return _OF_PRINTF.sub(_character, text)


def ansi_c(text: str) -> str:
    """Return the value of ``$'…'``.

    Raises:
        ValueError: It has characters that do not exist, or that no word can have.
    """
    try:
        value = _OF_QUOTES.sub(_character, text)
    except OverflowError as error:
        raise ValueError("no such character") from error
    if "\0" in value:
        raise ValueError("no word can have it")
    return value


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return chr(int(code[1:] or "0", 16)) if code[0] in "xuU" else _NAMED.get(code, code)


# Output


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
    if text is None or len(text) > _MOST or "\0" in text:  # a shell drops the latter
        return None
    return text.rstrip("\n")


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
