"""Plugins, event hooks and shell hooks of a real home: loaded as agreed to, hurting nobody."""

import asyncio
import logging
import sys
import threading
from pathlib import Path

import pytest

from hermes_desktop.core.event_bus import EventBus
from hermes_desktop.core.events import Notice
from tests.fakes.plugin_folders import (
    care,
    enable,
    entries,
    event_hook,
    loaded,
    plugin,
)
from tests.support.waiting import until


def test_a_plugin_registers_what_it_can_and_is_told_what_it_cannot(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "hermes_desktop")
    plugin(
        tmp_path,
        "notes",
        """
        from . import helper
        from .helper import WORD
        import json
        print("loading", WORD)

        def register(ctx):
            assert (ctx.manifest.name, ctx.manifest.version) == ("notes", "1.0")
            assert ctx.profile_name == "default"
            assert not hasattr(ctx, "nonsense")
            ctx.register_tool("t", toolset="x", schema={}, handler=print)
            ctx.register_hook("pre_llm_call", lambda **given: WORD + given["user_message"])
            ctx.inject_message("hello")
            ctx.register_command("hello", lambda args: "Hi " + args, description="say hi")
            ctx.register_command("new", lambda args: "never")
            ctx.register_command("no good", lambda args: "never")
            ctx.register_hook("on_full_moon", lambda **_: None)
        """,
        helper__py="def late():\n    from . import more\n    return more\nWORD = 'from helper '\n",
        more__py="X = 1\n",
    )
    enable(tmp_path)
    with loaded(tmp_path) as (registry, done, notices):
        notes = done["notes"]
        assert (notes.error, notes.commands) == ("", ["hello"])
        assert notes.hooks == ["pre_llm_call", "on_full_moon"]
        assert notes.unsupported == ["register_tool", "inject_message"]
        said = registry.invoke("pre_llm_call", {"user_message": "x"})
        assert said == ["from helper x"]
        assert notices == []
        for words in (
            "notes says: loading from helper",
            "notes: register_tool is not supported in this version",
            "/new is a command of this program",
            "“no good” cannot be the name of a command",
        ):
            assert words in caplog.text
    assert not registry.has("pre_llm_call")
    assert not [name for name in sys.modules if name.startswith("hermes_desktop_plugin_")]
    assert capsys.readouterr().out == ""
    assert not list(tmp_path.rglob("__pycache__"))


def test_nothing_runs_that_was_not_agreed_to(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\ndef register(ctx): ...\n"
    plugin(tmp_path, "stranger", trap)
    folder = plugin(tmp_path, "known", "def register(ctx): ...\n")
    moved = plugin(tmp_path, "moved", "def register(ctx): ...\n")
    enable(tmp_path, "known", "moved")
    (folder / "__init__.py").write_text(trap)
    moved.rename(tmp_path / "elsewhere")
    (tmp_path / "plugins" / "moved").symlink_to(tmp_path / "elsewhere")
    with loaded(tmp_path) as (_, done, notices):
        assert done == {}
    assert not (tmp_path / "ran").exists()
    assert {each.key: (each.level, each.detail) for each in notices} == {
        "plugin:known": ("warning", "Changed: __init__.py."),
        "plugin:moved": ("warning", "Changed: its place."),
    }
    assert "The plugin “known” was changed since it was enabled" in notices[0].title
    assert notices[0].hint == "Review it with `hermes-desktop plugins enable known`."


def test_what_runs_is_what_was_read_not_what_lies_there_later(tmp_path: Path) -> None:
    folder = plugin(
        tmp_path,
        "slow",
        """
        def register(ctx):
            def hear(**_):
                from . import part
                return part.WORD
            ctx.register_hook("pre_llm_call", hear)
        """,
        part__py="WORD = 'agreed to'\n",
    )
    enable(tmp_path)
    with loaded(tmp_path) as (registry, _, _):
        (folder / "part.py").write_text("WORD = 'slipped in'\n")
        (folder / "other.py").write_text("WORD = 'slipped in'\n")
        assert registry.invoke("pre_llm_call", {}) == ["agreed to"]


def test_one_that_fails_or_never_begins_takes_nobody_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugin(tmp_path, "good", "def register(ctx): ctx.register_hook('on_session_end', print)\n")
    plugin(
        tmp_path,
        "half",
        """
        def register(ctx):
            ctx.register_hook("on_session_end", lambda **_: "half")
            ctx.register_command("half", str)
            raise OSError("no disk\\nat all")
        """,
    )
    plugin(tmp_path, "leaves", "import sys\nsys.exit(3)\n")
    plugin(tmp_path, "nothing", "X = 1\n")
    plugin(tmp_path, "dynamic", "import importlib\nimportlib.import_module('no_such_thing')\n")
    plugin(
        tmp_path,
        "sleeper",
        """
        import threading
        go = threading.Event()
        def register(ctx):
            import hermes_desktop
            hermes_desktop.wake_the_sleeper = go
            go.wait(60)
            ctx.register_hook("on_session_end", lambda **_: "too late")
        """,
    )
    enable(tmp_path)
    with loaded(tmp_path, seconds=1.0) as (registry, done, notices):
        assert {key: each.error for key, each in done.items()} == {
            "dynamic": "ModuleNotFoundError: No module named 'no_such_thing'",
            "good": "",
            "half": "OSError: no disk at all",
            "leaves": "SystemExit: 3",
            "nothing": "TypeError: it has no register(ctx)",
            "sleeper": "It took longer than 1 s to load.",
        }
        assert {each.key for each in notices} == {f"plugin:{key}" for key in done} - {"plugin:good"}
        import hermes_desktop

        hermes_desktop.wake_the_sleeper.set()  # type: ignore[attr-defined]
        del hermes_desktop.wake_the_sleeper  # type: ignore[attr-defined]
        names = lambda: [thread.name for thread in threading.enumerate()]  # noqa: E731
        while "plugin-load sleeper" in names():
            threading.Event().wait(0.01)
        assert registry.invoke("on_session_end", {}) == []
        assert "The plugin sleeper is left behind" in caplog.text


def test_modules_of_the_other_program_are_named_without_running_anything(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    plugin(tmp_path, "a", f"{trap}from .b import x\n", b__py="from hermes_state import SessionDB\n")
    plugin(
        tmp_path,
        "c",
        f"""
        {trap}
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import tools.registry
        try:
            import gateway.run
        except ImportError:
            gateway = None
        def register(ctx):
            import run_agent
        """,
        test_c__py="import pytest_of_the_future\n",
    )
    plugin(tmp_path, "d", f"{trap}def register(ctx: pass\n")
    plugin(tmp_path, "e", f"{trap}from . import gone\nfrom .lost import x\n")
    found = entries(tmp_path)
    assert found["a"].reason == "It needs hermes_state, which is not part of this program."
    assert (found["c"].standing, found["c"].later) == ("not enabled", ("run_agent",))
    assert found["d"].reason.startswith("__init__.py is not Python code that runs here")
    assert found["e"].reason == "It needs .lost, which is not part of this program."
    assert not (tmp_path / "ran").exists()


def test_what_is_written_to_hurt_whoever_only_looks_is_named(tmp_path: Path) -> None:
    plugin(tmp_path, "deep", f"x = {'-' * 60_000}1\n")
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30)]
    bomb = "\n".join(["l0: &l0 [x]", *levels, "version: *l29", "hooks: [*l29, on_session_end]"])
    (plugin(tmp_path, "bomb", "def register(ctx): ...\n") / "plugin.yaml").write_text(bomb)

    found = entries(tmp_path)

    assert found["deep"].standing == "not usable"
    assert "not Python code that runs here" in found["deep"].reason
    assert (found["bomb"].version, found["bomb"].hooks) == ("", ("on_session_end",))


def test_what_a_plugin_takes_away_from_all_is_put_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = """
        import io, sys
        def register(ctx):
            sys.path[:] = ["/mine"]
            sys.meta_path[:] = []
            sys.stdout = sys.stdin = io.StringIO()
    """
    plugin(tmp_path, "greedy", code)
    enable(tmp_path)
    before = (list(sys.path), set(map(id, sys.meta_path)))
    streams = (sys.stdin, sys.stdout, sys.stderr)
    try:
        with loaded(tmp_path) as (_, done, _):
            assert done["greedy"].error == ""
            assert sys.path == ["/mine", *before[0]]
            assert before[1] <= set(map(id, sys.meta_path))
            assert (sys.stdin, sys.stdout, sys.stderr) == streams
        assert "removed shared entries, which were restored: sys.path" in caplog.text
    finally:
        sys.path.remove("/mine")


@pytest.mark.asyncio
async def test_loading_goes_on_beside_the_loop_and_notices_come_on_it(tmp_path: Path) -> None:
    plugin(tmp_path, "late", "import threading\ndef register(ctx): threading.Event().wait(0.3)\n")
    plugin(tmp_path, "bad", "raise KeyError('x')\n")
    event_hook(
        tmp_path, "audit", "def handle(event_type, context): return event_type\n", "agent:end"
    )
    enable(tmp_path)
    made, _ = care(tmp_path)
    await made.ready()  # nobody began
    bus, notices = EventBus(), list[Notice]()
    bus.subscribe(Notice, notices.append)
    made.open(bus)
    ticks = 0
    ready = asyncio.ensure_future(made.ready())
    while not ready.done():
        ticks += 1
        await asyncio.sleep(0.01)
    assert ticks > 5
    await until(lambda: [each.key for each in notices] == ["plugin:bad"])
    hooks = made.event_hooks()
    assert hooks is not None
    assert await hooks.emit_collect("agent:end", {}) == ["agent:end"]
    assert await hooks.emit_collect("agent:start", {}) == []
    hooks.close()
    made.close()
    assert made.event_hooks() is None
