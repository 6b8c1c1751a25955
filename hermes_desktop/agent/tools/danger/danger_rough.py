"""Pattern-based findings, which apply even to text that cannot be parsed. Pure."""

import re
from collections.abc import Iterator

# Every pattern here is bounded: a text crafted to be slow would block the whole program.
_FORK_BOMB = re.compile(
    r"([^\s(){};|&]{1,40})\s{0,8}\(\)\s{0,8}\{[^}]{0,200}?\1\s{0,8}\|\s{0,8}\1\s{0,8}&"
)
_SELF_STARTER = re.compile(
    r"([\w.-]{1,40})\s{0,8}\(\)\s{0,8}\{[^}]{0,200}?(?<![\w.-])\1\s{0,8}&(?!&)"
)
_RM = re.compile(r"\brm[ \t]{1,8}([^\n;|&]{0,200})")
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR]|--rec")
_ROOTS = frozenset({"/", "/*", "~", "~/", "~/*", "$HOME", "$HOME/", "${HOME}"})
_ROUGH = (
    (re.compile(r"\bmkfs(\.\w{1,8})?\s[^\n]{0,80}/dev/"), "format-disk", "formats a disk"),
    (re.compile(r">\s{0,8}/dev/(sd|hd|vd|xvd|nvme|mmcblk)"), "write-disk", "overwrites a disk"),
    (re.compile(r"\bof=/dev/(sd|hd|vd|xvd|nvme|mmcblk)"), "write-disk", "overwrites a disk"),
    (
        re.compile(r"\b(rmtree|rmSync|rm_rf|rm_r|remove_dir_all)\b\W{1,4}(/|~)['\"]"),
        "delete-root",
        "deletes the system or the whole home",
    ),
)
_POWER = re.compile(
    r"(^|[\n;&|({])[ \t]{0,8}(sudo[ \t]{1,8})?(shutdown|reboot|poweroff|halt)\b(?![\w.=/-])"
)


def pattern_findings(text: str, *, lost: bool = False) -> Iterator[tuple[str, str, bool]]:
    """Yield key, words and whether it is forbidden.

    Args:
        text: The whole text, or one that another program runs.
        lost: It could not be parsed, so that anything in it may run.
    """
    bare = re.sub(r"\\\n|['\"\\]", "", text)
    bare = re.sub(r"\$\{?IFS\}?", " ", bare)
    apart = re.sub(r"['\",()\[\]\\]{1,8}", " ", text)
    for candidate in (text, bare, apart):
        if _FORK_BOMB.search(candidate) or _SELF_STARTER.search(candidate):
            yield "fork-bomb", "starts copies of itself without end", True
        # In quotes it may be plain text: only what certainly runs is forbidden.
        for pattern, key, words in _ROUGH:
            if pattern.search(candidate):
                yield key, words, False
        for match in _RM.finditer(candidate):
            given = re.sub(r"[)}\]]+(\s|$)", " ", match[1]).split()
            if _ROOTS & set(given) and any(_RECURSIVE.match(each) for each in given):
                yield "delete-root", "deletes the system or the whole home", False
    if lost and _POWER.search(text):
        yield "power", "switches the machine off", False
    if re.search(r"/dev/(tcp|udp)/", bare):
        yield "raw-connection", "opens a connection of its own", False
