"""Files of a folder that also have a name outside it."""

import os
from pathlib import Path

from hermes_desktop.core.files.hard_links import OutsideLinks, outside_links


def never() -> bool:
    return False


def test_only_names_outside_count(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    (folder / "deep").mkdir(parents=True)
    elsewhere.mkdir()
    (folder / "alone").write_text("1")
    (folder / "inside").write_text("2")
    os.link(folder / "inside", folder / "deep" / "again")
    assert outside_links(folder, never) == OutsideLinks()
    (elsewhere / "thesis").write_text("3")
    os.link(elsewhere / "thesis", folder / "deep" / "draft")
    os.link(elsewhere / "thesis", folder / "copy")
    (folder / "link").symlink_to(elsewhere)
    assert outside_links(folder, never) == OutsideLinks(1, ("copy",))


def test_few_are_named_and_all_are_counted(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    for number in range(8):
        (elsewhere / f"{number}").write_text("x")
        os.link(elsewhere / f"{number}", folder / f"{number}")
    found = outside_links(folder, never)
    assert (found.count, found.names, found.complete) == (8, ("0", "1", "2", "3", "4"), True)


def test_the_search_is_bounded_and_can_be_given_up(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}").write_text("x")
    assert not outside_links(tmp_path, never, most=10).complete
    assert not outside_links(tmp_path, lambda: True).complete
    assert not outside_links(tmp_path / "gone", never).complete
