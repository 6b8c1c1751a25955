"""What the assistant may ask for: canonical names, and what is refused without asking."""

import socket
from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.access import (
    AccessRefusedError,
    host_access,
    is_granted,
    path_access,
)
from hermes_desktop.agent.sandbox.grants import Access, Grant
from hermes_desktop.agent.sandbox.own_places import Homes, why_refused


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    homes = Homes(tmp_path / "user", tmp_path / "user/.hermes")
    homes.hermes.mkdir(parents=True)
    (homes.user / "work").mkdir()
    (homes.user / "Documents").mkdir()
    (homes.user / "Documents/plan.txt").write_text("plan")
    return homes


def asked(homes: Homes, text: str, *, write: bool = False) -> Access:
    return path_access(text, Grant(homes.user / "work"), homes, write=write)


@pytest.mark.parametrize(
    "text",
    [
        "~/Documents/plan.txt",
        "../Documents/plan.txt",
        " ~/work/../Documents/plan.txt ",
        "link",
    ],
)
def test_a_path_is_shown_as_it_is_without_links(homes: Homes, text: str) -> None:
    (homes.user / "work/link").symlink_to("../Documents/plan.txt")

    assert asked(homes, text) == Access("path", str(homes.user / "Documents/plan.txt"))


@pytest.mark.parametrize(
    "name",
    [
        *("/", "/home", "/tmp", "~", "~/", "..", "~/.hermes", "~/.hermes/config.yaml", "~/.ssh"),
        *("~/.ssh/id_rsa", "~/.gnupg", "~/.config", "~/.local/share", "~/.cache", "~/.bashrc"),
        *("/etc/shadow", "/proc/1/environ", "/dev/sda", "/run/user", "/sys", "/tmp/.X11-unix/X0"),
        *("/tmp/ssh-abc/agent.1", "~/.config/autostart/x.desktop", "~/.netrc", "to-keys", ""),
        "~/Documents/\x1b[2J",
    ],
)
def test_what_is_never_granted(homes: Homes, name: str) -> None:
    (homes.user / ".ssh").mkdir()
    (homes.user / "work/to-keys").symlink_to("../.ssh")

    for write in (False, True):
        with pytest.raises(AccessRefusedError):
            asked(homes, name, write=write)


def test_the_reason_of_a_refusal_is_said(homes: Homes) -> None:
    assert "far more than one task" in why_refused(homes.user, homes)
    assert "of Hermes" in why_refused(homes.hermes / "auth.json", homes)
    assert "Keys" in why_refused(homes.user / ".gnupg", homes)
    assert "system" in why_refused(Path("/etc/passwd"), homes)
    assert why_refused(homes.user / "Documents", homes) == ""


def test_what_does_not_exist_or_is_a_socket_is_refused(homes: Homes, short_folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(short_folder / "s"))
        with pytest.raises(AccessRefusedError, match="neither a file nor a folder"):
            asked(homes, str(short_folder / "s"))
    with pytest.raises(AccessRefusedError, match="name the folder"):
        asked(homes, "~/Documents/new.txt", write=True)


def test_the_system_is_readable_and_is_not_to_be_changed(homes: Homes) -> None:
    access = asked(homes, "/usr/bin")

    assert is_granted(access, Grant(homes.user / "work"), homes)
    with pytest.raises(AccessRefusedError):
        asked(homes, "/usr/bin", write=True)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Example.ORG.", "example.org"),
        ("https://example.org:8443/a?b#c", "example.org"),
        ("user@example.org", "example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("93.184.216.34", "93.184.216.34"),
    ],
)
def test_a_host_is_shown_as_it_will_be_reached(text: str, host: str) -> None:
    assert host_access(text) == Access("host", host)


@pytest.mark.parametrize(
    "text",
    [
        *("localhost", "nas", "printer.local", "router.lan", "db.internal", "x.home.arpa", "*"),
        *("127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[::1]", "::1", "fe80::1"),
        *("[::ffff:10.0.0.1]", "2130706433", "127.1", "0x7f.0.0.1", "*.example.org", "", " "),
        *("a..b", "exa mple.org", "http://", "-x.example/../", "x" * 300 + ".example"),
    ],
)
def test_what_is_no_public_host_is_refused(text: str) -> None:
    with pytest.raises(AccessRefusedError):
        host_access(text)


def test_what_is_granted_already(homes: Homes) -> None:
    folder, documents = homes.user / "work", homes.user / "Documents"
    plan = str(documents / "plan.txt")
    reading, writing = Access("path", plan), Access("path", plan, write=True)

    assert is_granted(Access("path", str(folder), write=True), Grant(folder), homes)
    assert not is_granted(reading, Grant(folder), homes)
    assert is_granted(reading, Grant(folder, read=frozenset({documents})), homes)
    assert not is_granted(writing, Grant(folder, read=frozenset({documents})), homes)
    assert is_granted(writing, Grant(folder, write=frozenset({documents})), homes)
    one = Access("host", "a.example.org")
    assert is_granted(one, Grant(folder, hosts=frozenset({"*.example.org"})), homes)
    assert not is_granted(one, Grant(folder, hosts=frozenset({"example.org"})), homes)
    assert is_granted(one, Grant(folder, network=True), homes)
