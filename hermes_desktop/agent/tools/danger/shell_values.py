"""Expansion of known values in a shell, and the output of simple programs. Pure.

Every result is exact or None: a wrong guess would let something pass.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence

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
