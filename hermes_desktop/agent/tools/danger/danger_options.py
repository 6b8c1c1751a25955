"""The arguments of a program: its options, their values, and rules about them as data."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_words import Found
from hermes_desktop.agent.tools.danger.shell_words import Word

Inner = str | Sequence[Word]
"""Something else that a program starts: shell text, or a program with its arguments."""
Check = Callable[[Sequence[Word], Places, Found], Iterable[Inner] | None]
"""Records what a program may do with its arguments; returns what it starts, if anything."""


def flags(args: Sequence[Word]) -> set[str]:
    """Return short flags as letters, long ones as words."""
    found: set[str] = set()
    for word in args:
        if word.text == "--":
            break
        if word.text.startswith("--"):
            found.add(word.text.partition("=")[0])
        elif word.text.startswith("-"):
            found |= set(word.text[1:])
    return found


def letters(texts: Iterable[str]) -> set[str]:
    """Return the letters of short flags."""
    return {letter for each in texts if re.match(r"^-[A-Za-z]", each) for letter in each[1:]}


def operands(args: Sequence[Word]) -> list[Word]:
    """Return what is no option."""
    return [each for each in args if not each.text.startswith("-") or each.text == "-"]


def with_next(args: Sequence[Word]) -> Iterator[tuple[Word, Word]]:
    """Yield each argument with the one after it; the last one with an empty one."""
    return zip(args, [*args[1:], Word("")], strict=False)


def values(args: Sequence[Word], *names: str) -> Iterator[Word]:
    """Yield the values of options: in the next word, joined, or after an equals sign."""
    for word, following in with_next(args):
        for name in names:
            if word.text == name:
                yield following
            elif name.startswith("--") and word.text.startswith(f"{name}="):
                yield Word(word.text[len(name) + 1 :], word.opaque)
            elif not name.startswith("--") and word.text.startswith(name):
                yield Word(word.text[len(name) :], word.opaque)


# Rules: each is a check that starts nothing.


def both(*checks: Check) -> Check:
    """Return a check that is several."""

    def check(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
        return [inner for each in checks for inner in each(args, places, found) or ()]

    return check


def matches(
    pattern: str, key: str, words: str, *, hard: bool = False, verbs: int | None = None
) -> Check:
    """Return a check that finds a danger if an argument matches.

    Args:
        pattern: For the beginning of the argument.
        key: The kind of the danger.
        words: What the program does then, after "It".
        hard: It is never run.
        verbs: How many arguments that are no options are looked at; None: all arguments.
    """
    compiled = re.compile(pattern)

    def check(args: Sequence[Word], _places: Places, found: Found) -> None:
        looked = args if verbs is None else operands(args)[:verbs]
        if any(compiled.match(each.text) for each in looked):
            found.add(key, words, hard=hard)

    return check


def unless(pattern: str, key: str, words: str) -> Check:
    """Return a check that finds a danger if no argument matches."""
    compiled = re.compile(pattern)

    def check(args: Sequence[Word], _places: Places, found: Found) -> None:
        if not any(compiled.match(each.text) for each in args):
            found.add(key, words)

    return check


def runs(pattern: str) -> Check:
    """Return a check for options by which a program runs others."""
    return matches(pattern, "runs-text", "lets another program run parts of the command")


def outputs(*names: str, content: bool = False) -> Check:
    """Return a check for options whose value is a written file."""

    def check(args: Sequence[Word], places: Places, found: Found) -> None:
        for value in values(args, *names):
            found.write(value, places, content=content)

    return check


def writes(args: Sequence[Word], places: Places, found: Found) -> None:
    """Record all operands as written files."""
    for word in operands(args):
        found.write(word, places)


def writes_content(args: Sequence[Word], places: Places, found: Found) -> None:
    """Record all operands as files with new content."""
    for word in operands(args):
        found.write(word, places, content=True)
