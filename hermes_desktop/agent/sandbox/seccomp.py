"""The seccomp filter of sandboxed programs, as raw bytes of classic BPF.

The filter denies by list: what escapes the namespaces or Landlock, or widens the attack surface of
the kernel. It exists for x86-64 and arm64; elsewhere there is none, and so no sandbox.
"""

import errno
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass

_LOAD, _JUMP, _JUMP_EQUAL, _JUMP_SET, _JUMP_AT_LEAST, _RETURN = 0x20, 0x05, 0x15, 0x45, 0x35, 0x06
_AND = 0x54
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32 = 0x40000000
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""The kernel's name of the architecture, and the column in the tables below."""

_DENIED: dict[str, tuple[int | None, int | None]] = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "open_by_handle_at": (304, 265),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "fanotify_init": (300, 262),
}
_ABSENT: dict[str, tuple[int | None, int | None]] = {
    "io_uring_setup": (425, 425),  # its operations are invisible to a filter
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "clone3": (435, 435),  # its flags cannot be seen; programs fall back to clone
}
_SHARED_WITH_OTHERS: dict[str, tuple[int | None, int | None]] = {
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semtimedop": (220, 192),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
}
_ATTRIBUTES: dict[str, tuple[int | None, int | None]] = {
    # By path; a descriptor is only to be had of a file that may be read.
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "getxattrat": (464, 464),
}
_ON_ITSELF_ONLY: dict[str, tuple[tuple[int | None, int | None], int]] = {
    # The argument that names a process must be 0, which means the caller.
    "setpriority": ((141, 140), 1),
    "ioprio_set": ((251, 30), 1),
    "prlimit64": ((302, 261), 0),
    "sched_setaffinity": ((203, 122), 0),
    "sched_setscheduler": ((144, 119), 0),
    "sched_setparam": ((142, 118), 0),
    "sched_setattr": ((314, 274), 0),
}
_CLONE, _IOCTL, _SOCKET, _SOCKET_PAIR = (56, 220), (16, 29), (41, 198), (53, 199)
_TRUNCATE = (76, 45)
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_KIND_OF_SOCKET, _STREAM, _PACKETS = 0xF, 1, 5
_INTERNET_PROTOCOLS = (0, 1, 6, 17, 58)
"""The usual one, ICMP, TCP, UDP, ICMPv6. Others load rare parts of the kernel; 262 evades rules."""
_NETLINK_PROTOCOLS = (0, 4, 15, 16)
"""Routes, lists of sockets, notices of devices, generic; not audit and firewall."""

_Instruction = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Restrictions:
    """What a filter denies besides its fixed list.

    Attributes:
        unix: Unix sockets may be made. If not, only pairs that cannot send to others.
        inet: Internet sockets may be made.
        netlink: Netlink sockets may be made.
        others: System V objects and properties of processes outside may be reached; so in
            namespaces, where none of them is visible.
        truncate: ``truncate(2)`` may be called.
        attributes: Extended attributes may be read by path.
    """

    unix: bool = True
    inet: bool = True
    netlink: bool = True
    others: bool = True
    truncate: bool = True
    attributes: bool = True


CLOSED = Restrictions()
"""Level A: the namespaces hold the rest."""


def partly_held(abi: int, *, online: bool) -> Restrictions:
    """Return what has to be denied beside Landlock of an ABI."""
    return Restrictions(
        unix=abi >= 9,  # noqa: PLR2004 - the ABI that holds pathname sockets
        inet=online,
        netlink=online,
        others=False,
        truncate=abi >= 3,  # noqa: PLR2004 - the ABI that holds truncation
        attributes=False,
    )


def is_supported(machine: str = "") -> bool:
    """Return whether there is a filter for this architecture."""
    return (machine or platform.machine()) in _ARCHITECTURES


def filter_bytes(restrictions: Restrictions, machine: str = "") -> bytes:
    """Return the filter as an array of ``struct sock_filter``.

    Args:
        restrictions: What it denies besides its fixed list.
        machine: The architecture as ``uname -m`` says it; "" for this computer's.

    Raises:
        ValueError: There is no table for the architecture.
    """
    known = _ARCHITECTURES.get(machine or platform.machine())
    if known is None:
        raise ValueError(f"There is no filter for {machine or platform.machine()}.")
    architecture, column = known
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    ]
    for code, table in ((errno.EPERM, _DENIED), (errno.ENOSYS, _ABSENT)):
        for numbers in table.values():
            program += _denied(numbers[column], code)
    program += _rules_on_arguments(restrictions, column)
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *each) for each in program)


def _rules_on_arguments(restrictions: Restrictions, column: int) -> list[_Instruction]:
    deny: _Instruction = (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    program = _of_call(_CLONE[column], [_argument(0), (_JUMP_SET, 0, 1, _NEW_NAMESPACES), deny])
    for request in (_TIOCSTI, _TIOCLINUX):
        # Only the low half: the kernel cuts the request to 32 bits.
        program += _of_call(_IOCTL[column], [_argument(1), (_JUMP_EQUAL, 0, 1, request), deny])
    program += _of_call(_SOCKET[column], _socket_rules(restrictions, deny))
    if not restrictions.unix:
        # Datagrams of a pair can still be sent elsewhere; connected streams and packets cannot.
        kind: list[_Instruction] = [_argument(1), (_AND, 0, 0, _KIND_OF_SOCKET)]
        kind += [(_JUMP_EQUAL, 2, 0, _STREAM), (_JUMP_EQUAL, 1, 0, _PACKETS), deny]
        program += _of_call(_SOCKET_PAIR[column], kind)
    if not restrictions.others:
        for numbers in _SHARED_WITH_OTHERS.values():
            program += _denied(numbers[column], errno.EPERM)
        for numbers, place in _ON_ITSELF_ONLY.values():
            number = numbers[column]
            if number is not None:
                program += _of_call(number, [_argument(place), (_JUMP_EQUAL, 1, 0, 0), deny])
        first: list[_Instruction] = [_argument(0), (_JUMP_EQUAL, 1, 0, 0), deny]
        # PRIO_PROCESS is 0; groups and users reach other processes.
        program += _of_call(_ON_ITSELF_ONLY["setpriority"][0][column] or 0, first)
    if not restrictions.attributes:
        for numbers in _ATTRIBUTES.values():
            program += _denied(numbers[column], errno.ENOTSUP)
    if not restrictions.truncate:
        program += _denied(_TRUNCATE[column], errno.EPERM)
    return program


def _socket_rules(restrictions: Restrictions, deny: _Instruction) -> list[_Instruction]:
    families = [_UNIX] * restrictions.unix
    families += [_INET, _INET6] * restrictions.inet
    families += [_NETLINK] * restrictions.netlink
    rules: list[_Instruction] = [_argument(0)]
    for place, family in enumerate(families):
        rules.append((_JUMP_EQUAL, len(families) - place, 0, family))
    rules.append(deny)
    internet = _protocols(_INTERNET_PROTOCOLS, deny)
    netlink = _protocols(_NETLINK_PROTOCOLS, deny)
    after_internet = len(internet) + 1
    return [
        *rules,
        (_JUMP_EQUAL, 1 + after_internet + len(netlink), 0, _UNIX),
        (_JUMP_EQUAL, after_internet, 0, _NETLINK),
        *internet,
        (_JUMP, 0, 0, len(netlink)),
        *netlink,
    ]


def _protocols(allowed: Sequence[int], deny: _Instruction) -> list[_Instruction]:
    """Return rules that deny other protocols of a socket."""
    rules: list[_Instruction] = [_argument(2)]
    for place, protocol in enumerate(allowed):
        rules.append((_JUMP_EQUAL, len(allowed) - place, 0, protocol))
    return [*rules, deny]


def _denied(number: int | None, code: int) -> list[_Instruction]:
    if number is None:
        return []
    return [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | code)]


def _of_call(number: int, rules: list[_Instruction]) -> list[_Instruction]:
    """Return rules for one call; the number is loaded again after them."""
    return [
        (_JUMP_EQUAL, 0, len(rules) + 1, number),
        *rules,
        (_LOAD, 0, 0, _NUMBER_AT),
    ]


def _argument(place: int) -> _Instruction:
    """Return the load of the low half of an argument, on little-endian machines."""
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * place)
