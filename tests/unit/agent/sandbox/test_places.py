"""What is readable in a sandbox, what is never granted, and what git is told."""

import os
from pathlib import Path

import pytest

from hermes_desktop.agent.sandbox.grants import Grant
from hermes_desktop.agent.sandbox.landlock import handled_files
from hermes_desktop.agent.sandbox.own_places import Homes, is_grantable, is_too_wide, refused
from hermes_desktop.agent.sandbox.probe import remedy_for
from hermes_desktop.agent.sandbox.toolchains import environment, settings_of_git, toolchains


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    user = tmp_path / "user"
    (user / ".hermes").mkdir(parents=True)
    return Homes(user, user / ".hermes")


@pytest.mark.parametrize("name", [".", "..", "/", ".config", ".local", ".local/share", ".cache"])
def test_what_holds_a_home_is_too_wide(homes: Homes, name: str) -> None:
    assert is_too_wide(homes.user / name, homes)
    assert not is_grantable(homes.user / name, homes)


@pytest.mark.parametrize(
    "name", [".ssh", ".ssh/id_rsa", ".hermes", ".hermes/config.yaml", ".bashrc", "/etc/shadow"]
)
def test_own_files_are_never_granted(homes: Homes, name: str) -> None:
    path = homes.user / name

    assert not is_grantable(path, homes)
    assert refused(Grant(homes.user / "work", read=frozenset({path})), homes) == (path,)


def test_a_link_to_the_home_is_the_home(homes: Homes) -> None:
    link = homes.user / "link"
    link.symlink_to(homes.user)

    assert not is_grantable(link, homes)
    assert not is_grantable(link / ".ssh", homes)
    assert is_grantable(homes.user / "Documents", homes)


def test_places_behind_links_are_named_as_they_really_are(homes: Homes, tmp_path: Path) -> None:
    config, keys, loop = tmp_path / "dotfiles/config", tmp_path / "keys", homes.user / ".gnupg"
    for each in (config, keys):
        each.mkdir(parents=True)
    (homes.user / ".config").symlink_to(config)
    (homes.user / ".ssh").symlink_to(Path("..", "keys"))
    loop.symlink_to(loop)
    (config / "autostart").symlink_to(keys)
    (tmp_path / "hermes").symlink_to(homes.hermes)

    for each in (homes, Homes(tmp_path / "user/../user", tmp_path / "hermes")):
        found = set(each.never_granted())

        assert found == found | {each.hermes.resolve(), keys, each.user / ".config/autostart"}
        assert {Path(os.path.realpath(path)) for path in found} <= found
        assert not is_grantable(config / "autostart/evil.desktop", each)
        assert not is_grantable(config / "fish/config.fish", each), "it need not exist"


def test_recognised_toolchains_are_readable_and_nothing_around_them(homes: Homes) -> None:
    for name in (".pyenv/versions/3.12", ".cargo/bin", ".cargo/registry", ".local/bin", "bin"):
        (homes.user / name).mkdir(parents=True)
    (homes.user / ".cargo/credentials.toml").touch()
    (homes.user / ".local/bin/own-script").touch()
    tool = homes.user / ".local/share/uv/tools/ruff/bin/ruff"
    tool.parent.mkdir(parents=True)
    tool.touch()
    (homes.user / ".local/bin/ruff").symlink_to(tool)
    (homes.user / ".local/bin/loop").symlink_to("loop")
    found = [
        str(each.relative_to(homes.user))
        for each in toolchains(homes.user, homes.user / "work")
        if each.is_relative_to(homes.user)
    ]

    assert found == [".pyenv", ".cargo/bin", ".local/share/uv/tools", ".local/bin/ruff"]


def test_the_interpreter_of_an_environment_is_readable_but_not_any_folder(homes: Homes) -> None:
    work, real, fake = (homes.user / each for each in ("work", "python312", "private"))
    for prefix in (real, fake):
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin/python3").touch()
    (real / "lib/python3.12").mkdir(parents=True)
    (real / "lib/python3.12/os.py").touch()
    for name, prefix in ((".venv", real), ("venv", fake)):
        (work / name / "bin").mkdir(parents=True)
        (work / name / "bin/python").symlink_to(prefix / "bin/python3")
    found = toolchains(homes.user, work)

    assert real in found
    assert fake not in found


def test_a_variable_that_nobody_listed_is_dropped(tmp_path: Path) -> None:
    given = {"PATH": "/usr/bin", "LC_ALL": "C", "SSH_AUTH_SOCK": "/x", "LD_PRELOAD": "/y"}
    given |= {"DBUS_SESSION_BUS_ADDRESS": "z", "PYTHONPATH": "p", "DISPLAY": ":0"}
    kept = environment(given, temporary="/tmp", caches=tmp_path)

    assert {name for name in kept if name in given} == {"PATH", "LC_ALL"}
    assert kept["PIP_CACHE_DIR"].startswith(str(tmp_path))


def test_settings_of_git_lose_credentials_and_programs() -> None:
    text = """
[user]
\tname = Ada
\temail = ada@example.org
\tsigningkey = ABC
[commit]
\tgpgsign = true
[credential]
\thelper = store
[credential "https://x"]
\thelper = !cat secret
[core]
\tautocrlf = input
\tsshCommand = ssh -i key
\tfsmonitor = run-me
[http "https://x"]
\textraheader = "Authorization: token"
[url "https://token@github.com/"]
\tinsteadOf = gh:
[include] path = other
[init]
\tdefaultBranch = main
"""
    assert settings_of_git(text).split("\n") == [
        "[user]",
        "\tname = Ada",
        "\temail = ada@example.org",
        "\tsigningkey = ABC",
        "[commit]",
        "[core]",
        "\tautocrlf = input",
        "[init]",
        "\tdefaultBranch = main",
        "",
    ]


def test_rights_are_cut_to_what_the_kernel_knows() -> None:
    assert [handled_files(abi).bit_count() for abi in range(1, 10)] == [
        *(13, 14, 15, 15, 16, 16, 16, 16, 17)
    ]


def test_a_missing_bubblewrap_can_be_installed() -> None:
    assert "bubblewrap" in remedy_for("bubblewrap is not installed.")
