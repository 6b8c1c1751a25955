"""Files that ship with the program are found."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hermes_desktop
from hermes_desktop.core.files.shipped_files import shipped_path


def test_found_in_the_checkout() -> None:
    assert shipped_path("demo").is_dir()
    assert shipped_path("demo", "kitchen.yaml").is_file()


def test_missing_ones_are_named() -> None:
    with pytest.raises(FileNotFoundError, match="demo/gone"):
        shipped_path("demo", "gone")


def test_found_in_an_installed_package(tmp_path: Path) -> None:
    package = tmp_path / "hermes_desktop"
    (package / "core" / "files").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py", "core/files/shipped_files.py"):
        shutil.copy(Path(hermes_desktop.__file__).parent / name, package / name)
    (package / "_resources" / "demo").mkdir(parents=True)
    code = (
        "from hermes_desktop.core.files.shipped_files import shipped_path; "
        "print(shipped_path('demo'))"
    )

    out = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout

    assert Path(out.strip()) == package / "_resources" / "demo"
