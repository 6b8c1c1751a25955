"""Importer that loads a plugin's modules from a snapshot of its folder, never from disk.

The code that the user approved is the code that runs, whatever is written to the folder meanwhile,
and no compiled file found there is loaded in its place.
"""

import logging
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from typing_extensions import override

log = logging.getLogger(__name__)


class SnapshotModules(MetaPathFinder, InspectLoader):
    """The modules of one plugin, under a unique package name.

    Args:
        root: Name of the package, or of the only module.
        folder: The folder that was read, for tracebacks and ``__file__``.
        sources: Python files by path inside the folder.
        first: The file of the root module.
        owner: The plugin's name, for the log lines written by ``print``.
    """

    def __init__(
        self,
        root: str,
        folder: Path,
        sources: Mapping[str, bytes],
        *,
        owner: str,
        first: str = "__init__.py",
    ) -> None:
        self._root = root
        self._folder = folder
        self._sources = sources
        self._owner = owner
        self._first = first

    def load(self) -> ModuleType:
        """Import the root. Runs the plugin's code and raises whatever it raises."""
        sys.meta_path.insert(0, self)
        spec = self.find_spec(self._root)
        assert spec is not None  # noqa: S101 - the root is known
        module = module_from_spec(spec)
        sys.modules[self._root] = module
        self.exec_module(module)
        return module

    def forget(self) -> None:
        """Make its modules unavailable for import; existing references stay valid."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        inside = [n for n in sys.modules if n == self._root or n.startswith(f"{self._root}.")]
        for name in inside:
            sys.modules.pop(name, None)

    @override
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        file = self._file_of(fullname)
        if file is None:
            return None
        is_package = file.endswith("__init__.py")
        spec = spec_from_loader(
            fullname, self, origin=str(self._folder / file), is_package=is_package
        )
        if spec is not None:
            spec.has_location = True
            if is_package:
                spec.submodule_search_locations = []  # nothing is searched on disk
        return spec

    @override
    def get_source(self, fullname: str) -> str | None:
        file = self._file_of(fullname)
        return None if file is None else self._sources[file].decode("utf-8", "replace")

    @override
    def get_code(self, fullname: str) -> CodeType | None:
        file = self._file_of(fullname)
        if file is None:
            return None
        return compile(self._sources[file], str(self._folder / file), "exec", dont_inherit=True)

    @override
    def is_package(self, fullname: str) -> bool:
        return (self._file_of(fullname) or "").endswith("__init__.py")

    @override
    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["print"] = self._print  # standard output belongs to the program
        super().exec_module(module)

    def _print(self, *words: Any, sep: str | None = " ", **_: Any) -> None:
        log.info("%s says: %s", self._owner, (" " if sep is None else sep).join(map(str, words)))

    def _file_of(self, fullname: str) -> str | None:
        if fullname == self._root:
            return self._first
        if not fullname.startswith(f"{self._root}."):
            return None
        path = fullname.removeprefix(f"{self._root}.").replace(".", "/")
        return next(
            (each for each in (f"{path}.py", f"{path}/__init__.py") if each in self._sources), None
        )
