"""Services and sandboxes that keep us from hosting."""

from pathlib import Path

import pytest

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks, closed_off, service_for

PATHS = HermesPaths(Path("/h/it's me/.hermes"), Path("/h/it's me/.hermes"))


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("hermes-gateway.service", '"HERMES_HOME=/h/it\'s me/.hermes"\n', True),
        ("hermes-gateway.service", "Environment=HERMES_HOME=/h/it's me/.hermes\n", True),
        ("hermes-gateway.service", "ExecStart=hermes gateway run\n", True),
        ("ai.hermes.gateway.plist", "<key>HERMES_HOME</key> <string>/h/it's me/.hermes<", True),
        ("hermes-gateway.service", '"HERMES_HOME=/h/it\'s me/.hermes/profiles/x"\n', False),
        ("hermes-gateway-x.service", '"HERMES_HOME=/other"\n', False),
        ("other.service", "HERMES_HOME=/h/it's me/.hermes\n", False),
    ],
)
def test_a_service_counts_for_the_home_it_names(
    tmp_path: Path, name: str, text: str, found: bool
) -> None:
    tmp_path.joinpath(name).write_text(text)

    assert (service_for(PATHS, [tmp_path / "none", tmp_path]) is not None) == found


def test_a_service_without_a_home_is_not_for_a_profile(tmp_path: Path) -> None:
    tmp_path.joinpath("hermes-gateway.service").write_text("[Service]\n")

    assert service_for(HermesPaths(PATHS.home, PATHS.root, "work"), [tmp_path]) is None


def test_sandboxes_are_noticed(tmp_path: Path) -> None:
    status = tmp_path / "proc" / "self" / "status"
    status.parent.mkdir(parents=True)
    assert closed_off(tmp_path) == ""
    status.write_text("Name:\tx\nNSpid:\t12\n")
    assert closed_off(tmp_path) == ""
    assert HostingChecks(tmp_path, ()).obstacle() == ""
    status.write_text("Name:\tx\nNSpid:\t12\t3\n")
    assert "namespace" in closed_off(tmp_path)
    tmp_path.joinpath(".flatpak-info").touch()
    assert "Flatpak" in closed_off(tmp_path)


def test_a_system_without_processes_to_look_at_is_an_obstacle(tmp_path: Path) -> None:
    assert "Linux" in HostingChecks(tmp_path, ()).obstacle()
    assert HostingChecks.here().root == Path("/")
