"""Which home is meant: the rules of the ``hermes`` command, one by one."""

from pathlib import Path

import pytest

from hermes_desktop.core.errors import HermesError, NotFoundError, UsageError
from hermes_desktop.core.paths import HermesPaths, default_root, resolve_paths, runtime_dir


@pytest.fixture
def person(tmp_path: Path) -> Path:
    """The home folder of the person, without any Hermes home in it."""
    folder = tmp_path / "person"
    folder.mkdir()
    return folder


def make_profile(root: Path, name: str) -> Path:
    home = root / "profiles" / name
    home.mkdir(parents=True)
    return home


def resolve(person: Path, profile: str | None = None, **environ: str) -> HermesPaths:
    return resolve_paths({"HOME": str(person), **environ}, profile)


# ----------------------------------------------------------------------------- without a profile


def test_nothing_said_means_dot_hermes(person: Path) -> None:
    home = person / ".hermes"

    assert resolve(person) == HermesPaths(home, home, "default")


@pytest.mark.parametrize("blank", ["", "   ", "\t\n"])
def test_a_blank_hermes_home_is_none(person: Path, blank: str) -> None:
    assert resolve(person, HERMES_HOME=blank).home == person / ".hermes"


def test_hermes_home_is_stripped_and_taken_as_it_is(person: Path, tmp_path: Path) -> None:
    found = resolve(person, HERMES_HOME=f"  {tmp_path}/elsewhere \n")

    assert found == HermesPaths(tmp_path / "elsewhere", tmp_path / "elsewhere", "default")


def test_a_tilde_is_a_plain_character(
    person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert resolve(person, HERMES_HOME="~/hermes").home == tmp_path / "~" / "hermes"


def test_a_home_inside_the_usual_one_has_that_as_root(person: Path) -> None:
    found = resolve(person, HERMES_HOME=str(person / ".hermes" / "spare"))

    assert (found.root, found.profile) == (person / ".hermes", "custom")
    assert (found.namespace, found.profile_column) == ("main", "custom")


def test_nothing_is_made(person: Path) -> None:
    resolve(person)

    assert list(person.iterdir()) == []


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LOCALAPPDATA": "/data"}, Path("/data/hermes")),
        ({"LOCALAPPDATA": "  "}, Path.home() / "AppData/Local/hermes"),
        ({}, Path.home() / "AppData/Local/hermes"),
    ],
)
def test_the_usual_home_on_windows(environ: dict[str, str], expected: Path) -> None:
    assert default_root(environ, "win32") == expected


def test_the_usual_home_without_home() -> None:
    assert default_root({}, "linux") == Path.home() / ".hermes"
    assert default_root({"HOME": " "}, "linux") == Path.home() / ".hermes"


# -------------------------------------------------------------------------------------- profiles


def test_a_named_profile(person: Path) -> None:
    work = make_profile(person / ".hermes", "work")

    found = resolve(person, "work")

    assert found == HermesPaths(work, person / ".hermes", "work")
    assert (found.namespace, found.profile_column) == ("work", "work")


def test_default_is_the_root(person: Path) -> None:
    make_profile(person / ".hermes", "work")
    (person / ".hermes" / "active_profile").write_text("work")

    found = resolve(person, "default")

    assert (found.home, found.profile) == (person / ".hermes", "default")
    assert (found.namespace, found.profile_column) == ("main", None)


def test_a_named_profile_beats_everything(person: Path) -> None:
    root = person / ".hermes"
    work = make_profile(root, "work")
    play = make_profile(root, "play")
    (root / "active_profile").write_text("play")

    assert resolve(person, "work", HERMES_HOME=str(play)).home == work


def test_a_home_that_is_a_profile_is_kept(person: Path) -> None:
    root = person / ".hermes"
    work = make_profile(root, "work")
    make_profile(root, "play")
    (root / "active_profile").write_text("play")

    assert resolve(person, HERMES_HOME=str(work)) == HermesPaths(work, root, "work")


def test_a_profile_outside_the_usual_home(person: Path, tmp_path: Path) -> None:
    work = make_profile(tmp_path / "data", "work")

    found = resolve(person, HERMES_HOME=str(work))

    assert found == HermesPaths(work, tmp_path / "data", "work")
    make_profile(tmp_path / "data", "play")
    assert resolve(person, "play", HERMES_HOME=str(work)).home.name == "play"


def test_the_active_profile(person: Path) -> None:
    root = person / ".hermes"
    work = make_profile(root, "work")
    (root / "active_profile").write_text("  work\n")

    assert resolve(person).home == work
    assert resolve(person, HERMES_HOME=str(root)).home == work


def test_the_active_profile_of_another_root(person: Path, tmp_path: Path) -> None:
    work = make_profile(tmp_path / "data", "work")
    (tmp_path / "data" / "active_profile").write_text("work")

    assert resolve(person, HERMES_HOME=str(tmp_path / "data")).home == work


@pytest.mark.parametrize("content", ["", "\n", "default", " default \n"])
def test_no_active_profile(person: Path, content: str) -> None:
    root = person / ".hermes"
    root.mkdir()
    (root / "active_profile").write_text(content)

    assert resolve(person).home == root


def test_a_supervised_child_ignores_the_active_profile(person: Path) -> None:
    root = person / ".hermes"
    make_profile(root, "work")
    (root / "active_profile").write_text("work")

    assert resolve(person, HERMES_S6_SUPERVISED_CHILD="1").home == root


def test_an_unreadable_active_profile_is_none(person: Path) -> None:
    (person / ".hermes" / "active_profile").mkdir(parents=True)

    assert resolve(person).home == person / ".hermes"


# ----------------------------------------------------------------------------------- what is not


@pytest.mark.parametrize(
    "name",
    ["", "Work", "-x", "_x", "a/b", "..", "a b", "x" * 65, "work\n", "root", "sudo", "hermes", "é"],
)
def test_names_that_cannot_be(person: Path, name: str) -> None:
    with pytest.raises(UsageError):
        resolve(person, name)


@pytest.mark.parametrize("name", ["a", "0", "a-b_c", "x" * 64])
def test_names_that_can_be(person: Path, name: str) -> None:
    make_profile(person / ".hermes", name)

    assert resolve(person, name).profile == name


def test_a_missing_profile_is_not_made(person: Path) -> None:
    root = person / ".hermes"
    root.mkdir()
    with pytest.raises(NotFoundError, match="gone"):
        resolve(person, "gone")
    with pytest.raises(NotFoundError, match="HERMES_HOME"):
        resolve(person, HERMES_HOME=str(root / "profiles" / "gone"))
    (root / "active_profile").write_text("gone")
    with pytest.raises(NotFoundError, match="active_profile"):
        resolve(person)
    assert [file.name for file in root.iterdir()] == ["active_profile"]


@pytest.mark.parametrize("content", [b"two\nnames", b"\xff\xfe", b"../elsewhere"])
def test_nonsense_in_active_profile_names_the_file(person: Path, content: bytes) -> None:
    file = person / ".hermes" / "active_profile"
    file.parent.mkdir()
    file.write_bytes(content)

    with pytest.raises(HermesError, match="active_profile"):
        resolve(person)


# ----------------------------------------------------------------------------------------- files


def test_files_of_a_home(tmp_path: Path) -> None:
    paths = HermesPaths(tmp_path, tmp_path)

    assert paths.state_db == tmp_path / "state.db"
    assert paths.config_yaml == tmp_path / "config.yaml"
    assert paths.env_file == tmp_path / ".env"
    assert paths.sessions_dir == tmp_path / "sessions"
    assert paths.window_ini == tmp_path / "desktop" / "window.ini"
    assert paths.log_file == tmp_path / "logs" / "desktop.log"


def test_runtime_dir(tmp_path: Path) -> None:
    assert runtime_dir({"XDG_RUNTIME_DIR": str(tmp_path)}) == tmp_path


@pytest.mark.parametrize("value", ["", "relative/folder", "/does/not/exist"])
def test_runtime_dir_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))

    folder = runtime_dir({"XDG_RUNTIME_DIR": value})

    assert folder.is_dir()
    assert folder.name == "hermes-desktop"
