"""The profile for macOS, as text; it was never tried on a Mac."""

from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.grants import Grant
from hermes_desktop.agent.sandbox.macos import macos_command, macos_profile
from hermes_desktop.agent.sandbox.own_places import Homes
from hermes_desktop.agent.sandbox.private_folders import PrivateFolders

HOMES = Homes(Path("/Users/ada"), Path("/Users/ada/.hermes"))
OWN = PrivateFolders(
    Path("/Users/ada/.hermes/desktop/sandbox/x/caches"), Path("/tmp/x"), Path("/o/gitconfig")
)
WORK = Path('/Users/ada/Work "1"')


def profile(**more: object) -> str:
    return macos_profile(Grant(WORK, **more), HOMES, OWN)  # type: ignore[arg-type]


def test_everything_is_denied_at_first_and_what_is_hidden_again_later() -> None:
    lines = profile(write=frozenset({Path("/Users/ada")})).splitlines()

    assert lines[:2] == ["(version 1)", "(deny default)"]
    granted = lines.index("(allow file-write*")
    hidden = lines.index("(deny file-read* file-write*")
    assert granted < hidden < lines.index('  (subpath "/Users/ada/.ssh")')
    assert lines.index('  (subpath "/Users/ada/.hermes")') > hidden
    # The last rule that fits wins: the caches lie below a hidden folder.
    assert f'  (subpath "{OWN.caches}"))' == lines[-1]


def test_names_cannot_end_a_rule() -> None:
    assert '(subpath "/Users/ada/Work \\"1\\"")' in profile()


@pytest.mark.parametrize("more", [{"hosts": frozenset({"a.example"})}, {"network": True}])
def test_the_network_is_all_or_nothing(more: dict[str, object]) -> None:
    assert "network" not in profile()
    assert "(allow network-outbound)" in profile(**more)


def test_no_right_reaches_the_home_as_a_whole() -> None:
    assert '(subpath "/Users/ada")' not in profile()
    assert macos_command(["ls", "-l"], Grant(WORK), HOMES, OWN)[-2:] == ("ls", "-l")


def test_brackets_are_balanced() -> None:
    for text in (profile(), profile(network=True, read=frozenset({Path("/a")}))):
        assert text.count("(") == text.count(")")
