"""Restricts itself by Landlock and seccomp and becomes another program; standard library only.

Run as ``python -I -S landlock_start.py DESCRIPTOR``; the descriptor holds a JSON object with the
arguments, the rules and the filter. If anything fails, it ends with code 125 and starts nothing.
"""

import ctypes
import json
import os
import struct
import sys
from typing import Any, NoReturn

FAILED = 125
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_SET_SECUREBITS, _ROOT_IS_ORDINARY = 28, 0b11001111
"""SECBIT_NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with the bit that locks it."""
_CAPABILITIES_3 = 0x20080522
_BENEATH = 1
_O_PATH_CLOEXEC = 0o10000000 | 0o2000000
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    """Read the order, restrict this process, and become the program."""
    try:
        order = _order(int(sys.argv[1]))
        _restrict(order)
        os.execvpe(order["argv"][0], order["argv"], os.environ)  # noqa: S606 - that is its purpose
    except (OSError, ValueError, KeyError, IndexError) as error:
        sys.stderr.write(f"The sandbox could not be set up; nothing was run: {error}\n")
        sys.stderr.flush()
    os._exit(FAILED)


def _order(descriptor: int) -> "dict[str, Any]":
    with os.fdopen(descriptor, "rb") as stream:
        found: dict[str, Any] = json.loads(stream.read())
    return found


def _restrict(order: "dict[str, Any]") -> None:
    _call(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    attributes = struct.pack("=QQQ", order["files"], order["net"], order["scopes"])
    size = order["size"]
    ruleset = _call(
        _libc.syscall(
            _CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(size), ctypes.c_uint(0)
        ),
        "Landlock ruleset",
    )
    for path, rights in order["rules"]:
        _allow(ruleset, path, rights)
    _call(_libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(0)), "Landlock")
    os.close(ruleset)
    _drop_capabilities()
    _filter(bytes.fromhex(order["seccomp"]))


def _drop_capabilities() -> None:
    """Make root an ordinary user: some capabilities reach other processes in spite of Landlock."""
    if os.geteuid() == 0:  # otherwise the next program would get them all again
        _call(_libc.prctl(_SET_SECUREBITS, _ROOT_IS_ORDINARY, 0, 0, 0), "the secure bits")
    header, none = struct.pack("@Ii", _CAPABILITIES_3, 0), bytes(24)
    _call(_libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(none)), "the capabilities")


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, _O_PATH_CLOEXEC)
    except FileNotFoundError:
        return  # gone meanwhile: nothing to allow
    try:
        rule = struct.pack("=Qi", rights, descriptor)
        _call(
            _libc.syscall(
                _ADD_RULE,
                ctypes.c_int(ruleset),
                ctypes.c_int(_BENEATH),
                ctypes.c_char_p(rule),
                ctypes.c_uint(0),
            ),
            f"Landlock rule for {path}",
        )
    finally:
        os.close(descriptor)


def _filter(program: bytes) -> None:
    buffer = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, padding, the pointer
    header = struct.pack("@HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    _call(
        _libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.c_char_p(header), 0, 0), "the seccomp filter"
    )


def _call(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


if __name__ == "__main__":
    main()
