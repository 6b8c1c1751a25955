"""What single programs do with their arguments, as far as it may do harm."""

import re
from collections.abc import Mapping, Sequence

from hermes_desktop.agent.tools.danger_files import CHECKS, Inner
from hermes_desktop.agent.tools.danger_paths import Places
from hermes_desktop.agent.tools.danger_services import SERVICES
from hermes_desktop.agent.tools.danger_words import Found
from hermes_desktop.agent.tools.shell_reader import Word

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "csh", "tcsh", "rbash"})
_INTERPRETERS = re.compile(
    r"^(python[\d.]*|pypy3?|perl[\d.]*|ruby[\d.]*|node|nodejs|deno|bun|php[\d.]*|lua[\d.]*|osascript"
    r"|tclsh|guile|Rscript|ipython3?|pwsh|powershell|jshell|ghci|irb|groovy|scala|elixir|erl)$"
)
_WRAPPERS = frozenset(
    {
        "env", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "exec", "command",
        "builtin", "busybox", "toybox", "xargs", "watch", "strace", "ltrace", "unbuffer", "chrt",
        "taskset", "parallel", "script", "caffeinate", "flock", "proxychains", "torsocks",
    }
)  # fmt: skip
_TAKES_NUMBER = frozenset({"timeout", "flock", "chrt", "taskset"})
_NUMBER = re.compile(r"^(0x[0-9a-f]+|[\d.,-]+[smhd]?)$")
_HARD_STOP = frozenset({"shutdown", "reboot", "halt", "poweroff", "telinit"})
_ALWAYS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("sudo", "doas", "su", "pkexec", "runuser", "gosu", "run0"),
                    ("privileges", "acts as another user, or with all rights")),
    **dict.fromkeys(("shred", "wipefs", "blkdiscard", "fdisk", "sfdisk", "gdisk", "parted",
                     "sgdisk", "mkswap", "cryptsetup", "hdparm", "truncate", "srm", "wipe",
                     "badblocks"),
                    ("destroys", "destroys what cannot be brought back")),
    **dict.fromkeys(("pkill", "killall", "killall5", "skill", "xkill", "fuser"),
                    ("kills", "ends programs by their names, perhaps this one")),
    **dict.fromkeys(("mount", "umount", "losetup", "modprobe", "rmmod", "insmod", "swapoff",
                     "swapon", "sysctl", "iptables", "ip6tables", "nft", "ufw", "firewall-cmd",
                     "ifconfig",
                     "useradd", "userdel", "usermod", "groupadd", "groupdel", "passwd", "chpasswd",
                     "visudo", "vipw", "adduser", "deluser", "setcap", "chattr", "setfacl", "chsh",
                     "update-alternatives", "ldconfig", "grub-install", "efibootmgr", "chroot",
                     "nsenter", "unshare", "hostnamectl", "timedatectl", "loginctl", "nmcli",
                     "route", "kexec", "dpkg-reconfigure", "visudo", "at", "batch", "systemd-run"),
                    ("system", "changes how the system works, or what it runs later")),
    **dict.fromkeys(("ssh", "scp", "sftp", "rsh", "rlogin", "telnet", "ftp", "lftp", "nc", "ncat",
                     "netcat", "socat", "rclone", "mosh", "sshpass", "ngrok", "cloudflared"),
                    ("other-machine", "reaches into another machine, or lets one in")),
    **dict.fromkeys(("eval", "trap", "alias", "enable", "hash", "complete", "bind"),
                    ("unreadable", "cannot be judged: it changes what later words mean")),
    **dict.fromkeys(("gdb", "lldb", "ed", "ex", "expect", "dbus-send", "gdbus", "busctl", "xdotool",
                     "ydotool", "wtype", "screen", "xdg-open", "open", "gio", "dd", "debugfs"),
                    ("indirect", "makes other programs do things that cannot be judged")),
    **dict.fromkeys(("pass", "secret-tool", "keyring", "gpg", "gpg2", "security", "op", "bw",
                     "vault", "printenv", "ssh-add", "ssh-keygen", "kwallet-query",
                     "keepassxc-cli", "gcore", "coredumpctl"),
                    ("reads-secrets", "works with secrets")),
}  # fmt: skip


def judge(program: str, args: Sequence[Word], places: Places, found: Found) -> list[Inner]:
    """Note what a program may do; what else it starts is handed back to be judged as well."""
    if program in _ALWAYS:
        found.add(*_ALWAYS[program])
    if program in _HARD_STOP:
        found.add("power", "switches the machine off", hard=True)
    if program.startswith("mkfs") or program in {"mke2fs", "newfs"}:
        found.add("format-disk", "formats a disk", hard=True)
    if program.startswith("hermes"):
        _hermes(args, found)
    if program == "ps" and _shows_environments([each.text for each in args]):
        found.add("reads-secrets", "shows what other programs keep in their environment")
    if program in {"strace", "ltrace"} and any(_ATTACHES.match(each.text) for each in args):
        found.add("reads-secrets", "looks into another program while it runs")
    if program in SERVICES:
        SERVICES[program]([each.text for each in args], found)
    if program in _SHELLS or _INTERPRETERS.match(program):
        return _interpreter(program, args, found)
    if program in _WRAPPERS or program in {"sudo", "doas", "run0", "pkexec"}:
        return _wrapped(program, args)
    check = CHECKS.get(program)
    return check(args, places, found) if check is not None else []


_ATTACHES = re.compile(r"^(-[A-Za-z]*p|--attach)")


def _shows_environments(args: Sequence[str]) -> bool:
    """Whether ``ps`` is to show variables: ``e`` among options without a hyphen."""
    takes_value = False
    for text in args:
        if text.startswith("-"):
            takes_value = text in {"-p", "-o", "-C", "-u", "-U", "-g", "-G", "-t", "-s"}
            continue
        if not takes_value and "e" in text and text.isalpha():
            return True
        takes_value = text.endswith(("o", "p", "U", "t")) and text.isalpha()
    return False


def _interpreter(program: str, args: Sequence[Word], found: Found) -> list[Inner]:
    """A shell or an interpreter: text as an argument, text from elsewhere, or a file."""
    is_shell = program in _SHELLS
    takes_text = {"c"} if is_shell else {"c", "e", "E", "r", "p", "--eval", "--print", "--exec"}
    for at, word in enumerate(args):
        text = word.text
        is_flag = text.startswith("-") and text != "-"
        if not is_flag:
            if text in {"-", "/dev/stdin"} or text.startswith(("/dev/fd", "/proc/")) or word.opaque:
                found.add("runs-unseen", "runs what another program hands it")
            return []
        letters = {text.partition("=")[0]} if text.startswith("--") else set(text[1:])
        if text in {"--version", "--help", "-V"} or (text == "-v" and not is_shell):
            return []
        if program.startswith("python") and text == "-m":
            return [args[at + 1 :]]
        if letters & takes_text:
            following = args[at + 1] if at + 1 < len(args) else Word("", opaque=True)
            if is_shell and not following.opaque:
                return [following.text]
            found.add("runs-text", "runs a program that is written in the command itself")
            return []
    found.add("runs-unseen", "runs what another program hands it")
    return []


def _wrapped(program: str, args: Sequence[Word]) -> list[Inner]:
    """The program that another one starts. Options that take a value are tried both ways."""
    if program == "env":
        split = _split_string(args)
        if split is not None:
            return [split]
    at = 0
    inner: list[Inner] = []
    while at < len(args) and _is_own(program, args[at].text):
        text = args[at].text
        is_short = text.startswith("-") and len(text) == 2  # noqa: PLR2004 - "-x value"
        if is_short and at + 2 < len(args) and not args[at + 1].text.startswith("-"):
            inner.append(args[at + 2 :])
        at += 1
    rest = args[at:]
    if program in {"watch", "script", "flock"} and rest:
        inner.append(" ".join(each.text for each in rest))
    return [each for each in (*inner, rest) if each]


def _is_own(program: str, text: str) -> bool:
    """Whether a word belongs to a wrapper itself, and not to what it starts."""
    if text.startswith("-"):
        return True
    if program in {"env", "sudo", "doas", "run0"} and re.match(r"^[A-Za-z_]\w*=", text):
        return True
    return program in _TAKES_NUMBER and bool(_NUMBER.match(text))


def _split_string(args: Sequence[Word]) -> str | None:
    """What ``env -S`` makes words of."""
    for number, word in enumerate(args):
        if word.text in {"-S", "--split-string"} and number + 1 < len(args):
            return args[number + 1].text
        if word.text.startswith("-S"):
            return word.text[2:]
    return None


def _hermes(args: Sequence[Word], found: Found) -> None:
    words = {each.text for each in args}
    if words & {"stop", "restart", "kill", "uninstall", "reset", "delete", "prune", "set", "update",
                "config", "setup", "approve", "install", "remove", "clear"}:  # fmt: skip
        found.add("hermes", "changes Hermes itself")
