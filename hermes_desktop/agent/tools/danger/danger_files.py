"""Assessment of programs that work with files, and of some other single programs."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from urllib.parse import urlsplit

from hermes_desktop.agent.tools.danger import danger_paths
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_words import Found, changes_what_runs
from hermes_desktop.agent.tools.danger.danger_wrappers import Inner
from hermes_desktop.agent.tools.danger.shell_reader import Word
from hermes_desktop.core.files.secret_places import may_match_a_secret

_LONGEST_SCRIPT = 300


def _flags(args: Sequence[Word]) -> set[str]:
    """Return short flags as letters, long ones as words."""
    flags: set[str] = set()
    for word in args:
        if word.text == "--":
            break
        if word.text.startswith("--"):
            flags.add(word.text.partition("=")[0])
        elif word.text.startswith("-"):
            flags |= set(word.text[1:])
    return flags


def _operands(args: Sequence[Word]) -> list[Word]:
    return [each for each in args if not each.text.startswith("-") or each.text == "-"]


def _rm(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    flags, targets = _flags(args), _operands(args)
    recursive = bool(flags & {"r", "R", "--recursive"})
    if "--no-preserve-root" in flags:
        found.add("delete-root", "deletes the system or the whole home", hard=True)
    for target in targets:
        path = places.absolute(target.text)
        everything = target.bare and target.text.rstrip("/").endswith(("/*", "/.*"))
        at_home = target.text in {"~", "~/", "~/*", "."} and path == str(places.user_home)
        vital = danger_paths.is_vital(path, places) and places.knows(target.text)
        if (recursive or everything) and (vital or at_home) and not target.opaque:
            found.add("delete-root", "deletes the system or the whole home", hard=True)
        if target.text in {"{}", ":::"}:
            found.add("delete-many", "deletes files whose names are only known at run time")
        outside = not path.startswith((f"{places.root or places.cwd}/", "/tmp/", "/var/tmp/"))  # noqa: S108
        if outside:
            found.add("delete-outside", f"deletes {target.text[:80]}, outside the working folder")
        if target.opaque or (target.bare and target.text in {"*", ".*", "./*"}):
            found.add("delete-many", "deletes files whose names are only known at run time")
    if not targets:
        found.add("delete-many", "deletes files whose names are only known at run time")
    if recursive:
        found.add("delete-folder", "deletes folders with all their contents")
    return []


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
    everything = not any(_NARROWS.match(each) for each in texts) or bool({"!", "-not"} & set(texts))
    deletes = "-delete" in texts or any(each.rpartition("/")[2] == "rm" for each in texts)
    if everything and deletes and any(danger_paths.is_vital(each, places) for each in starts):
        found.add("delete-root", "deletes the system or the whole home", hard=True)
    programs = {each.rpartition("/")[2] for each in texts}
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


def _chmod(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    operands = _operands(args)
    mode = operands[0].text[:40] if operands else ""
    loose = re.search(r"^[0-7]?[0-7]?[0-7][2367]$", mode) or re.search(
        r"(^|,)[ugoa]*[oa][ugoa]*[+=]\w*w", mode
    )
    special = re.search(r"^[2-7][0-7]{3}$", mode) or re.search(r"[+=]\w*s", mode)
    if loose or re.search(r"^[+=]\w*w", mode):
        found.add("open-to-all", "makes files writable for every user of this machine")
    if special:
        found.add("privileges", "lets a program run with the permissions of its owner")
    flags = {each.text for each in args if each.text.startswith("-")}
    recursive = any(each == "--recursive" or (each[1:2] != "-" and "R" in each) for each in flags)
    for target in operands[1:]:
        path = places.absolute(target.text)
        if recursive and danger_paths.is_vital(path, places):
            _all_rights(path, found)
        found.write(target, places)
    return []


def _all_rights(path: str, found: Found) -> None:
    whole = not path.rstrip("*").rstrip("/")
    found.add("permissions-root", "changes who can use the system", hard=whole)


def _chown(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    found.add("owner", "changes the owner of files")
    if _flags(args) & {"R", "--recursive"}:
        for target in _operands(args)[1:]:
            path = places.absolute(target.text)
            if danger_paths.is_vital(path, places):
                _all_rights(path, found)
    return []


def _kill(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    texts = [each.text for each in args]
    signals = texts[0] if texts else ""
    targets = texts[1:] if signals.startswith("-") else texts
    if targets[:1] == ["--"]:
        targets = targets[1:]
    if "-s" in texts or "-n" in texts:
        targets = texts[2:]
    if texts in (["-1"], ["1"]) or any(each in {"-1", "1"} for each in targets):
        found.add("kill-all", "ends every program", hard=True)
    if any(each.opaque or "{}" in each.text for each in args):
        found.add("kills", "ends programs that are only known at run time, possibly this one")
    return []


def _copies(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    """Assess ``cp``, ``mv``, ``ln``, ``install``, ``rsync``: the last operand is written."""
    operands = _operands(args)
    for at, word in enumerate(args):
        if word.text in {"-t", "--target-directory"} and at + 1 < len(args):
            found.write(args[at + 1], places)
        elif word.text.startswith("--target-directory="):
            found.write(Word(word.text.partition("=")[2], word.opaque), places)
    if operands:
        found.write(operands[-1], places)
    return []


def _ln(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    for source in _operands(args)[:-1] or _operands(args):
        why = danger_paths.needs_care_to_write(places.absolute(source.text), places)
        if why:
            found.add("writes-care", f"creates another path to {source.text[:80]}; {why}")
    return _copies(args, places, found)


def _mv(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    operands = _operands(args)
    aside = any(each.text.startswith(("-t", "--target-directory")) for each in args)
    places_of_it = {id(after) for word, after in pairwise(args) if word.text == "-t"}
    for source in operands if aside else operands[:-1]:
        if id(source) in places_of_it:
            continue
        path = places.absolute(source.text)
        if danger_paths.is_vital(path, places):
            found.add("move-vital", "moves the system or the whole home away", hard=True)
        found.write(source, places)
    if operands and operands[-1].text == "/dev/null":
        found.add("destroys", "discards files")
    return _copies(args, places, found)


def _rsync(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    flags = _flags(args)
    if any(each.startswith(("--delete", "--remove")) for each in flags):
        found.add("delete-many", "deletes files that the source does not have")
        target = places.absolute(_operands(args)[-1].text) if _operands(args) else ""
        if target and danger_paths.is_vital(target, places):
            found.add("delete-root", "deletes the system or the whole home", hard=True)
    if any(":" in each.text for each in _operands(args)) or flags & {"e", "--rsh"}:
        found.add("other-machine", "connects to another machine")
    return _copies(args, places, found)


def _writes(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    for word in _operands(args):
        found.write(word, places)
    return []


def _tee(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    for word in _operands(args):
        found.write(word, places, content=True)
    return []


def _sed(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    flags = _flags(args)
    in_place = any(word.text.startswith(("-i", "--in-place")) for word in args) or "i" in flags
    operands = _operands(args)
    if in_place:
        for word in operands[1:]:
            found.write(word, places)
    script = operands[0].text if operands else ""
    if len(script) > _LONGEST_SCRIPT:
        found.add("runs-text", "lets sed run a long script")
        return []
    if re.search(
        r"(^|[;\n{}\d$/])\s*[ew]\s+\S"
        r"|s([^\w\s])[^\n]*?\2[^\n]*?\2[gIpMm\d]*(e[gIpMm\d]*|w)(\s|;|\}|$)",
        script,
    ):
        found.add("runs-text", "lets sed run programs or write files")
    return []


def _awk(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    text = " ".join(each.text for each in args)
    for word, following in pairwise([*args, Word("")]):
        if word.text in {"-f", "--file"} and (following.opaque or following.text[:5] == "/dev/"):
            found.add("runs-unseen", "runs input from another program")
    if re.search(r"system\s*\(|\|\s*getline|\|\s*\"|>\s*\"|>>\s*\"|\|&|@load", text):
        found.add("runs-text", "lets awk run programs or write files")
    return []


_RUNS_BY_TAR = re.compile(
    r"^--(to-command|checkpoint-action|use-compress|rsh|info-script|new-volume)"
    r"|^-[A-Za-z]*[IF]|^[A-Za-z]*[IF][A-Za-z]*$"
)


def _tar(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    texts = [each.text for each in args]
    if any(_RUNS_BY_TAR.match(each) for each in texts[:1]) or any(
        each.startswith("-") and _RUNS_BY_TAR.match(each) for each in texts[1:]
    ):
        found.add("runs-text", "lets tar run programs")
    if any(each.startswith(("-P", "--absolute-names", "--remove-files")) for each in texts):
        found.add(
            "writes-care", "writes wherever the archive specifies, or deletes the files it packs"
        )
    for word, following in zip(args, [*args[1:], Word("")], strict=False):
        if word.text in {"-C", "--directory"}:
            found.write(following, places)
        elif word.text.startswith("--directory="):
            found.write(Word(word.text.partition("=")[2], word.opaque), places)
        elif word.text.startswith("-C"):
            found.write(Word(word.text[2:], word.opaque), places)
    return []


def _pip(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    for at, word in enumerate(args):
        if word.text in {"-t", "--target", "--prefix", "--root"} and at + 1 < len(args):
            found.write(args[at + 1], places)
    if {"config", "set"} <= {each.text for each in args}:
        found.add("hidden-program", "changes how packages are fetched")
    return []


def _source(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    target = args[0] if args else Word("", opaque=True)
    if target.opaque or target.text.startswith(("/dev/", "/proc/")) or target.text == "-":
        found.add("runs-unseen", "runs input from another program")
    return []


def _crontab(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    if [each.text for each in args] != ["-l"]:
        found.add("system", "changes what runs automatically")
    return []


def _vim(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    if any(
        each.text.startswith(("-c", "+", "--cmd", "-S", "-s", "-e", "--eval", "-f", "-l"))
        for each in args
    ):
        found.add("runs-text", "lets an editor run commands")
    return []


def _set_environment(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    for word in args:
        name, sign, value = word.text.partition("=")
        if sign:
            changes_what_runs(name, Word(value, word.opaque), places, found)
    if not args:
        found.add("reads-secrets", "shows every variable")
    return []


def _tmux(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    if not {each.text for each in args} & {"ls", "list-sessions", "list-windows", "-V"}:
        found.add("indirect", "controls another terminal in a way that cannot be judged")
    return []


def _dd(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    for word in args:
        if word.text.startswith("of="):
            found.write(Word(word.text[3:], word.opaque), places, content=True)
    return []


def _init(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    if {each.text for each in args} & {"0", "1", "6", "s", "S"}:
        found.add("power", "switches the machine off", hard=True)
    return []


def _crossing(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    """Assess ``ip``: reading is harmless."""
    words = {each.text for each in args}
    if words & {"set", "add", "del", "delete", "flush", "replace", "change", "netns"}:
        found.add("system", "changes the network of this machine")
    return []


_Check = Callable[[Sequence[Word], Places, Found], list[Inner]]
CHECKS: Mapping[str, _Check] = {
    "rm": _rm, "rmdir": _writes, "unlink": _rm, "find": _find, "fd": _fd, "fdfind": _fd,
    "chmod": _chmod, "chown": _chown, "chgrp": _chown, "kill": _kill,
    "cp": _copies, "mv": _mv, "ln": _ln, "install": _copies, "rsync": _rsync,
    "tee": _tee, "touch": _writes, "mkdir": _writes, "sed": _sed, "gsed": _sed,
    "awk": _awk, "gawk": _awk, "mawk": _awk, "nawk": _awk, "tar": _tar, "bsdtar": _tar,
    "source": _source, ".": _source, "crontab": _crontab, "vim": _vim, "vi": _vim, "nvim": _vim,
    "emacs": _vim, "view": _vim, "vimdiff": _vim, "gvim": _vim, "rvim": _vim, "rview": _vim,
    "nvimdiff": _vim, "gvimdiff": _vim, "evim": _vim, "emacsclient": _vim, "kak": _vim,
    "export": _set_environment, "declare": _set_environment, "set": _set_environment,
    "pip": _pip, "pip3": _pip, "tmux": _tmux, "init": _init, "dd": _dd, "ip": _crossing,
}  # fmt: skip


# Programs with an option that runs other programs, or that writes to a given place.


def _runs(pattern: str) -> _Check:
    """Return a check for options by which a program runs others."""
    compiled = re.compile(pattern)

    def check(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
        if any(compiled.match(each.text) for each in args):
            found.add("runs-text", "lets another program run parts of the command")
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


def _writes_content(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
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
        found.add("runs-text", "lets another program run parts of the command")
    for value in _values(args, "-f", "--file", "--makefile"):
        if value.text == "-" or value.text.startswith(("/dev/", "/proc/")) or value.opaque:
            found.add("runs-unseen", "runs input from another program")
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
        found.add("unreadable", "cannot be judged: it changes the meaning of later words")
    return [" ".join(each.text for each in args)]


def _trapped(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    if any(each.opaque for each in args):
        found.add("unreadable", "cannot be judged: it changes the meaning of later words")
    return [each.text for each in args[:1] if each.text not in {"-", "-l", "-p", "--"}]


def _aliased(args: Sequence[Word], _places: Places, _found: Found) -> list[Inner]:
    return [each.text.partition("=")[2] for each in args if "=" in each.text]


def _volumes(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    if {each.text for each in args} & {"destroy", "rollback", "delete", "--zero-superblock",
                                       "labelclear", "--stop", "--remove", "create"}:  # fmt: skip
        found.add("destroys", "destroys data that cannot be restored")
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
    "cpio": _outputs("-D", "--directory"), "patch": _writes_content, "sponge": _writes_content,
    "split": _last_operand, "csplit": _outputs("-f", "--prefix"), "ddrescue": _writes_content,
    "less": _runs(r"^\+.{0,40}[!|]|^-k|^--lesskey"), "more": _runs(r"^\+.{0,40}[!|]"),
    "git": _outputs("--output", "-o"), "cargo": _outputs("--root", "--target-dir"),
    "zfs": _volumes, "zpool": _volumes, "mdadm": _volumes, "btrfs": _volumes,
    "loginctl": _login, "ssh": _ssh,
}  # fmt: skip


# Assessment of programs that download and upload over the network.

_CURL_VALUES = "AbcCdDeEFHhKmoPQrtTuUwxXyYz"
_WGET_VALUES = "OPoaeiUTtQwlBADIRX"
_CURL_NAMES = {
    "d": "send", "F": "send", "T": "send", "K": "send", "n": "send", "X": "method", "o": "write",
    "D": "write", "c": "write", "O": "name",
}  # fmt: skip
_WGET_NAMES = {"O": "write", "P": "write", "o": "write", "a": "write", "e": "send", "i": "look"}
_LONG: Mapping[str, str] = {
    **dict.fromkeys(
        ("upload-file", "form", "form-string", "post-file", "body-file", "data", "data-raw",
         "data-binary", "data-ascii", "data-urlencode", "json", "post-data", "body-data", "config",
         "netrc", "netrc-file", "netrc-optional", "use-askpass", "execute", "url-query",
         "on-download-complete", "on-download-start"), "send"),
    **dict.fromkeys(("request", "method"), "method"),
    **dict.fromkeys(("output", "output-document", "directory-prefix", "dump-header", "cookie-jar",
                     "output-file", "append-output", "output-dir", "dir", "trace", "out"), "write"),
    **dict.fromkeys(("remote-name", "remote-name-all"), "name"),
}  # fmt: skip
_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
_UNUSUAL = ("file:", "gopher:", "dict:", "smb:", "scp:", "sftp:", "ftp:", "ldap:", "telnet:")
_KEEPS_KEYS = re.compile(r"^(https?://)?(169\.254\.|metadata\.google|\[?fd00)")


def _curl(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    _fetched(args, _CURL_VALUES, _CURL_NAMES, places, found)
    return []


def _wget(args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    kinds = _fetched(args, _WGET_VALUES, _WGET_NAMES, places, found)
    if "write" not in kinds:
        _named_by_server(args, places, found)
    return []


def _fetched(
    args: Sequence[Word], values: str, names: Mapping[str, str], places: Places, found: Found
) -> set[str]:
    kinds: set[str] = set()
    for kind, value in _options(args, values, names):
        kinds.add(kind)
        if kind == "send" or (kind == "method" and value.text.upper() not in _HARMLESS):
            found.add("sends-data", "sends data to a server")
        elif kind == "write":
            found.write(value, places, content=True)
        elif kind == "name":
            _named_by_server(args, places, found)
    for word in args:
        if word.text.startswith(_UNUSUAL):
            found.add("other-machine", "accesses files or machines in an unusual way")
        if _KEEPS_KEYS.match(word.text):
            found.add("other-machine", "requests keys from the cloud provider of this machine")
        if word.opaque:
            found.add("sends-data", "sends data that is only known at run time to a server")
    return kinds


def _named_by_server(args: Sequence[Word], places: Places, found: Found) -> None:
    for word in args:
        if word.text.startswith(("http://", "https://")):
            try:
                name = urlsplit(word.text).path.rpartition("/")[2]
            except ValueError:
                continue
            if name:
                found.written.add(places.absolute(name))


def _options(
    args: Sequence[Word], values: str, names: Mapping[str, str]
) -> Iterator[tuple[str, Word]]:
    """Yield the relevant options, each with its value."""
    for word, following in zip(args, [*args[1:], Word("")], strict=False):
        text = word.text
        if text.startswith("--"):
            name, sign, value = text[2:].partition("=")
            if kind := _LONG.get(name):
                yield kind, Word(value, word.opaque) if sign else following
        elif text.startswith("-"):
            for at, letter in enumerate(text[1:], 2):
                takes = letter in values
                if kind := names.get(letter):
                    rest = text[at:]
                    yield kind, Word(rest, word.opaque) if takes and rest else following
                if takes:
                    break


def _http(args: Sequence[Word], _places: Places, found: Found) -> list[Inner]:
    """Assess ``http`` and similar programs: a method as a word, and fields that are sent."""
    texts = [each.text for each in args if not each.text.startswith("-")]
    sends = {"POST", "PUT", "PATCH", "DELETE"} & {each.upper() for each in texts[:1]}
    if sends or any(re.match(r"^[\w-]+(:?=|=@|@)", each) for each in texts[1:]):
        found.add("sends-data", "sends data to a server")
    return []


FETCHING: Mapping[str, Callable[[Sequence[Word], Places, Found], list[Inner]]] = {
    "curl": _curl, "wget": _wget, "aria2c": _wget, "http": _http, "https": _http, "xh": _http,
}  # fmt: skip
