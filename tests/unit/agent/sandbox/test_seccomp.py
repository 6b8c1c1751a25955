"""The seccomp filter, run by a small interpreter of classic BPF, so that both tables are tried."""

import struct

import pytest

from hermes_desktop.agent.sandbox.seccomp import (
    CLOSED,
    Restrictions,
    filter_bytes,
    is_supported,
    partly_held,
)

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
NOT_SUPPORTED = 0x0005005F
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    "x86_64": {"read": 0, "clone": 56, "ioctl": 16, "socket": 41, "unshare": 272, "mount": 165}
    | {"truncate": 76, "ftruncate": 77, "shmget": 29, "setpriority": 141, "prlimit": 302}
    | {"socketpair": 53, "getxattr": 191, "lgetxattr": 192},
    "aarch64": {"read": 63, "clone": 220, "ioctl": 29, "socket": 198, "unshare": 97, "mount": 40}
    | {"truncate": 45, "ftruncate": 46, "shmget": 194, "setpriority": 140, "prlimit": 261}
    | {"socketpair": 199, "getxattr": 8, "lgetxattr": 9},
}
BOTH = {"io_uring_setup": 425, "clone3": 435, "fsopen": 430, "move_mount": 429, "getxattrat": 464}
UNIX, INET, INET6, NETLINK, PACKET, VSOCK = 1, 2, 10, 16, 17, 40
MACHINES = pytest.mark.parametrize("machine", list(ARCH))


def verdict(program: bytes, machine: str, number: int, *arguments: int) -> int:
    """Return what the filter answers for a call, as the kernel would run it."""
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, ARCH[machine], 0, *words)
    value, at = 0, 0
    while True:
        code, yes, no, k = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x20:
            value = struct.unpack_from("<I", data, k)[0]
        elif code == 0x06:
            return int(k)
        elif code == 0x05:
            at += k
        elif code == 0x54:
            value &= k
        else:
            true = {0x15: value == k, 0x45: bool(value & k), 0x35: value >= k}[code]
            at += yes if true else no


def ask(restrictions: Restrictions, machine: str, call: str, *arguments: int) -> int:
    number = (CALLS[machine] | BOTH)[call]
    return verdict(filter_bytes(restrictions, machine), machine, number, *arguments)


@MACHINES
def test_ordinary_calls_pass(machine: str) -> None:
    for call in ("read", "clone", "ioctl", "ftruncate", "truncate", "shmget", "setpriority"):
        assert ask(CLOSED, machine, call) == ALLOW


@MACHINES
@pytest.mark.parametrize("call", ["unshare", "mount", "fsopen", "move_mount"])
def test_calls_that_leave_a_sandbox_are_denied(machine: str, call: str) -> None:
    assert ask(CLOSED, machine, call) == EPERM


@MACHINES
@pytest.mark.parametrize("call", ["io_uring_setup", "clone3"])
def test_calls_that_a_filter_cannot_see_do_not_exist(machine: str, call: str) -> None:
    assert ask(CLOSED, machine, call) == ENOSYS


@MACHINES
def test_no_namespace_by_clone_and_no_typing_into_terminals(machine: str) -> None:
    assert ask(CLOSED, machine, "clone", 0x10000000 | 17) == EPERM
    assert ask(CLOSED, machine, "clone", 17) == ALLOW
    assert ask(CLOSED, machine, "ioctl", 0, 0x5412) == EPERM
    assert ask(CLOSED, machine, "ioctl", 0, 0xF_0000_5412) == EPERM
    assert ask(CLOSED, machine, "ioctl", 0, 0x541C) == EPERM
    assert ask(CLOSED, machine, "ioctl", 0, 0x5401) == ALLOW


@MACHINES
def test_sockets_of_other_families_and_mptcp_are_denied(machine: str) -> None:
    for family in (UNIX, INET, INET6, NETLINK):
        assert ask(CLOSED, machine, "socket", family, 1, 0) == ALLOW
    for family in (PACKET, VSOCK, 38, 0):
        assert ask(CLOSED, machine, "socket", family, 1, 0) == EPERM
    assert ask(CLOSED, machine, "socket", INET, 1, 262) == EPERM


@MACHINES
@pytest.mark.parametrize("restrictions", [CLOSED, partly_held(7, online=True)])
def test_protocols_are_those_of_every_day(machine: str, restrictions: Restrictions) -> None:
    for family in (INET, INET6):
        for protocol in (0, 1, 6, 17, 58):
            assert ask(restrictions, machine, "socket", family, 1, protocol) == ALLOW
        for protocol in (33, 132, 136, 255, 262):  # DCCP, SCTP, UDP-Lite, raw, MPTCP
            assert ask(restrictions, machine, "socket", family, 1, protocol) == EPERM
    for protocol in (0, 4, 15, 16):
        assert ask(restrictions, machine, "socket", NETLINK, 3, protocol) == ALLOW
    for protocol in (9, 12, 21):  # audit, firewall, cryptography
        assert ask(restrictions, machine, "socket", NETLINK, 3, protocol) == EPERM
    assert ask(CLOSED, machine, "socket", UNIX, 1, 1) == ALLOW


@MACHINES
def test_level_b_denies_what_namespaces_would_hide(machine: str) -> None:
    held = partly_held(7, online=False)

    for family in (UNIX, INET, INET6, NETLINK):
        assert ask(held, machine, "socket", family, 1, 0) == EPERM
    assert ask(partly_held(7, online=True), machine, "socket", INET, 2, 0) == ALLOW
    assert ask(partly_held(9, online=False), machine, "socket", UNIX, 1, 0) == ALLOW
    assert ask(held, machine, "shmget") == EPERM
    assert ask(held, machine, "setpriority", 0, 0) == ALLOW
    assert ask(held, machine, "setpriority", 0, 1234) == EPERM
    assert ask(held, machine, "setpriority", 2, 0) == EPERM
    assert ask(held, machine, "prlimit", 1234) == EPERM
    assert ask(held, machine, "prlimit", 0) == ALLOW


@MACHINES
def test_pairs_of_sockets_that_could_send_to_others_are_denied(machine: str) -> None:
    stream, datagram, raw, packets, close_on_exec = 1, 2, 3, 5, 0o2000000

    for kind in (stream, packets):
        assert ask(partly_held(8, online=True), machine, "socketpair", UNIX, kind) == ALLOW
    for kind in (datagram, raw, datagram | close_on_exec):
        assert ask(partly_held(8, online=True), machine, "socketpair", UNIX, kind) == EPERM
        assert ask(partly_held(9, online=True), machine, "socketpair", UNIX, kind) == ALLOW
        assert ask(CLOSED, machine, "socketpair", UNIX, kind) == ALLOW


@MACHINES
def test_attributes_of_files_outside_are_not_read_at_level_b(machine: str) -> None:
    for call in ("getxattr", "lgetxattr", "getxattrat"):
        assert ask(partly_held(9, online=True), machine, call) == NOT_SUPPORTED
        assert ask(CLOSED, machine, call) == ALLOW


@MACHINES
@pytest.mark.parametrize(("abi", "answer"), [(1, EPERM), (2, EPERM), (3, ALLOW), (9, ALLOW)])
def test_truncation_is_denied_where_landlock_does_not_hold_it(
    machine: str, abi: int, answer: int
) -> None:
    assert ask(partly_held(abi, online=False), machine, "truncate") == answer
    assert ask(partly_held(abi, online=False), machine, "ftruncate") == ALLOW


@MACHINES
def test_programs_of_another_architecture_are_ended(machine: str) -> None:
    other = next(each for each in ARCH if each != machine)

    assert verdict(filter_bytes(CLOSED, machine), other, 0) == KILL
    assert verdict(filter_bytes(CLOSED, machine), machine, 0x40000000) == ENOSYS


def test_other_computers_have_no_filter() -> None:
    assert not is_supported("riscv64")
    with pytest.raises(ValueError, match="riscv64"):
        filter_bytes(CLOSED, "riscv64")
