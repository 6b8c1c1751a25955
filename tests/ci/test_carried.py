"""Tests of the configuration that a bare root gets from its machine."""

from pathlib import Path

from tests.ci.bare_root import mirror
from tests.ci.carried import (
    carried_variables,
    local_places,
    mounted_folders,
    pip_files,
    pip_values,
)

DEBUG = """\
env_var:
  PIP_CERT='/etc/ssl/own.pem'
env:
global:
  /etc/xdg/pip/pip.conf, exists: False
  /etc/pip.conf, exists: True
    global.cert: /etc/ssl/own.pem
site:
  /home/me/checkout/.venv/pip.conf, exists: True
user:
  /home/me/.pip/pip.conf, exists: False
  /home/me/.config/pip/pip.conf, exists: True
    global.find-links: /srv/wheels
"""
TARGETS = """\
http://mirror.test/debian/|bookworm-updates|main
http://mirror.test/debian/|bookworm|contrib
http://mirror.test/debian/|bookworm|main
http://other.test/debian/|bookworm|main"""


def test_only_what_fetching_packages_needs_comes_from_the_environment() -> None:
    wanted = {
        "http_proxy": "http://proxy.test:1",
        "HTTPS_PROXY": "http://proxy.test:1",
        "no_proxy": "localhost",
        "PIP_FIND_LINKS": "/srv/wheels",
        "SSL_CERT_FILE": "/etc/ssl/own.pem",
        "SSL_CERT_DIR": "/etc/ssl/certs",
        "NODE_EXTRA_CA_CERTS": "/etc/ssl/own.pem",
        "REQUESTS_CA_BUNDLE": "/etc/ssl/own.pem",
    }
    others = {
        "CI": "true",
        "HERMES_TEST_CACHE": "/c",
        "HOME": "/root",
        "DISPLAY": ":0",
        "HERMES_HOME": "/h",
        "PIPELINE": "1",
    }

    assert carried_variables({**wanted, **others}) == wanted


def test_the_files_of_pip_that_exist_but_not_the_environments_own() -> None:
    assert pip_files(DEBUG) == [
        Path("/etc/pip.conf"),
        Path("/home/me/.config/pip/pip.conf"),
    ]


def test_a_setting_of_pip_may_hold_several_values() -> None:
    listed = (
        "global.cert='/etc/ssl/own.pem'\n"
        "global.extra-index-url='\\nfile:///srv/one/simple\\nfile:///srv/two/simple'\n"
        ":env:.find-links='https://host.test/?a=b'\n"
    )

    assert pip_values(listed) == [
        "/etc/ssl/own.pem",
        "file:///srv/one/simple",
        "file:///srv/two/simple",
        "https://host.test/?a=b",
    ]
    assert pip_values("") == []


def test_places_of_this_machine_that_exist(tmp_path: Path) -> None:
    index, file = tmp_path / "my index", tmp_path / "constraints.txt"
    index.mkdir()
    file.touch()
    values = [
        "https://host.test/simple",
        index.as_uri(),
        str(file),
        str(file),
        "180",
        str(tmp_path / "absent"),
    ]

    assert local_places(values) == [index, file]


def test_an_index_is_shown_with_the_files_beside_it(tmp_path: Path) -> None:
    for name in ("one/simple", "one/more", "one/within/deep", "two/simple"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file").touch()
    places = [tmp_path / name for name in ("one/simple", "one/more", "two/simple", "file")]

    assert mounted_folders(places) == [tmp_path / "one", tmp_path / "two"]
    assert mounted_folders([*places, tmp_path / "one/within/deep"]) == [
        tmp_path / "one",
        tmp_path / "two",
    ]


def test_a_folder_high_up_is_not_shown_as_a_whole() -> None:
    assert mounted_folders([Path("/usr/share"), Path("/usr/lib")]) == [
        Path("/usr/lib"),
        Path("/usr/share"),
    ]


def test_the_mirror_is_the_one_that_this_machine_uses() -> None:
    assert mirror(TARGETS) == "http://mirror.test/debian/"
    assert mirror("http://mirror.test/debian/|trixie|main") is None
    assert mirror("") is None
