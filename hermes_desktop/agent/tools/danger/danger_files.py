"""Assessment of programs that work with files, and of some other single programs."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from hermes_desktop.agent.tools.danger import danger_paths
from hermes_desktop.agent.tools.danger.danger_options import (
    Check,
    Inner,
    both,
    flags,
    matches,
    operands,
    outputs,
    runs,
    unless,
    values,
    writes,
    writes_content,
)
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_words import Found
from hermes_desktop.agent.tools.danger.shell_words import Word
from hermes_desktop.core.files.secret_places import may_match_a_secret

_LONGEST_SCRIPT = 300
_RECURSIVE = frozenset({"r", "R", "--recursive"})

# Deleting


def _rm(args: Sequence[Word], places: Places, found: Found) -> None:
    given, targets = flags(args), operands(args)
    recursive = bool(given & _RECURSIVE)
    if "--no-preserve-root" in given:
        found.add("delete-root", "deletes the system or the whole home", hard=True)
    for target in targets:
        path = places.absolute(target.text)
        everything = target.bare and target.text.rstrip("/").endswith(("/*", "/.*"))
        at_home = target.text in {"~", "~/", "~/*", "."} and path == str(places.user_home)
        vital = danger_paths.is_vital(path, places) and places.knows(target.text)
        if (recursive or everything) and (vital or at_home) and not target.opaque:
            found.add("delete-root", "deletes the system or the whole home", hard=True)
        if not path.startswith((f"{places.root or places.cwd}/", "/tmp/", "/var/tmp/")):  # noqa: S108
            found.add("delete-outside", f"deletes {target.text[:80]}, outside the working folder")
    if not targets or any(_is_many(each) for each in targets):
        found.add("delete-many", "deletes files whose names are only known at run time")
    if recursive:
        found.add("delete-folder", "deletes folders with all their contents")


def _is_many(target: Word) -> bool:
    """Return whether a target stands for files whose names are not known."""
    is_glob = target.bare and target.text in {"*", ".*", "./*"}
    return target.opaque or is_glob or target.text in {"{}", ":::"}


_NARROWS = re.compile(
    r"^-(i?name|i?path|i?wholename|i?regex|i?lname|[acm]?(min|time)|size|empty|newer|user|group|perm"
    r"|inum|samefile|links|nouser|nogroup)$"
)


def _find(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    inner: list[Inner] = []
    at = 0
    first = next((n for n, each in enumerate(args) if each.text.startswith(("-", "("))), len(args))
    starts = [places.absolute(each.text) for each in args[:first] if places.knows(each.text)]
    texts = [each.text for each in args]
    programs = {each.rpartition("/")[2] for each in texts}
    everything = not any(_NARROWS.match(each) for each in texts) or bool({"!", "-not"} & set(texts))
    deletes = bool({"-delete", "rm"} & programs)
    if everything and deletes and any(danger_paths.is_vital(each, places) for each in starts):
        found.add("delete-root", "deletes the system or the whole home", hard=True)
    if everything and programs & {"chmod", "chown", "chgrp"} and "/" in starts:
        found.add("permissions-root", "changes who can use the system", hard=True)
    if "-exec" in texts or "-execdir" in texts:
        _shows_secrets(texts, starts, places, found)
    while at < len(args):
        text = args[at].text
        at += 1
        if text == "-delete":
            found.add("delete-many", "deletes every file that it finds")
        elif text in {"-fprint", "-fprint0", "-fls", "-fprintf"} and at < len(args):
            found.write(args[at], places)
        elif text in {"-exec", "-execdir", "-ok", "-okdir"}:
            end = next((n for n in range(at, len(args)) if args[n].text in {";", "+"}), len(args))
            inner.append(args[at:end])
            at = end
    return inner


def _shows_secrets(
    texts: Sequence[str], starts: Sequence[str], places: Places, found: Found
) -> None:
    """Find a program that reads every file found around the home."""
    if not any(danger_paths.contains_home(each, places) for each in starts):
        return
    names = [after for each, after in pairwise(texts) if "name" in each]
    if not names or any(map(may_match_a_secret, names)):
        found.add("reads-secrets", "reads every file it finds, including those with secrets")


def _fd(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    for at, word in enumerate(args):
        if word.text in {"-x", "-X", "--exec", "--exec-batch"}:
            return [args[at + 1 :]]
    return []


# Permissions and signals

_LOOSE = re.compile(
    r"^[0-7]?[0-7]?[0-7][2367]$|(^|,)[ugoa]*[oa][ugoa]*[+=]\w*w|^[+=]\w*w"
)  # writable for others
_SPECIAL = re.compile(r"^[2-7][0-7]{3}$|[+=]\w*s")


def _chmod(args: Sequence[Word], places: Places, found: Found) -> None:
    mode, *targets = operands(args) or [Word("")]
    if _LOOSE.search(mode.text[:40]):
        found.add("open-to-all", "makes files writable for every user of this machine")
    if _SPECIAL.search(mode.text[:40]):
        found.add("privileges", "lets a program run with the permissions of its owner")
    _changes_all(args, places, found)
    for target in targets:
        found.write(target, places)


def _chown(args: Sequence[Word], places: Places, found: Found) -> None:
    found.add("owner", "changes the owner of files")
    _changes_all(args, places, found)


def _changes_all(args: Sequence[Word], places: Places, found: Found) -> None:
    """Find a change of all files of the system, or of the home."""
    if not flags(args) & {"R", "--recursive"}:
        return
    for target in operands(args)[1:]:
        path = places.absolute(target.text)
        if danger_paths.is_vital(path, places):
            whole = not path.rstrip("*").rstrip("/")
            found.add("permissions-root", "changes who can use the system", hard=whole)


def _kill(args: Sequence[Word], _places: Places, found: Found) -> None:
    texts = [each.text for each in args]
    targets = texts[1:] if texts and texts[0].startswith("-") else texts
    if targets[:1] == ["--"]:
        targets = targets[1:]
    if "-s" in texts or "-n" in texts:
        targets = texts[2:]
    if texts == ["-1"] or {"-1", "1"} & set(targets):
        found.add("kill-all", "ends every program", hard=True)
    if any(each.opaque or "{}" in each.text for each in args):
        found.add("kills", "ends programs that are only known at run time, possibly this one")


# Copying and moving


def _copies(args: Sequence[Word], places: Places, found: Found) -> None:
    """Assess ``cp``, ``mv``, ``ln``, ``install``, ``rsync``: the last operand is written."""
    for word in (*values(args, "-t", "--target-directory"), *operands(args)[-1:]):
        found.write(word, places)


def _ln(args: Sequence[Word], places: Places, found: Found) -> None:
    for source in operands(args)[:-1] or operands(args):
        why = danger_paths.needs_care_to_write(places.absolute(source.text), places)
        if why:
            found.add("writes-care", f"creates another path to {source.text[:80]}; {why}")
    _copies(args, places, found)


def _mv(args: Sequence[Word], places: Places, found: Found) -> None:
    names = operands(args)
    aside = any(each.text.startswith(("-t", "--target-directory")) for each in args)
    places_of_it = {id(after) for word, after in pairwise(args) if word.text == "-t"}
    for source in names if aside else names[:-1]:
        if id(source) in places_of_it:
            continue
        path = places.absolute(source.text)
        if danger_paths.is_vital(path, places):
            found.add("move-vital", "moves the system or the whole home away", hard=True)
        found.write(source, places)
    if names and names[-1].text == "/dev/null":
        found.add("destroys", "discards files")
    _copies(args, places, found)


def _rsync(args: Sequence[Word], places: Places, found: Found) -> None:
    given, names = flags(args), operands(args)
    if any(each.startswith(("--delete", "--remove")) for each in given):
        found.add("delete-many", "deletes files that the source does not have")
        if names and danger_paths.is_vital(places.absolute(names[-1].text), places):
            found.add("delete-root", "deletes the system or the whole home", hard=True)
    if any(":" in each.text for each in names) or given & {"e", "--rsh"}:
        found.add("other-machine", "connects to another machine")
    _copies(args, places, found)


def _last_operand(args: Sequence[Word], places: Places, found: Found) -> None:
    for word in operands(args)[1:][-1:]:
        found.write(word, places)


# Programs with a language of their own


def _sed(args: Sequence[Word], places: Places, found: Found) -> None:
    script, *files = operands(args) or [Word("")]
    if "i" in flags(args) or any(each.text.startswith(("-i", "--in-place")) for each in args):
        for word in files:
            found.write(word, places)
    if len(script.text) > _LONGEST_SCRIPT:
        found.add("runs-text", "lets sed run a long script")
    elif re.search(
        r"(^|[;\n{}\d$/])\s*[ew]\s+\S"
        r"|s([^\w\s])[^\n]*?\2[^\n]*?\2[gIpMm\d]*(e[gIpMm\d]*|w)(\s|;|\}|$)",
        script.text,
    ):
        found.add("runs-text", "lets sed run programs or write files")


def _awk(args: Sequence[Word], _places: Places, found: Found) -> None:
    if any(each.opaque or each.text[:5] == "/dev/" for each in values(args, "-f", "--file")):
        found.add("runs-unseen", "runs input from another program")
    text = " ".join(each.text for each in args)
    if re.search(r"system\s*\(|\|\s*getline|\|\s*\"|>\s*\"|>>\s*\"|\|&|@load", text):
        found.add("runs-text", "lets awk run programs or write files")


_RUNS_BY_TAR = re.compile(
    r"^--(to-command|checkpoint-action|use-compress|rsh|info-script|new-volume)|^-[A-Za-z]*[IF]"
)


def _tar(args: Sequence[Word], _places: Places, found: Found) -> None:
    texts = [each.text for each in args]
    first = re.match(r"^[A-Za-z]*[IF][A-Za-z]*$", texts[0]) if texts else None
    if first or any(map(_RUNS_BY_TAR.match, texts)):
        found.add("runs-text", "lets tar run programs")
    if any(each.startswith(("-P", "--absolute-names", "--remove-files")) for each in texts):
        found.add(
            "writes-care", "writes wherever the archive specifies, or deletes the files it packs"
        )


def _makefile(args: Sequence[Word], _places: Places, found: Found) -> None:
    for value in values(args, "-f", "--file", "--makefile"):
        if value.text == "-" or value.text.startswith(("/dev/", "/proc/")) or value.opaque:
            found.add("runs-unseen", "runs input from another program")


def _cmake(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    at = next((at for at, each in enumerate(args) if each.text == "-E"), None)
    if at is None:
        return []
    verb, rest = (args[at + 1].text if at + 1 < len(args) else ""), args[at + 2 :]
    same = {
        "rm": "rm", "remove": "rm", "copy": "cp", "copy_directory": "cp", "rename": "mv",
        "touch": "touch", "env": "env", "time": "env",
    }  # fmt: skip
    if verb == "remove_directory":
        return [[Word("rm"), Word("-r"), *rest]]
    return [[Word(same[verb]), *rest]] if verb in same else []


# Words of a shell


def _source(args: Sequence[Word], _places: Places, found: Found) -> None:
    target = args[0] if args else Word("", opaque=True)
    if target.opaque or target.text.startswith(("/dev/", "/proc/")) or target.text == "-":
        found.add("runs-unseen", "runs input from another program")


def _declares(args: Sequence[Word], _places: Places, found: Found) -> None:
    if not args:
        found.add("reads-secrets", "shows every variable")


def _mapfile(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    return [each.text for each in values(args, "-C")]


def _evaluated(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    """Assess ``eval``: its words are shell text."""
    if any(each.opaque for each in args):
        found.add("unreadable", "cannot be judged: it changes the meaning of later words")
    return [" ".join(each.text for each in args)]


def _trapped(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    _evaluated(args, places, found)
    return [each.text for each in args[:1] if each.text not in {"-", "-l", "-p", "--"}]


def _aliased(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    return [each.text.partition("=")[2] for each in args if "=" in each.text]


def _crontab(args: Sequence[Word], _places: Places, found: Found) -> None:
    if [each.text for each in args] != ["-l"]:
        found.add("system", "changes what runs automatically")


# The tables

_AWK = ("awk", "gawk", "mawk", "nawk")
_EDITORS = (
    "vim", "vi", "nvim", "emacs", "view", "vimdiff", "gvim", "rvim", "rview", "nvimdiff",
    "gvimdiff", "evim", "emacsclient", "kak",
)  # fmt: skip
_RUNS_COMMANDS = matches(
    r"^(-[cSsefl]|\+|--cmd|--eval)", "runs-text", "lets an editor run commands"
)
_DESTROYS = matches(
    r"^(destroy|rollback|delete|--zero-superblock|labelclear|--stop|--remove|create)$",
    "destroys", "destroys data that cannot be restored",
)  # fmt: skip
_PIP_TARGETS = outputs("-t", "--target", "--prefix", "--root")
_MAKE = both(runs(r"^(--eval|-E|(SHELL|MAKEFLAGS|\.SHELLFLAGS)=)"), _makefile)
_TAR = both(_tar, outputs("-C", "--directory"))
_OFF = "switches the machine off"

CHECKS: Mapping[str, Check] = {
    "rm": _rm, "rmdir": writes, "unlink": _rm, "find": _find, "fd": _fd, "fdfind": _fd,
    "chmod": _chmod, "chown": _chown, "chgrp": _chown, "kill": _kill,
    "cp": _copies, "mv": _mv, "ln": _ln, "install": _copies, "rsync": _rsync,
    "tee": writes_content, "touch": writes, "mkdir": writes, "sed": _sed, "gsed": _sed,
    **dict.fromkeys(_AWK, _awk), "tar": _TAR, "bsdtar": _TAR,
    **dict.fromkeys(_EDITORS, _RUNS_COMMANDS),
    "source": _source, ".": _source, "eval": _evaluated, "trap": _trapped, "alias": _aliased,
    "export": _declares, "declare": _declares, "set": _declares,
    "mapfile": _mapfile, "readarray": _mapfile, "compgen": _mapfile, "crontab": _crontab,
    "pip": _PIP_TARGETS, "pip3": _PIP_TARGETS, "make": _MAKE, "gmake": _MAKE, "cmake": _cmake,
    "tmux": unless(r"^(ls|list-sessions|list-windows|-V)$", "indirect",
                   "controls another terminal in a way that cannot be judged"),
    "init": matches(r"^[016sS]$", "power", _OFF, hard=True),
    "loginctl": matches(r"^(poweroff|reboot|halt|suspend|hibernate)$", "power", _OFF, hard=True),
    "ip": matches(r"^(set|add|del|delete|flush|replace|change|netns)$", "system",
                  "changes the network of this machine"),
    "zfs": _DESTROYS, "zpool": _DESTROYS, "mdadm": _DESTROYS, "btrfs": _DESTROYS,
    "rg": runs(r"^--(pre|hostname-bin)(=|$)"),
    "man": runs(r"^(-[A-Za-z]*P|--pager|-[A-Za-z]*H|--html)"),
    "zip": runs(r"^(-TT|--unzip-command)"),
    "less": runs(r"^\+.{0,40}[!|]|^-k|^--lesskey"), "more": runs(r"^\+.{0,40}[!|]"),
    "sort": both(runs(r"^--compress-program"), outputs("-o", "--output")),
    "dd": outputs("of=", content=True), "openssl": outputs("-out"), "unzip": outputs("-d"),
    **dict.fromkeys(("7z", "7za", "7zz", "gcc", "cc", "clang", "g++", "ld"), outputs("-o")),
    "cpio": outputs("-D", "--directory"), "csplit": outputs("-f", "--prefix"),
    "git": outputs("--output", "-o"), "cargo": outputs("--root", "--target-dir"),
    "patch": writes_content, "sponge": writes_content, "ddrescue": writes_content,
    "split": _last_operand,
}  # fmt: skip
