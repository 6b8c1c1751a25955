"""Files that ship with the program are found."""

import ast
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hermes_desktop
from hermes_desktop.core.files.shipped_files import shipped_path


def test_found_in_the_checkout() -> None:
    assert shipped_path("demo").is_dir()
    assert shipped_path("demo", "kitchen.yaml").is_file()
    assert shipped_path("docs", "guide.md").is_file()


def test_missing_ones_are_named() -> None:
    with pytest.raises(FileNotFoundError, match="demo/gone"):
        shipped_path("demo", "gone")


def test_everything_that_the_program_asks_for_is_in_the_wheel() -> None:
    package = Path(hermes_desktop.__file__).parent
    asked = {
        tuple(each.value for each in call.args if isinstance(each, ast.Constant))
        for file in package.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in {"shipped_path", "resource_path"}
    }
    project = tomllib.loads((package.parent / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]

    assert ("docs", "guide.md") in asked
    for parts in asked:
        source = "/".join(("resources", *parts))
        found = [each for each in included if source == each or source.startswith(f"{each}/")]
        assert found, f"{source} is not in the wheel"
        target = f"hermes_desktop/_{found[0]}"
        assert included[found[0]] == target


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
