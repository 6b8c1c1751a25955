"""Files that ship with the program are found."""

import pytest

from hermes_desktop.core.shipped_files import shipped_path


def test_found_in_the_checkout() -> None:
    assert shipped_path("demo").is_dir()
    assert shipped_path("demo", "kitchen.yaml").is_file()


def test_missing_ones_are_named() -> None:
    with pytest.raises(FileNotFoundError, match="demo/gone"):
        shipped_path("demo", "gone")
