"""The order of versions, and what the disk says about the installed one."""

from pathlib import Path

import pytest

from hermes_desktop.services.updates.versions import installed_instead, is_newer, order_of

ORDERED = [
    "0.9",
    "1.0.dev1",
    "1.0a1",
    "1.0b2.dev3",
    "1.0b2",
    "1.0rc1",
    "1.0",
    "1.0.1",
    "1.2",
    "1.10",
]


def test_versions_are_ordered_as_installers_order_them() -> None:
    orders = [order_of(each) for each in ORDERED]
    assert None not in orders
    assert orders == sorted(orders)
    assert len(set(orders)) == len(orders)
    assert order_of("1.0.0") == order_of("1")
    assert is_newer("0.10.0", "0.9.9")
    assert not is_newer("1.0", "1.0.0")


@pytest.mark.parametrize(
    "text", ["", "1.", "v1.0", "1.0-1", "1.0 ", "1.0\n", "1.0+local", "1" * 9, "1.2.3.4.5", "١"]
)
def test_anything_else_is_no_version_and_never_newer(text: str) -> None:
    assert order_of(text) is None
    assert not is_newer(text, "0.1")
    assert not is_newer("9.9", text)


def installed(folder: Path, *versions: str) -> Path:
    for version in versions:
        metadata = folder / f"hermes_desktop-{version}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Name: hermes-desktop\n")
    return folder


def test_an_upgrade_on_the_disk_is_noticed(tmp_path: Path) -> None:
    assert installed_instead(installed(tmp_path / "a", "1.1.0"), "1.0.0") == "1.1.0"
    assert installed_instead(installed(tmp_path / "b", "0.9"), "1.0.0") == "0.9"


@pytest.mark.parametrize("versions", [(), ("1.0",), ("1.0.0", "1.1.0"), ("nonsense",)])
def test_a_disk_that_says_nothing_new_or_two_things_is_no_news(
    tmp_path: Path, versions: tuple[str, ...]
) -> None:
    assert installed_instead(installed(tmp_path, *versions), "1.0.0") == ""


def test_a_folder_that_is_gone_or_half_written_is_no_news(tmp_path: Path) -> None:
    assert installed_instead(tmp_path / "gone", "1.0.0") == ""
    (tmp_path / "hermes_desktop-1.1.0.dist-info").mkdir()
    assert installed_instead(tmp_path, "1.0.0") == ""
