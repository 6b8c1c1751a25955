"""Programs that start another one: which one, under all ways of reading their options."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hermes_desktop.agent.tools.danger.danger_options import Inner, with_next
from hermes_desktop.agent.tools.danger.danger_words import Found
from hermes_desktop.agent.tools.danger.shell_words import Word

WRAPPERS = frozenset(
    {
        "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "exec", "command",
        "builtin", "busybox", "toybox", "watch", "strace", "ltrace", "unbuffer", "chrt",
        "taskset", "script", "caffeinate", "flock", "proxychains", "torsocks", "sudo", "doas",
        "run0", "pkexec", "su", "runuser", "gosu", "setarch", "linux32", "linux64", "i386",
        "x86_64",
        "fakeroot", "eatmydata", "faketime", "valgrind", "xvfb-run", "dbus-run-session", "entr",
        "dbus-launch", "prlimit", "choom", "setpriv", "capsh", "chronic", "ifne", "rlwrap",
        "catchsegv",
        "watchexec", "nodemon", "npx", "bunx", "uvx", "pipx", "nix-shell", "chroot", "coreutils",
        "systemd-inhibit", "bwrap", "proot", "firejail", "unshare", "nsenter", "numactl", "cgexec",
        "perf", "start-stop-daemon", "systemd-run", "gtime", "setlock", "softlimit", "chpst",
        "ssh-agent", "inotifywait", "daemonize", "cpulimit", "trickle", "xcrun", "arch",
    }
)  # fmt: skip
_RUNNERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba",
                     "micromamba"), frozenset({"run", "tool", "x"})),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"),
                    frozenset({"exec", "x", "dlx", "explore"})),
    **dict.fromkeys(("bundle", "asdf", "mise", "rbenv", "pyenv", "direnv", "nodenv", "rustup"),
                    frozenset({"exec", "run", "x"})),
    "nix": frozenset({"run", "shell", "develop"}),
    "ip": frozenset({"netns"}),
}  # fmt: skip
_TAKES_NUMBER = frozenset({"timeout", "flock", "chrt", "taskset", "setarch"})
_TAKES_ONE = frozenset(
    {"flock", "chroot", "faketime", "gosu", "setarch", "taskset", "su", "direnv", "setlock"}
)
_ANYWHERE = frozenset(
    {"systemd-inhibit", "bwrap", "proot", "firejail", "unshare", "nsenter", "numactl", "cgexec",
     "perf", "start-stop-daemon", "systemd-run", "nix", "ip", "conda", "mamba", "micromamba",
     "sudo",
     "inotifywait", "prlimit", "setpriv"}
)  # fmt: skip
_JOINED = frozenset({"watch", "script", "entr", "watchexec", "nodemon"})
_SETS_VARIABLES = frozenset({"env", "sudo", "doas", "run0"})
_NUMBER = re.compile(r"^(0x[0-9a-f]+|[\d.,-]+[smhd]?)$")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_TEXT = re.compile(r"^(-[A-Za-z]*c|--command|--call|--run|--session-command)$")
_TEXT_INSIDE = re.compile(r"^(--command|--call|--run|--session-command)=(.*)$", re.DOTALL)
_LOADERS = re.compile(r"^ld(-linux[\w.-]*|-musl[\w.-]*|\.so[\w.]*)$")
_XARGS_VALUES = frozenset(
    {"-I", "-L", "-n", "-P", "-s", "-d", "-E", "-a", "--max-lines", "--max-args", "--max-procs",
     "--max-chars", "--delimiter", "--arg-file", "--eof", "--process-slot-var"}
)  # fmt: skip
_MOST_STARTS = 8
_FAR = 24


def is_wrapper(program: str, args: Sequence[Word]) -> bool:
    """Return whether a program starts what its arguments name."""
    if program in WRAPPERS or _LOADERS.match(program):
        return True
    verb = next((each.text for each in args if not each.text.startswith("-")), "")
    return verb in _RUNNERS.get(program, frozenset())


def wrapped(program: str, args: Sequence[Word], is_known: Callable[[str], bool]) -> list[Inner]:
    """Return what a wrapper may start. Options that may take a value are read both ways.

    Args:
        program: The wrapper.
        args: Its arguments.
        is_known: Returns whether a name is that of a program that may do harm.
    """
    if program == "command" and any(re.match(r"^-\w*[vV]", each.text) for each in args[:1]):
        return []
    inner: list[Inner] = [*_texts(args)]
    if program == "env":
        inner += _split_strings(args)
    starts = _starts(program, args)
    if program in _ANYWHERE or program in _RUNNERS:
        starts |= {at for at, each in enumerate(args[:_FAR]) if is_known(each.text)}
    for at in sorted(starts)[:_MOST_STARTS]:
        inner.append(args[at:])
        if program in _JOINED:
            inner.append(" ".join(each.text for each in args[at:]))
    return inner


def _starts(program: str, args: Sequence[Word]) -> set[int]:
    """Return where the started program may begin."""
    found: set[int] = set()
    seen: set[int] = set()
    left = 1 if program in _TAKES_ONE or program in _RUNNERS else 0
    todo = [(0, left)]
    while todo and len(found) < _MOST_STARTS:
        at, left = todo.pop()
        if at in seen or at >= len(args):
            continue
        seen.add(at)
        text = args[at].text
        if text.startswith("-") and not args[at].opaque:
            todo.append((at + 1, left))
            if "=" not in text and text not in {"--", "-"}:
                todo.append((at + 2, left))
        elif _is_own(program, text):
            todo.append((at + 1, left))
        else:
            found.add(at)
            if left:
                todo.append((at + 1, left - 1))
    return found


def _is_own(program: str, text: str) -> bool:
    """Return whether a word belongs to the wrapper itself, and not to what it starts."""
    if program in _SETS_VARIABLES and _ASSIGNMENT.match(text):
        return True
    return program in _TAKES_NUMBER and bool(_NUMBER.match(text))


def _texts(args: Sequence[Word]) -> Iterator[str]:
    """Yield shell text that an option holds."""
    for word, following in with_next(args):
        if _TEXT.match(word.text) and following.text:
            yield following.text
        elif match := _TEXT_INSIDE.match(word.text):
            yield match[2]


def _split_strings(args: Sequence[Word]) -> Iterator[str]:
    """Yield the text that ``env -S`` splits into words."""
    for number, word in enumerate(args):
        if not word.text.startswith("-"):
            continue
        rest = " ".join(each.text for each in args[number + 1 :])
        if word.text.startswith("--split-string="):
            yield f"{word.text.partition('=')[2]} {rest}"
        elif match := re.match(r"^-[a-zA-Z]*?S(.*)$", word.text, re.DOTALL):
            yield f"{match[1]} {rest}"
        elif word.text == "--split-string":
            yield rest


# Programs that append their input to a command


def fed(program: str, args: Sequence[Word], found: Found) -> list[Inner]:
    """Assess ``xargs`` and ``parallel``."""
    return _parallel(args, found) if program == "parallel" else _xargs(args)


def _xargs(args: Sequence[Word]) -> list[Inner]:
    mark, at = "", 0
    while at < len(args) and args[at].text.startswith("-"):
        text = args[at].text
        if text == "-I":
            mark = args[at + 1].text if at + 1 < len(args) else ""
        elif match := re.match(r"^(-I|--replace=)(.+)$", text, re.DOTALL):
            mark = match[2]
        elif text.startswith("-i") or text == "--replace":
            mark = text[2:] if text[2:3] not in {"", "-"} else "{}"
        at += 2 if text in _XARGS_VALUES else 1
    words = args[at:]
    if not words:
        return []
    if not mark:
        return [[*words, Word("{}")]]
    return [
        [Word(e.text.replace(mark, "{}"), e.opaque, e.bare, e.wild) for e in words],
    ]


def _parallel(args: Sequence[Word], found: Found) -> list[Inner]:
    texts = [each.text for each in args]
    cut = next((at for at, each in enumerate(texts) if re.match(r"^:::", each)), len(texts))
    items = [each for each in texts[cut:] if not each.startswith(":::")][:_MOST_STARTS]
    starts = sorted(at for at in _starts("parallel", args) if at < cut)
    if not starts:
        if not items or texts[cut].startswith("::::"):
            found.add("runs-unseen", "runs input from another program")
        return [*items]
    inner: list[Inner] = []
    for at in starts:
        head = " ".join(texts[at:cut])
        shown = head if "{}" in head else f"{head} {{}}"
        inner += [shown.replace("{}", item) for item in items or ["{}"]]
    return inner
