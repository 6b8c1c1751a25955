"""What every test needs: nothing that an earlier one left in the context, or to the collector."""

import gc
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from hermes_desktop.agent.sandbox.grants import Level
from hermes_desktop.agent.sandbox.landlock import landlock_version
from hermes_desktop.agent.sandbox.probe import probe
from hermes_desktop.core.session_context import reset_session_vars

_MANY_OBJECTS = 50_000
_collected_elsewhere: list[str] = []

# How long an example takes depends on what else the machine does; that is no failure.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")


def pytest_collection_finish() -> None:
    """Leave what was loaded to find the tests out of every later collection."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Let a worker that has nothing left take tests from one that is still busy."""
    from xdist.scheduler import WorkStealingScheduling  # only where -n was given

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here; prepare the process for tests with Qt."""
    _skip_without_its_programs(item)
    if _uses_qt(item):
        _collect_on_the_main_thread_only()


def _skip_without_its_programs(item: pytest.Item) -> None:
    """Skip a test whose marker ``needs`` names a program that is missing or does not work here.

    ``sandbox`` and ``landlock`` stand for what the kernel and bubblewrap allow on this machine.
    """
    needed = {program for mark in item.iter_markers("needs") for program in mark.args}
    programs = needed - {"sandbox", "landlock"}
    if missing := sorted(program for program in programs if shutil.which(program) is None):
        pytest.skip(f"needs {', '.join(missing)}")
    if "sandbox" in needed and probe().level is not Level.CLOSED:
        pytest.skip(f"needs bubblewrap and namespaces: {probe().error}")
    if "landlock" in needed and not landlock_version():
        pytest.skip("needs a kernel with Landlock")


def _collect_on_the_main_thread_only() -> None:
    """Collect garbage on the main thread, between tests, until the process ends.

    Tests of windows leave cycles with objects of Qt. The workers of a later test, which may know
    nothing of Qt, would collect them on their threads, and Qt would crash.
    """
    if gc.isenabled():
        gc.disable()
        gc.callbacks.append(_note_collection)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Collect once pytest has let go of the fixtures; leave what remains to no later collection.

    Without that, each collection between tests, and each list of all objects, would take longer
    than the one before it, up to most of the time of a run.
    """
    try:
        return (yield)
    finally:
        if not gc.isenabled() and (_uses_qt(item) or gc.get_count()[0] > _MANY_OBJECTS):
            gc.collect()
            gc.freeze()


def _uses_qt(item: pytest.Item) -> bool:
    return "qapp" in getattr(item, "fixturenames", ())


def _note_collection(phase: str, _: dict[str, Any]) -> None:
    thread = threading.current_thread()
    if phase == "start" and thread is not threading.main_thread():
        _collected_elsewhere.append(thread.name)


@pytest.fixture(autouse=True)
def _collected_on_the_main_thread() -> Iterator[None]:
    """Fail a test in a process with Qt that lets Python collect garbage on another thread."""
    yield
    threads = _collected_elsewhere.copy()
    _collected_elsewhere.clear()
    assert not threads, f"garbage was collected on {threads}"


@pytest.fixture(autouse=True)
def _context_of_its_own() -> Iterator[None]:
    """Forget which session an earlier test said it ran for."""
    reset_session_vars()
    yield
    reset_session_vars()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder for Unix sockets, whose path has at most 107 bytes; ``tmp_path`` may be longer."""
    with tempfile.TemporaryDirectory(prefix="hermes-run-", dir="/tmp") as name:
        yield Path(name)
