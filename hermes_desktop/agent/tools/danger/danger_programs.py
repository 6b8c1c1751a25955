"""Assessment of single programs by their arguments."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hermes_desktop.agent.tools.danger import danger_paths
from hermes_desktop.agent.tools.danger.danger_files import BUILDERS, CHECKS, FETCHING
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_words import Found, changes_what_runs
from hermes_desktop.agent.tools.danger.danger_wrappers import Inner, fed, is_wrapper, wrapped
from hermes_desktop.agent.tools.danger.shell_reader import Word

# Assessment of shells and interpreters: code as an argument, from elsewhere, or in a file.

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
    letters = {letter for each in texts if re.match(r"^-[A-Za-z]", each) for letter in each[1:]}
    if {"--version", "--help"} & set(texts) or "n" in letters:
        return []
    if "c" in letters:
        if operand is not None and not operand.opaque and "{}" not in operand.text:
            # Its values may be run as well.
            given = [rest, rest[1:]] if "$" in operand.text else []
            return [operand.text, *given]
        found.add("runs-text", "runs a program that is part of the command")
    elif operand is None or "s" in letters or _is_unseen(operand):
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
    letters, words = _TAKES_TEXT.get(kind, _INTERPRETER_USUAL)
    if flag.startswith("--"):
        return flag.partition("=")[0] in words
    return any(letter in letters for letter in _letters(kind, flag))


def _letters(kind: str, flag: str) -> Iterator[str]:
    """Yield the flags of a cluster; the text after a flag that takes a value is its value."""
    takes_value = _TAKES_VALUE.get(kind, frozenset())
    for letter in flag[1:]:
        yield letter
        if f"-{letter}" in takes_value or (kind == "perl" and letter in "MmiI"):
            return


# Assessment of programs with subcommands: repositories, containers, clouds, packages.

_HIDDEN_SETTING = re.compile(
    r"(core|alias|diff|merge|filter|credential|gpg|ssh|url|http|pager|protocol|uploadpack|sequence"
    r"|include|includeif|man|web|browser|mergetool|difftool|init|interactive|trailer|sendemail"
    r"|instaweb|remote|submodule|tar|lfs|pack)\b",
    re.IGNORECASE,
)
_SERVICE_USUAL = re.compile(
    r"^(core\.pager=(cat|less)?|core\.editor=(true|:|vim?|nano)|core\.(autocrlf|quotepath|abbrev)=\w*"
    r"|merge\.ff=\w+|diff\.(algorithm|renames|context\w*)=\w+|init\.defaultbranch=[\w/-]+"
    r"|http\.(sslverify=true|version=[\w/.]+|postbuffer=\d+|lowspeed\w+=\d+)|pack\.\w+=\d+m?"
    r"|protocol\.version=\d|submodule\.recurse=\w+)$",
    re.IGNORECASE,
)
_STARTS_OTHERS = re.compile(
    r"^(--upload-pack|--receive-pack|--exec(=|$)|--open-files-in-pager|--extcmd|--template|ext::)"
)
_LOST = "undoes or deletes work that has no other copy"
_SHOWS = frozenset({"--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list"})


_GIT_VALUES = frozenset(
    {"-c", "--config-env", "-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"}
)


def _git(args: Sequence[str], found: Found) -> None:
    rest = list(args)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        value = rest.pop(0) if rest and option in _GIT_VALUES else option.partition("=")[2]
        hidden = option != "-C" and _HIDDEN_SETTING.match(value) and not _SERVICE_USUAL.match(value)
        if option.startswith("--exec-path") or hidden:
            found.add("hidden-program", "lets git run an arbitrary program")
    verb, words = (rest[0] if rest else ""), rest[1:]
    flags = {letter for each in words if re.match(r"^-[A-Za-z]", each) for letter in each[1:]}
    if _loses_work(verb, set(words), flags):
        found.add("git-loss", _LOST)
    forced = ("--force", "--delete", "--mirror", "--prune", "+", ":")
    if verb == "push" and (flags & {"f", "d"} or any(each.startswith(forced) for each in words)):
        found.add("git-force", "overwrites what others have pushed")
    changes = len(words) > 1 or "--edit" in words or "e" in flags
    if verb == "config" and changes and not _SHOWS & set(words):
        found.add("hidden-program", "changes how git works, and what it runs")
    if "{}" in verb or (not verb and "{}" in " ".join(args)):
        found.add("git-loss", _LOST)
    if verb == "credential":
        found.add("reads-secrets", "works with secrets")
    if _starts_others(verb, words):
        found.add("hidden-program", "lets git run an arbitrary program")
    runs = {"run", "--exec", "-x", "foreach", "--extcmd"}
    if verb in {"bisect", "rebase", "submodule", "difftool", "mergetool"} and runs & set(words):
        found.add("indirect", "lets git run an arbitrary program")


def _starts_others(verb: str, words: Sequence[str]) -> bool:
    """Return whether an option names a program, or a setting that does."""
    if any(_STARTS_OTHERS.match(each) for each in words):
        return True
    if verb == "grep" and any(re.match(r"^-O", each) for each in words):
        return True
    if verb != "clone":
        return False
    pairs = zip(words, [*words[1:], ""], strict=False)
    return any(
        word == "-u"
        or (word in {"-c", "--config"} and _HIDDEN_SETTING.match(value))
        or (word.startswith("--config=") and _HIDDEN_SETTING.match(word.partition("=")[2]))
        for word, value in pairs
    )


def _loses_work(verb: str, words: set[str], flags: set[str]) -> bool:
    rules = {
        "reset": bool(words & {"--hard", "--merge"}),
        "switch": bool(flags & {"f", "C"}) or bool(words & {"--discard-changes", "--force"}),
        "clean": not ("n" in flags or "--dry-run" in words),
        "checkout": "f" in flags or bool(words & {".", "--", "--force"}),
        "restore": "--staged" not in words,
        "branch": "D" in flags or bool(words & {"--delete", "-d"}),
        "stash": bool(words & {"drop", "clear"}),
        "reflog": bool(words & {"expire", "delete"}),
        "worktree": bool(words & {"remove", "prune"}),
        "tag": bool(flags & {"d", "f"}) or "--delete" in words,
    }
    rewrites = {"filter-branch", "filter-repo", "update-ref", "gc", "prune", "replace"}
    return verb in rewrites or rules.get(verb, False)


def _container(args: Sequence[str], found: Found) -> None:
    words = {each for each in args if not each.startswith("-")}
    verbs = set([each for each in args if not each.startswith("-")][:2])
    if verbs & {
        "stop",
        "kill",
        "rm",
        "rmi",
        "down",
        "prune",
        "restart",
        "pause",
        "delete",
        "remove",
        "destroy",
        "reset",
    }:
        found.add("containers", "stops or deletes containers or their data")
    joined = " ".join(args)
    if verbs & {"run", "exec", "create", "cp"}:
        mounts = re.search(
            r"docker\.sock|(-v|--volume|source|src)[= ]?"
            r"(~(/\.[^:,]*)?/?|/home/[^/:,]+/\.[^:,]*|/(home|(etc|root|proc|sys|var|usr|boot)(/[^\s:]*)?)?)[:,]",
            joined,
        )
        if mounts or re.search(
            r"--privileged|--pid[= ]host|--cap-add|--net(work)?[= ]host", joined
        ):
            found.add("privileges", "gives a container full access to the machine")
        if verbs & {"exec", "cp"}:
            found.add("indirect", "runs something in a container that cannot be judged")
    if "push" in words or "login" in verbs:
        found.add("publishes", "publishes something, or signs in")


def _systemctl(args: Sequence[str], found: Found) -> None:
    words = {each.removesuffix(".target") for each in args if not each.startswith("-")}
    if words & {
        "poweroff",
        "reboot",
        "halt",
        "kexec",
        "suspend",
        "hibernate",
        "rescue",
        "emergency",
        "soft-reboot",
        "exit",
    }:
        found.add("power", "switches the machine off", hard=True)
    if not words or words & {
        "status",
        "show",
        "cat",
        "is-active",
        "is-enabled",
        "list-units",
        "list-timers",
        "list-unit-files",
        "is-failed",
        "list-dependencies",
    }:
        return
    found.add("system", "starts, stops or changes services")


def _service(args: Sequence[str], found: Found) -> None:
    if "status" not in args and "--status-all" not in args:
        found.add("system", "starts, stops or changes services")


_TAKES = re.compile(
    r"^(delete|destroy|rm|remove|terminate|apply|drain|cordon|scale|rollout|replace|patch|purge|drop|wipe"
    r"|uninstall|unpublish|publish|upload|deploy|release|rb|evict|reset|rollback|revoke|archive|transfer"
    r"|edit|set|create|exec|import|taint|sync|put|down|merge|close)([-_]\w+)*$"
)  # fmt: skip


def _cloud(args: Sequence[str], found: Found) -> None:
    looks = args[:1] and args[0] in {"get", "describe", "logs", "explain", "top"}
    if not looks and any(
        _TAKES.match(each) or re.match(r"^(delete|terminate|put|update|create)-", each)
        for each in args[:4]
    ):
        found.add("cloud", "changes or deletes something that runs elsewhere")
    if args[:1] in (["auth"], ["configure"], ["login"]) or "print-access-token" in args:
        found.add("reads-secrets", "works with secrets")
    if args[:1] == ["api"] and set(args) & {"-X", "--method", "-f", "-F", "--input"}:
        found.add("cloud", "changes or deletes something that runs elsewhere")


def _publisher(args: Sequence[str], found: Found) -> None:
    verbs = [each for each in args if not each.startswith("-")][:2]
    if set(verbs) & {
        "publish",
        "unpublish",
        "upload",
        "deprecate",
        "yank",
        "owner",
        "login",
        "adduser",
        "token",
    }:
        found.add("publishes", "publishes something")
    if set(verbs) & {"config"} and "set" in args:
        found.add("hidden-program", "changes how packages are fetched")


def _system_packages(args: Sequence[str], found: Found) -> None:
    verbs = {each for each in args if not each.startswith("-")}
    looks = {
        "list",
        "search",
        "show",
        "info",
        "policy",
        "depends",
        "rdepends",
        "changelog",
        "query",
    }
    flags = "".join(each[1:] for each in args if re.match(r"^-[A-Za-z]", each))
    is_look = bool(verbs & looks) or (
        flags[:1] in {"Q", "l", "s", "L"} and not verbs & {"install", "remove"}
    )
    if not is_look and (verbs or flags):
        found.add("system", "installs or removes programs of the system")


def _brew(args: Sequence[str], found: Found) -> None:
    if args[:1] and args[0] in {"uninstall", "remove", "rm", "cleanup", "services", "autoremove"}:
        found.add("system", "installs or removes programs of the system")


SERVICES: Mapping[str, Callable[[Sequence[str], Found], None]] = {
    "git": _git, "docker": _container, "podman": _container, "docker-compose": _container,
    "nerdctl": _container, "lxc": _container, "virsh": _container, "vagrant": _container,
    "kubectl": _cloud, "helm": _cloud, "terraform": _cloud, "tofu": _cloud, "pulumi": _cloud,
    "aws": _cloud, "gcloud": _cloud, "gsutil": _cloud, "az": _cloud, "gh": _cloud, "glab": _cloud,
    "heroku": _cloud, "fly": _cloud, "flyctl": _cloud, "doctl": _cloud, "s3cmd": _cloud,
    "vercel": _cloud, "netlify": _cloud, "wrangler": _cloud, "firebase": _cloud,
    "systemctl": _systemctl, "service": _service, "rc-service": _service, "launchctl": _service,
    "npm": _publisher, "yarn": _publisher, "pnpm": _publisher, "cargo": _publisher,
    "twine": _publisher, "gem": _publisher, "poetry": _publisher, "uv": _publisher,
    "apt": _system_packages, "apt-get": _system_packages, "dpkg": _system_packages,
    "dnf": _system_packages, "yum": _system_packages, "zypper": _system_packages,
    "pacman": _system_packages, "rpm": _system_packages, "apk": _system_packages,
    "snap": _system_packages, "flatpak": _system_packages, "brew": _brew,
}  # fmt: skip


_HARD_STOP = frozenset({"shutdown", "reboot", "halt", "poweroff", "telinit"})
_FORMATS = frozenset({"mke2fs", "newfs", "mkntfs", "mkdosfs", "mkudffs", "mkreiserfs", "mkexfatfs"})
_TO_DISKS = frozenset({"shred", "wipe", "wipefs", "blkdiscard", "mkswap", "srm", "sgdisk",
                       "truncate", "fallocate", "pv"})  # fmt: skip
_ALWAYS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("sudo", "doas", "su", "pkexec", "runuser", "gosu", "run0"),
                    ("privileges", "acts as another user or administrator")),
    **dict.fromkeys(("shred", "wipefs", "blkdiscard", "fdisk", "sfdisk", "gdisk", "parted",
                     "sgdisk", "mkswap", "cryptsetup", "hdparm", "truncate", "srm", "wipe",
                     "badblocks", "lvremove", "vgremove", "pvremove", "lvreduce"),
                    ("destroys", "destroys data that cannot be restored")),
    **dict.fromkeys(("pkill", "killall", "killall5", "skill", "xkill", "fuser"),
                    ("kills", "ends programs by name, possibly this one")),
    **dict.fromkeys(("mount", "umount", "losetup", "modprobe", "rmmod", "insmod", "swapoff",
                     "swapon", "sysctl", "iptables", "ip6tables", "nft", "ufw", "firewall-cmd",
                     "ifconfig",
                     "useradd", "userdel", "usermod", "groupadd", "groupdel", "passwd", "chpasswd",
                     "visudo", "vipw", "adduser", "deluser", "setcap", "chattr", "setfacl", "chsh",
                     "update-alternatives", "ldconfig", "grub-install", "efibootmgr", "chroot",
                     "nsenter", "unshare", "hostnamectl", "timedatectl", "loginctl", "nmcli",
                     "route", "kexec", "dpkg-reconfigure", "at", "batch", "systemd-run", "rtcwake",
                     "pm-suspend", "pm-hibernate"),
                    ("system", "changes how the system works, or what runs later")),
    **dict.fromkeys(("ssh", "scp", "sftp", "rsh", "rlogin", "telnet", "ftp", "lftp", "nc", "ncat",
                     "netcat", "socat", "rclone", "mosh", "sshpass", "ngrok", "cloudflared"),
                    ("other-machine", "connects to another machine, or lets one in")),
    **dict.fromkeys(("alias", "enable", "hash", "complete", "bind"),
                    ("unreadable", "cannot be judged: it changes the meaning of later words")),
    **dict.fromkeys(("gdb", "lldb", "ed", "ex", "expect", "dbus-send", "gdbus", "busctl", "xdotool",
                     "ydotool", "wtype", "screen", "xdg-open", "open", "gio", "dd", "debugfs"),
                    ("indirect", "controls other programs in a way that cannot be judged")),
    **dict.fromkeys(("pass", "secret-tool", "keyring", "gpg", "gpg2", "security", "op", "bw",
                     "vault", "printenv", "ssh-add", "ssh-keygen", "kwallet-query",
                     "keepassxc-cli", "gcore", "coredumpctl"),
                    ("reads-secrets", "works with secrets")),
}  # fmt: skip
_DECLARES = frozenset({"env", "sudo", "doas", "run0", "declare", "typeset", "readonly", "local"})
_CHECKS = {**CHECKS, **FETCHING, **BUILDERS}


def is_known(text: str) -> bool:
    """Return whether a word is the name of a program that may do harm."""
    name = text.rpartition("/")[2]
    known = name in _ALWAYS or name in _HARD_STOP or name in _FORMATS or name.startswith("mkfs")
    return known or is_shell(name) or name in {"rm", "dd", "find", "mv", "chmod", "chown", "init"}


def judge(program: str, args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    """Record what a program may do; return what it starts, to be assessed in turn."""
    if program in _ALWAYS:
        found.add(*_ALWAYS[program])
    _ruins(program, args, places, found)
    _looks(program, args, found)
    if program in _DECLARES:
        for word in args:
            name, sign, value = word.text.partition("=")
            if sign:
                changes_what_runs(name, Word(value, word.opaque), places, found)
    if program in SERVICES:
        SERVICES[program]([each.text for each in args], found)
    if is_shell(program) or is_interpreter(program):
        return interpreted(program, args, found)
    if program in {"xargs", "parallel"}:
        return fed(program, args, places, found)
    if is_wrapper(program, args):
        return wrapped(program, args, is_known)
    check = _CHECKS.get(program)
    return check(args, places, found) if check is not None else []


def reads_shell(program: str) -> bool:
    """Return whether a script that the program runs is a shell script, judging by the name."""
    return not is_interpreter(program)


def script_of(program: str, words: Sequence[Word], places: Places) -> str | None:
    """Return the path of the script that is run, if it is one known file."""
    if program in {"source", "."}:
        target = words[1] if len(words) > 1 else None
    elif is_shell(program) or is_interpreter(program):
        target = operand_of(program, words[1:])
    else:
        target = words[0] if "/" in words[0].text else None
    return None if target is None or target.opaque else places.absolute(target.text)


def _looks(program: str, args: Sequence[Word], found: Found) -> None:
    if program.startswith("hermes"):
        _hermes(args, found)
    if program == "ps" and _shows_environments([each.text for each in args]):
        found.add("reads-secrets", "shows the environment of other programs")
    if program in {"strace", "ltrace"} and any(_ATTACHES.match(each.text) for each in args):
        found.add("reads-secrets", "inspects another program while it runs")


def _ruins(program: str, args: Sequence[Word], places: Places, found: Found) -> None:
    if program in _HARD_STOP:
        found.add("power", "switches the machine off", hard=True)
    if program.startswith("mkfs") or program in _FORMATS:
        found.add("format-disk", "formats a disk", hard=True)
    if program in _TO_DISKS:
        for word in args:
            if danger_paths.is_disk(word.text):
                found.write(word, places)


_ATTACHES = re.compile(r"^(-[A-Za-z]*p|--attach)")


def _shows_environments(args: Sequence[str]) -> bool:
    """Return whether ``ps`` shows variables: ``e`` among options without a hyphen."""
    takes_value = False
    for text in args:
        if text.startswith("-"):
            takes_value = text in {"-p", "-o", "-C", "-u", "-U", "-g", "-G", "-t", "-s"}
            continue
        if not takes_value and "e" in text and text.isalpha():
            return True
        takes_value = text.endswith(("o", "p", "U", "t")) and text.isalpha()
    return False


def _hermes(args: Sequence[Word], found: Found) -> None:
    words = {each.text for each in args}
    if words & {"stop", "restart", "kill", "uninstall", "reset", "delete", "prune", "set", "update",
                "config", "setup", "approve", "install", "remove", "clear"}:  # fmt: skip
        found.add("hermes", "changes Hermes itself")
