"""Deny rules: whether a rule of the user forbids a program that a command starts."""

import fnmatch
import re
from collections.abc import Sequence

from hermes_desktop.agent.tools.danger.shell_words import Word

_LETTERS = re.compile(r"-[A-Za-z]+\*?")
_MOST_STARTS = 8
_LEAST_TOKENS = 2


def is_denied(rule: str, programs: Sequence[tuple[Word, ...]]) -> bool:
    """Return whether a rule such as ``git push*`` denies one of the programs.

    Its words may stand anywhere among the options: ``git -C . push`` is the same as ``git push``.
    A word that is only known at run time may be any word.

    Args:
        rule: With ``*`` and ``?``.
        programs: What is started, each with its arguments, without quotes and wrappers.
    """
    tokens = rule.split()
    if not tokens:
        return False
    starts = [0]
    if any(words[0].opaque and _is_many(words[0]) for words in programs):
        starts = list(range(_MOST_STARTS))  # a function that runs its arguments
    return any(
        _denies(tokens, words[start:])
        for words in programs
        for start in starts
        if start < len(words)
    )


def _denies(tokens: Sequence[str], words: Sequence[Word]) -> bool:
    program, *rest = words
    if program.opaque and (len(tokens) < _LEAST_TOKENS or _is_many(program)):
        return False  # it may be anything, and so may its rule
    if not program.opaque and not fnmatch.fnmatchcase(program.text, tokens[0]):
        return False
    flags = [each for each in tokens[1:] if each.startswith("-")]
    if not all(_has_flag(each, rest) for each in flags):
        return False
    return _in_order([each for each in tokens[1:] if not each.startswith("-")], tokens, rest)


def _in_order(wanted: Sequence[str], tokens: Sequence[str], words: Sequence[Word]) -> bool:
    """Return whether the words of a rule follow one another, with only options in between."""
    is_open = tokens[-1].endswith("*")
    if not wanted and is_open:
        return True
    reached = {0}  # how many words of the rule may be found so far
    before: Word | None = None
    for word in words:
        is_option = word.text.startswith("-") and not word.opaque
        is_value = before is not None and before.text.startswith("-")
        following: set[int] = set()
        for count in reached:
            if is_option or is_value:
                following.add(count)
            if count < len(wanted) and _is_word(wanted[count], word, known=is_value):
                following |= {count, count + 1} if wanted[count] == "*" else {count + 1}
        if len(wanted) in following and is_open:
            return True
        if reached and _is_many(word) and not is_value:
            return True
        reached, before = following, word
    return len(wanted) in reached


def _is_word(wanted: str, word: Word, *, known: bool) -> bool:
    if word.opaque:
        return not known  # what follows an option is its value
    return fnmatch.fnmatchcase(word.text, wanted) and (wanted == "*" or " " not in word.text)


def _has_flag(wanted: str, words: Sequence[Word]) -> bool:
    """Return whether an option is present; letters may be given together or one by one."""
    if any(fnmatch.fnmatchcase(each.text, wanted) or _is_many(each) for each in words):
        return True
    if not _LETTERS.fullmatch(wanted):
        return False
    given = {letter for each in words if _LETTERS.fullmatch(each.text) for letter in each.text[1:]}
    return set(wanted[1:].rstrip("*")) <= given


def _is_many(word: Word) -> bool:
    """Return whether a word may become several at run time."""
    return word.text == "{}" or (word.opaque and ("@" in word.text or "*" in word.text))
