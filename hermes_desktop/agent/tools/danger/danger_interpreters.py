"""Assessment of shells and interpreters: code as an argument, from elsewhere, or in a file."""

import re
from collections.abc import Iterator, Mapping, Sequence

from hermes_desktop.agent.tools.danger.danger_options import Inner, letters
from hermes_desktop.agent.tools.danger.danger_words import Found
from hermes_desktop.agent.tools.danger.shell_words import Word

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "csh", "tcsh", "rbash"})
_INTERPRETERS = re.compile(
    r"^(python[\d.]*|pypy3?|perl[\d.]*|ruby[\d.]*|node|nodejs|deno|bun|php[\d.]*|lua[\d.]*|luajit"
    r"|osascript|tclsh|wish|guile|Rscript|R|julia|octave|swift|sbcl|racket|clojure|clj|bb|ocaml|raku"
    r"|gnuplot|ipython3?|bpython|pwsh|powershell|jshell|ghci|runghc|irb|groovy|scala|kotlin|elixir"
    r"|erl|iex|crystal|nim|jruby|gjs|seed|m4|dc)$"
)
_OF_SHELLS = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_INTERPRETER_USUAL = ("ceEr", {"--eval", "--print", "--exec", "--execute", "--expression"})
_TAKES_TEXT: Mapping[str, tuple[str, set[str]]] = {
    "python": ("c", set()),
    "perl": ("eE", set()),
    "ruby": ("e", set()),
    "node": ("eprP", {"--eval", "--print", "--require", "--import", "--loader"}),
    "php": ("rBREF", {"--run", "--process-begin", "--process-code", "--process-end"}),
    "lua": ("e", set()),
    "R": ("e", set()),
    "Rscript": ("e", set()),
    "julia": ("eE", {"--eval", "--print"}),
    "gnuplot": ("e", set()),
}
_TAKES_VALUE: Mapping[str, frozenset[str]] = {
    "python": frozenset({"-W", "-X", "--check-hash-based-pycs"}),
    "perl": frozenset({"-I"}),
    "ruby": frozenset({"-I", "-C", "-r", "-E", "-K"}),
    "node": frozenset({"-C", "--conditions", "--env-file", "--input-type", "--title"}),
    "php": frozenset({"-d", "-c", "-t", "-S", "-z"}),
    "lua": frozenset({"-l"}),
    "julia": frozenset({"-L", "-J", "-p", "-t", "-C"}),
}
_LOOKS = frozenset({"--version", "--help", "-V", "-h", "--test", "--check"})
_RUN_MODULES = frozenset({"timeit", "code", "asyncio", "IPython", "bpython", "ptpython", "idlelib"})
_TRACES = frozenset({"pdb", "cProfile", "profile", "trace", "runpy", "bdb", "doctest"})


def is_shell(program: str) -> bool:
    """Return whether a program reads shell text."""
    return program in _SHELLS


def is_interpreter(program: str) -> bool:
    """Return whether a program is an interpreter."""
    return _INTERPRETERS.match(program) is not None


def operand_of(program: str, args: Sequence[Word]) -> Word | None:
    """Return the file that is run; None where there is none."""
    takes_value = _OF_SHELLS if is_shell(program) else _TAKES_VALUE.get(_kind(program), frozenset())
    at = 0
    while at < len(args):
        text = args[at].text
        if text == "--":
            return args[at + 1] if at + 1 < len(args) else None
        is_flag = text[:1] == "-" or (is_shell(program) and text[:1] == "+")
        if not is_flag or text == "-":
            return args[at]
        at += 2 if text in takes_value else 1
    return None


def interpreted(program: str, args: Sequence[Word], found: Found) -> list[Inner]:
    """Record what an interpreter runs; return the parts that can be assessed in turn."""
    operand = operand_of(program, args)
    before = list(args) if operand is None else _before(operand, args)
    if is_shell(program):
        return _shell(before, operand, args[len(before) + 1 :], found)
    texts = [each.text for each in before]
    if _LOOKS & set(texts) or ("-v" in texts and operand is None):
        return []
    if program.startswith(("python", "pypy")) and "-m" in texts:
        return _module(args[texts.index("-m") + 1 :], found)
    is_verb = operand is not None and program in {"deno", "bun"} and operand.text == "eval"
    if is_verb or any(_tells_text(_kind(program), each) for each in texts):
        found.add("runs-text", "runs a program that is part of the command")
    elif operand is None or _is_unseen(operand):
        found.add("runs-unseen", "runs input from another program")
    return []


def _before(operand: Word, args: Sequence[Word]) -> list[Word]:
    at = next(number for number, each in enumerate(args) if each is operand)
    return list(args[:at])


def _shell(
    before: Sequence[Word], operand: Word | None, rest: Sequence[Word], found: Found
) -> list[Inner]:
    texts = [each.text for each in before]
    given = letters(texts)
    if {"--version", "--help"} & set(texts) or "n" in given:
        return []
    if "c" in given:
        if operand is not None and not operand.opaque and "{}" not in operand.text:
            # Its values may be run as well.
            return [operand.text, *([rest, rest[1:]] if "$" in operand.text else [])]
        found.add("runs-text", "runs a program that is part of the command")
    elif operand is None or "s" in given or _is_unseen(operand):
        found.add("runs-unseen", "runs input from another program")
    elif {"--rcfile", "--init-file"} & set(texts):
        found.add("hidden-program", "runs another file first")
    return []


def _is_unseen(operand: Word) -> bool:
    text = operand.text
    elsewhere = text.startswith(("/dev/fd", "/proc/", "http:", "https:"))
    return operand.opaque or "{}" in text or elsewhere or text in {"-", "/dev/stdin"}


def _module(args: Sequence[Word], found: Found) -> list[Inner]:
    """Assess ``python -m``: a module with its arguments, which is like a program."""
    if not args:
        return []
    name, rest = args[0].text, [each.text for each in args[1:]]
    if name in _RUN_MODULES or (name in _TRACES and {"-c", "--command"} & set(rest)):
        found.add("runs-text", "runs a program that is part of the command")
    return [args]


def _kind(program: str) -> str:
    kinds = {"pypy": "python", "nodejs": "node", "luajit": "lua", "jruby": "ruby"}
    bare = program.rstrip("0123456789.")
    return kinds.get(bare, bare)


def _tells_text(kind: str, flag: str) -> bool:
    by_letter, words = _TAKES_TEXT.get(kind, _INTERPRETER_USUAL)
    if flag.startswith("--"):
        return flag.partition("=")[0] in words
    return any(letter in by_letter for letter in _letters(kind, flag))


def _letters(kind: str, flag: str) -> Iterator[str]:
    """Yield the flags of a cluster; the text after a flag that takes a value is its value."""
    takes_value = _TAKES_VALUE.get(kind, frozenset())
    for letter in flag[1:]:
        yield letter
        if f"-{letter}" in takes_value or (kind == "perl" and letter in "MmiI"):
            return
