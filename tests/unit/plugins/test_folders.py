"""Folders of plugins as they may be: read, judged, agreed to; nothing of them runs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_desktop.core.errors import ConfigError
from hermes_desktop.plugins import contents, discovery
from hermes_desktop.plugins.consents import Consent, ConsentFile, consent_state
from hermes_desktop.plugins.contents import UnreadableError, read_contents
from hermes_desktop.plugins.discovery import MissingModules, missing_modules
from tests.fakes.plugin_folders import enable, entries, loaded, plugin, survey
from tests.fakes.program import CHECKOUT

# ------------------------------------------------------------------------------------- contents


def test_a_folder_is_read_whole_but_for_what_python_and_git_keep(tmp_path: Path) -> None:
    for name in ("a.py", "sub/b.py", "sub/data.bin", ".git/x", "__pycache__/a.pyc", "c.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    found = read_contents(tmp_path)
    assert set(found.files) == {"a.py", "sub/b.py", "sub/data.bin"}
    assert dict(found.sources) == {"a.py": b"a.py", "sub/b.py": b"sub/b.py"}
    assert dict(found.sizes) == {"a.py": 4, "sub/b.py": 8, "sub/data.bin": 12}


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a.py").write_text("2"),
        lambda folder: (folder / "data").write_text("2"),
        lambda folder: (folder / "a.py").rename(folder / "b.py"),
        lambda folder: (folder / "new").symlink_to("/etc"),
        lambda folder: (folder / "empty").touch(),
        lambda folder: (folder / "data").unlink(),
        lambda folder: (folder / "link").unlink() or (folder / "link").symlink_to("data"),
        lambda folder: (folder.parent / "outside").write_text("2"),
    ],
)
def test_whatever_changes_gives_another_digest(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    (tmp_path / "outside").write_text("1")
    for name in ("a.py", "data"):
        (folder / name).write_text("1")
    (folder / "link").symlink_to(tmp_path / "outside")
    before = read_contents(folder).digest
    assert read_contents(folder).digest == before
    change(folder)
    assert read_contents(folder).digest != before


def test_pipes_loops_and_names_that_are_no_text_are_harmless(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "self").symlink_to(".")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.py")).touch()
    found = read_contents(tmp_path)
    assert len(found.files) == 4
    assert found.digest


def test_what_is_too_big_or_may_not_be_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("12345")
    monkeypatch.setattr(contents, "MOST_BYTES", 4)
    with pytest.raises(UnreadableError):
        read_contents(tmp_path)
    monkeypatch.setattr(contents, "MOST_FILES", 0)
    monkeypatch.setattr(contents, "MOST_BYTES", 400)
    with pytest.raises(UnreadableError):
        read_contents(tmp_path)
    with pytest.raises(UnreadableError):
        read_contents(tmp_path / "nowhere")


# --------------------------------------------------------------------------------------- modules


@pytest.mark.parametrize(
    ("code", "needs"),
    [
        ("import json, os.path\nfrom urllib import request", MissingModules()),
        ("import hermes_cli.plugins", MissingModules(("hermes_cli",))),
        ("class A:\n    from gateway import run", MissingModules(("gateway",))),
        ("def f():\n    import tools.x", MissingModules((), ("tools",))),
        ("async def f():\n    async with x:\n        import tools", MissingModules((), ("tools",))),
        ("if x:\n    import tools", MissingModules((), ("tools",))),
        (
            "try:\n    import tools\nexcept ImportError:\n    import agent",
            MissingModules((), ("agent",)),
        ),
        ("try:\n    import tools\nfinally:\n    x = 1", MissingModules(("tools",))),
        ("try:\n    import tools\nexcept (OSError, Exception):\n    pass", MissingModules()),
        ("try:\n    import tools\nexcept ValueError:\n    pass", MissingModules(("tools",))),
        ("import tools\ndef f():\n    import tools", MissingModules(("tools",))),
        ("import no_such_module_anywhere", MissingModules(("no_such_module_anywhere",))),
        ("from .. import x", MissingModules(("..",))),
        ("from .sub.deep import x", MissingModules(("run_agent",))),
        ("from . import sub", MissingModules()),
        ("from .lazy import x", MissingModules((), ("toolsets",))),
        ("match x:\n    case 1:\n        import tools", MissingModules((), ("tools",))),
        ("import __main__, sys", MissingModules()),
    ],
)  # fmt: skip
def test_what_is_needed(code: str, needs: MissingModules) -> None:
    sources = {
        "__init__.py": code.encode(),
        "sub/__init__.py": b"",
        "sub/deep.py": b"from ..other import y\nx = 1",
        "other.py": b"import run_agent\nfrom . import other",
        "lazy.py": b"def f():\n    from .later import z",
        "later.py": b"import toolsets",
        "tests.py": b"import tools",
    }
    assert missing_modules(sources) == needs


@pytest.mark.parametrize(
    "code", [b"def", b"\x00", b"# coding: nonsense\nx = 1", b"\xff\xfe", b"(" * 5000]
)
def test_what_is_no_python_says_so(code: bytes) -> None:
    broken = missing_modules({"__init__.py": code}).broken
    assert broken.startswith("__init__.py is not Python code that runs here: ")


# -------------------------------------------------------------------------------------- manifests


@pytest.mark.parametrize(
    "manifest",
    ["[", "[1]", "name: {a: 1}\nversion: [1]\nprovides_hooks: {x: 1}", "", "- a", "\x00", "a: *b"],
)
def test_manifests_that_make_no_sense_hurt_nobody(tmp_path: Path, manifest: str) -> None:
    folder = plugin(tmp_path, "odd", "def register(ctx): ...\n")
    (folder / "plugin.yaml").write_text(manifest)
    assert entries(tmp_path)["odd"].standing in {"not usable", "not enabled"}


def test_folders_that_look_like_something_else_are_passed_over(tmp_path: Path) -> None:
    for name in ("hook:audit", "package:x", ".hidden", "_private"):
        plugin(tmp_path, name, "def register(ctx): ...\n")
    for name in (os.fsdecode(b"caf\xe9"), "new\nline", "esc\x1b"):
        plugin(tmp_path, "plain", "").rename(tmp_path / "plugins" / name)
    (tmp_path / "plugins" / "file").touch()
    assert entries(tmp_path) == {}


# --------------------------------------------------------------------------------------- answers


def test_answers_are_kept_side_by_side_by_two_processes(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from hermes_desktop.plugins.consents import Consent, ConsentFile\n"
        "for n in range(20):\n"
        "    ConsentFile(Path(sys.argv[1])).write(Consent(f'{sys.argv[2]}{n}', 'p', 'd'))\n"
    )
    programs = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), who], cwd=CHECKOUT)
        for who in ("a", "b")
    ]
    assert [each.wait(60) for each in programs] == [0, 0]
    assert len(ConsentFile(tmp_path).read()) == 40
    ConsentFile(tmp_path).forget("a1")
    assert "a1" not in ConsentFile(tmp_path).read()


def test_an_answer_is_about_one_thing_in_one_place() -> None:
    consent = Consent("k", "/p", "d")
    assert consent_state(consent, "/p", "d") == "given"
    assert consent_state(consent, "/q", "d") == "changed"
    assert consent_state(consent, "/p", "e") == "changed"
    assert consent_state(None, "/p", "d") == "none"
    assert consent_state(Consent("k", "/p", "d", given=False), "/p", "d") == "refused"


def test_an_answer_that_cannot_be_kept_says_so(tmp_path: Path) -> None:
    (tmp_path / "desktop").touch()
    plugin(tmp_path, "p", "def register(ctx): ...\n")
    with pytest.raises(ConfigError):
        enable(tmp_path, "p")


# -------------------------------------------------------------------------------------- packages


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that offers a plugin, and two that are broken."""
    site = tmp_path / "site"
    module = site / "acme_notes_plugin"
    module.mkdir(parents=True)
    (module / "__init__.py").write_text(
        "def register(ctx):\n    ctx.register_hook('pre_llm_call', lambda **_: 'packed')\n"
    )
    info = site / "acme_notes-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-notes\nVersion: 2.0\nSummary: Notes for all\n"
    )
    points = "notes = acme_notes_plugin\ngone = acme_gone:register\nforeign = hermes_cli.x:y\n"
    (info / "entry_points.txt").write_text(f"[{discovery.GROUP}]\n{points}")
    monkeypatch.syspath_prepend(str(site))
    return module


def test_packages_are_found_agreed_to_and_loaded(tmp_path: Path, package: Path) -> None:
    found = entries(tmp_path)
    assert {key: each.standing for key, each in found.items()} == {
        "package:foreign": "not usable",
        "package:gone": "not usable",
        "package:notes": "not enabled",
    }
    notes = found["package:notes"]
    assert (notes.version, notes.description, notes.path) == ("2.0", "Notes for all", str(package))
    assert "acme_notes_plugin" not in sys.modules
    enable(tmp_path, "package:notes")
    with loaded(tmp_path) as (registry, _, _):
        assert registry.invoke("pre_llm_call", {}) == ["packed"]
    del sys.modules["acme_notes_plugin"]
    (package / "__init__.py").write_text("1 / 0\n")
    with loaded(tmp_path) as (registry, done, notices):
        assert done == {}
        assert [each.key for each in notices] == ["plugin:package:notes"]
    assert survey(tmp_path).find("package:notes").changed == ("__init__.py",)
