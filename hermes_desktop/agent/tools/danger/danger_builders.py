"""Programs with an option that runs other programs, or that writes to a given place."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_words import Found
from hermes_desktop.agent.tools.danger.danger_wrappers import Inner
from hermes_desktop.agent.tools.danger.shell_reader import Word

_Check = Callable[[Sequence[Word], Places, Found], list[Inner]]


def _runs(pattern: str) -> _Check:
    """Return a check for options by which a program runs others."""
    compiled = re.compile(pattern)

    def check(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
        if any(compiled.match(each.text) for each in args):
            found.add("runs-text", "lets another program run what the command says")
        return []

    return check


def _values(args: Sequence[Word], *names: str) -> Iterator[Word]:
    """Yield the values of options: in the next word, joined, or after an equals sign."""
    for word, following in zip(args, [*args[1:], Word("")], strict=False):
        for name in names:
            if word.text == name:
                yield following
            elif name.startswith("--") and word.text.startswith(f"{name}="):
                yield Word(word.text[len(name) + 1 :], word.opaque)
            elif not name.startswith("--") and word.text.startswith(name):
                yield Word(word.text[len(name) :], word.opaque)


def _both(*checks: _Check) -> _Check:
    def check(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
        return [inner for each in checks for inner in each(args, places, found)]

    return check


def _outputs(*names: str) -> _Check:
    """Return a check for options whose value is a written file."""

    def check(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
        for value in _values(args, *names):
            found.write(value, places)
        return []

    return check


def _operands(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    for word in args:
        if not word.text.startswith("-"):
            found.write(word, places, content=True)
    return []


def _last_operand(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    names = [each for each in args if not each.text.startswith("-")]
    if len(names) > 1:
        found.write(names[-1], places)
    return []


def _make(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    own = any(re.match(r"^(--eval|-E|(SHELL|MAKEFLAGS|\.SHELLFLAGS)=)", e.text) for e in args)
    if own:
        found.add("runs-text", "lets another program run what the command says")
    for value in _values(args, "-f", "--file", "--makefile"):
        if value.text == "-" or value.text.startswith(("/dev/", "/proc/")) or value.opaque:
            found.add("runs-unseen", "runs what another program hands it")
    return []


def _cmake(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    at = next((at for at, each in enumerate(args) if each.text == "-E"), None)
    if at is None:
        return []
    verb, rest = (args[at + 1].text if at + 1 < len(args) else ""), args[at + 2 :]
    if verb in {"rm", "remove", "remove_directory"}:
        recursive = [Word("-r")] if verb == "remove_directory" else []
        return [[Word("rm"), *recursive, *rest]]
    same = {"copy": "cp", "copy_directory": "cp", "rename": "mv", "touch": "touch"}
    if verb in same:
        return [[Word(same[verb]), *rest]]
    return [[Word("env"), *rest]] if verb in {"env", "time"} else []


_HERE = re.compile(r"^([^@\s]{1,64}@)?(localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0)$")


def _ssh(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    """Return the remote command if it may be run on this machine; other machines are not judged."""
    here = next((at for at, each in enumerate(args) if _HERE.match(each.text)), None)
    return [] if here is None else [" ".join(each.text for each in args[here + 1 :])]


def _mapfile(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    return [each.text for each in _values(args, "-C")]


def _evaluated(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    """Assess ``eval``: its words are shell text."""
    if any(each.opaque for each in args):
        found.add("unreadable", "cannot be judged: it changes what later words mean")
    return [" ".join(each.text for each in args)]


def _trapped(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    if any(each.opaque for each in args):
        found.add("unreadable", "cannot be judged: it changes what later words mean")
    return [each.text for each in args[:1] if each.text not in {"-", "-l", "-p", "--"}]


def _aliased(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    return [each.text.partition("=")[2] for each in args if "=" in each.text]


def _volumes(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    if {each.text for each in args} & {"destroy", "rollback", "delete", "--zero-superblock",
                                       "labelclear", "--stop", "--remove", "create"}:  # fmt: skip
        found.add("destroys", "destroys what cannot be brought back")
    return []


def _login(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    if {each.text for each in args} & {"poweroff", "reboot", "halt", "suspend", "hibernate"}:
        found.add("power", "switches the machine off", hard=True)
    return []


BUILDERS: Mapping[str, _Check] = {
    "make": _make, "gmake": _make, "cmake": _cmake, "eval": _evaluated, "trap": _trapped,
    "alias": _aliased, "mapfile": _mapfile, "readarray": _mapfile, "compgen": _mapfile,
    "rg": _runs(r"^--(pre|hostname-bin)(=|$)"),
    "sort": _both(_runs(r"^--compress-program"), _outputs("-o", "--output")),
    "man": _runs(r"^(-[A-Za-z]*P|--pager|-[A-Za-z]*H|--html)"),
    "zip": _runs(r"^(-TT|--unzip-command)"),
    "unzip": _outputs("-d"), "7z": _outputs("-o"), "7za": _outputs("-o"), "7zz": _outputs("-o"),
    "openssl": _outputs("-out"), "gcc": _outputs("-o"), "cc": _outputs("-o"),
    "clang": _outputs("-o"), "g++": _outputs("-o"), "ld": _outputs("-o"),
    "cpio": _outputs("-D", "--directory"), "patch": _operands, "sponge": _operands,
    "split": _last_operand, "csplit": _outputs("-f", "--prefix"), "ddrescue": _operands,
    "less": _runs(r"^\+.{0,40}[!|]|^-k|^--lesskey"), "more": _runs(r"^\+.{0,40}[!|]"),
    "git": _outputs("--output", "-o"), "cargo": _outputs("--root", "--target-dir"),
    "zfs": _volumes, "zpool": _volumes, "mdadm": _volumes, "btrfs": _volumes,
    "loginctl": _login, "ssh": _ssh,
}  # fmt: skip
