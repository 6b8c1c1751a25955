"""Assessment of single programs by their arguments."""

from collections.abc import Iterable, Mapping, Sequence

from hermes_desktop.agent.tools.danger import danger_paths
from hermes_desktop.agent.tools.danger.danger_files import CHECKS
from hermes_desktop.agent.tools.danger.danger_interpreters import (
    interpreted,
    is_interpreter,
    is_shell,
    operand_of,
)
from hermes_desktop.agent.tools.danger.danger_network import FETCHING
from hermes_desktop.agent.tools.danger.danger_options import Inner
from hermes_desktop.agent.tools.danger.danger_paths import Places
from hermes_desktop.agent.tools.danger.danger_services import HERMES, SERVICES
from hermes_desktop.agent.tools.danger.danger_words import Found, changes_what_runs
from hermes_desktop.agent.tools.danger.danger_wrappers import fed, is_wrapper, wrapped
from hermes_desktop.agent.tools.danger.shell_words import Word

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
_DECLARES = frozenset(
    {"env", "sudo", "doas", "run0", "declare", "typeset", "readonly", "local", "export", "set"}
)
_CHECKS = {**CHECKS, **FETCHING}


def is_known(text: str) -> bool:
    """Return whether a word is the name of a program that may do harm."""
    name = text.rpartition("/")[2]
    known = name in _ALWAYS or name in _HARD_STOP or name in _FORMATS or name.startswith("mkfs")
    return known or is_shell(name) or name in {"rm", "dd", "find", "mv", "chmod", "chown", "init"}


def judge(program: str, args: Sequence[Word], places: Places, found: Found) -> Iterable[Inner]:
    """Record what a program may do; return what it starts, to be assessed in turn."""
    if program in _ALWAYS:
        found.add(*_ALWAYS[program])
    _ruins(program, args, places, found)
    if program in _DECLARES:
        for word in args:
            name, sign, value = word.text.partition("=")
            if sign:
                changes_what_runs(name, Word(value, word.opaque), places, found)
    rules = HERMES if program.startswith("hermes") else SERVICES.get(program)
    if rules is not None:
        rules(args, places, found)
    if is_shell(program) or is_interpreter(program):
        return interpreted(program, args, found)
    if program in {"xargs", "parallel"}:
        return fed(program, args, found)
    if is_wrapper(program, args):
        return wrapped(program, args, is_known)
    check = _CHECKS.get(program)
    return (check(args, places, found) or ()) if check is not None else ()


def script_of(program: str, words: Sequence[Word], places: Places) -> str | None:
    """Return the path of the script that is run, if it is one known file."""
    if program in {"source", "."}:
        target = words[1] if len(words) > 1 else None
    elif is_shell(program) or is_interpreter(program):
        target = operand_of(program, words[1:])
    else:
        target = words[0] if "/" in words[0].text else None
    return None if target is None or target.opaque else places.absolute(target.text)


def _ruins(program: str, args: Sequence[Word], places: Places, found: Found) -> None:
    if program in _HARD_STOP:
        found.add("power", "switches the machine off", hard=True)
    if program.startswith("mkfs") or program in _FORMATS:
        found.add("format-disk", "formats a disk", hard=True)
    if program in _TO_DISKS:
        for word in args:
            if danger_paths.is_disk(word.text):
                found.write(word, places)
