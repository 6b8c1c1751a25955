"""Loading modules without keeping their source."""

import inspect
import linecache
import sys
from pathlib import Path

import pytest

from hermes_desktop.core.lean_loading import forget_sources, import_without_sources


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "a_module_to_load_leanly"
    # It does to itself what PySide6 does to every module that is loaded.
    text = "import inspect, sys\nSEEN = inspect.getsource(sys.modules[__name__])\n"
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_a_module_is_there_and_its_source_is_not(module: str, tmp_path: Path) -> None:
    import_without_sources(module)

    assert sys.modules[module].SEEN.startswith("import inspect")
    assert str(tmp_path / f"{module}.py") not in linecache.cache
    del sys.modules[module]


def test_what_was_forgotten_is_read_again_where_it_is_shown() -> None:
    before = inspect.getsource(forget_sources)
    assert inspect.getsourcefile(forget_sources) in linecache.cache

    forget_sources()

    assert not linecache.cache
    assert inspect.getsource(forget_sources) == before
