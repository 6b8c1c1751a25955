"""``sessions export`` and ``sessions import``: out, in, and out again."""

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.program import Converse, Program
from tests.fakes.state_files import dump


@pytest.fixture
def family(db: SessionDB, converse: Converse) -> SessionDB:
    converse("root", "Hello\u2028there", "Hi")
    db.end_session("root", "compression")
    db.create_session("tip", "cli", parent_session_id="root", model="a-model")
    call = {"id": "c1", "type": "function"}
    function = {"name": "terminal", "arguments": '{"command": "ls"}'}
    db.append_message("tip", "assistant", "On with it", tool_calls=[{**call, "function": function}])
    db.append_message("tip", "tool", "```\nfiles\n```", tool_call_id="c1", tool_name="terminal")
    db.append_message("tip", "user", [{"type": "text", "text": "旅行"}, {"type": "image_url"}])
    db.set_session_title("tip", "The Fern's way #1")
    converse("other", "api_key=abcdefgh1234", "I see sk-abcdEFGH12345678", source="telegram")
    db.end_session("other", "session_reset")
    return db


def exported(text: str) -> dict[str, dict[str, Any]]:
    return {each["id"]: each for each in map(json.loads, text.split("\n")[:-1])}


# ------------------------------------------------------------------------------------------ export


def test_everything_to_standard_output(program: Program, family: SessionDB) -> None:
    before = dump(family.db_path)

    done = program.run("sessions", "export")

    assert done.code == 0, done.err
    found = exported(done.out)
    assert found == {each["id"]: each for each in family.export_all()}
    assert dump(family.db_path) == before


def test_to_a_file(program: Program, family: SessionDB, home: Path) -> None:
    place = home.parent / "out.jsonl"

    done = program.run("sessions", "export", str(place))

    assert (done.code, done.out) == (0, "")
    assert "3 sessions exported" in done.err
    assert place.stat().st_mode & 0o777 == 0o600
    assert exported(place.read_text()) == {each["id"]: each for each in family.export_all()}
    assert "\u2028" in place.read_text()

    text = place.read_bytes()
    again = program.run("sessions", "export", str(place), "--session", "other")
    assert again.code == 5
    assert place.read_bytes() == text
    assert program.run("sessions", "export", str(place), "--session", "other", "--force").code == 0
    assert set(exported(place.read_text())) == {"other"}
    assert {file.name for file in home.parent.iterdir()} == {"home", "out.jsonl"}


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["--session", "root"], ["root", "tip"]),
        (["--session", "The Fern's way #1", "--session-id", "oth"], ["root", "tip", "other"]),
        (["--source", "telegram"], ["other"]),
        (["--source", "cli"], ["root"]),
        (["--max-messages", "0"], []),
    ],
)
def test_some(program: Program, family: SessionDB, words: list[str], ids: list[str]) -> None:
    assert list(exported(program.run("sessions", "export", *words).out)) == ids


def test_secrets_are_taken_out(program: Program, family: SessionDB, home: Path) -> None:
    (home / ".env").write_text("MY_TOKEN=on-with-it-please\nNAME=Hello\n")
    family.append_message("tip", "user", "It is on-with-it-please, Hello")

    plain = program.run("sessions", "export").out
    done = program.run("sessions", "export", "--redact")

    assert done.code == 0, done.err
    for secret in ("abcdefgh1234", "sk-abcdEFGH12345678", "on-with-it-please"):
        assert secret in plain
        assert secret not in done.out
    found = exported(done.out)
    assert set(found) == {"root", "tip", "other"}
    assert "Hello" in found["tip"]["messages"][-1]["content"]


def test_documents(program: Program, family: SessionDB, home: Path) -> None:
    done = program.run("sessions", "export", "--format", "md")

    assert done.code == 0, done.err
    folder = home / "session-exports"
    whole = folder / "tip-the-fern-s-way-1.md"
    assert sorted(folder.iterdir()) == [folder / "other.md", whole]
    assert {Path(line) for line in done.out.splitlines()} == set(folder.iterdir())
    text = whole.read_text()
    assert text.startswith('---\nid: "tip"\ntitle: "The Fern\'s way #1"\n')
    assert 'parts: ["root", "tip"]' in text
    assert "````\n```\nfiles\n```\n````" in text
    assert '**terminal**\n\n```\n{"command": "ls"}\n```' in text
    assert "旅行\n\n[image_url]" in text
    assert whole.stat().st_mode & 0o777 == 0o600

    before = {file: file.read_bytes() for file in folder.iterdir()}
    assert program.run("sessions", "export", "--format", "md").code == 5
    assert {file: file.read_bytes() for file in folder.iterdir()} == before
    elsewhere = home / "new" / "folder"
    more = program.run("sessions", "export", str(elsewhere), "--format", "md", "--session", "other")
    assert more.code == 0
    assert [file.name for file in elsewhere.iterdir()] == ["other.md"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--session", "nobody"], 3),
        (["--session", "other", "--source", "cli"], 2),
        (["--format", "html"], 2),
        (["-", "--format", "md"], 2),
        (["no/such/folder/out.jsonl"], 1),
    ],
)
def test_exports_that_cannot_be(
    program: Program, family: SessionDB, home: Path, words: list[str], code: int
) -> None:
    assert program.run("sessions", "export", *words).code == code
    assert [file.name for file in home.parent.iterdir()] == ["home"]


def test_export_dry_run(program: Program, family: SessionDB, home: Path) -> None:
    done = program.run("sessions", "export", str(home / "x"), "--source", "cli", "--dry-run")

    assert (done.code, done.out) == (0, "")
    assert "1 session would be exported" in done.err
    assert not (home / "x").exists()


def test_documents_of_all_sessions_whatever_their_ids(program: Program, db: SessionDB) -> None:
    for each in ("L" * 3_000, "a:b", "a_b", "z"):
        db.create_session(each, "cli")

    done = program.run("sessions", "export", "--format", "md")

    assert done.code == 0, done.err
    assert len(set(done.out.splitlines())) == 4


def test_an_export_never_replaces_files_of_the_home(
    program: Program, family: SessionDB, home: Path
) -> None:
    (home / "config.yaml").write_text("model: {}\n")
    (home.parent / "other.jsonl").symlink_to(home / "state.db")
    before = dump(family.db_path)

    for words in (
        [str(home / "state.db")],
        [str(home.parent / "other.jsonl")],
        [str(home / "config.yaml")],
        ["--format", "md", str(home / "desktop")],
    ):
        done = program.run("sessions", "export", *words, "--force")
        assert done.code == 5, words
        assert "This file belongs to Hermes" in done.err
    assert dump(family.db_path) == before
    assert (home / "config.yaml").read_text() == "model: {}\n"
    assert not (home / "desktop").exists()
    assert program.run("sessions", "export", str(home / "all.jsonl")).code == 0
    assert program.run("sessions", "export", str(home / "all.jsonl"), "--force").code == 0


# ------------------------------------------------------------------------------------------ import


def test_a_dry_run_in_a_home_that_has_sessions(
    program: Program, family: SessionDB, home: Path
) -> None:
    row = {"id": "new", "source": "cli", "started_at": 1, "messages": []}
    before = dump(family.db_path)

    done = program.run("sessions", "import", "-", "--dry-run", stdin=json.dumps(row).encode())

    assert (done.code, done.out) == (0, "Would import 1 session: cli 1.\n"), done.err
    assert dump(family.db_path) == before


def test_out_and_in_and_out_again(program: Program, family: SessionDB, home: Path) -> None:
    text = program.run("sessions", "export").out
    empty = home.parent / "empty"
    empty.mkdir()
    env = {"HERMES_HOME": str(empty)}

    shown = program.run("sessions", "import", "-", "--dry-run", env=env, stdin=text.encode())
    assert shown.out == "Would import 3 sessions: cli 2, telegram 1.\n"
    assert list(empty.iterdir()) == []
    done = program.run("sessions", "import", "-", env=env, stdin=text.encode())

    assert done.code == 0, done.err
    assert done.out == "Imported 3 sessions: cli 2, telegram 1.\n"
    assert exported(program.run("sessions", "export", env=env).out) == exported(text)
    assert not (empty / "desktop").exists()  # there was nothing to keep a snapshot of


def test_what_is_there_stays_and_a_snapshot_is_kept(
    program: Program, family: SessionDB, home: Path
) -> None:
    place = home.parent / "out.jsonl"
    assert program.run("sessions", "export", str(place)).code == 0
    family.delete_sessions(["other"])
    family.set_session_title("tip", "Changed")

    done = program.run("sessions", "import", str(place), "--json")

    results = {each["id"]: each["result"] for each in json.loads(done.out)}
    assert results == {"root": "skipped", "tip": "skipped", "other": "imported"}
    assert family.get_session_title("tip") == "Changed"
    (snapshot,) = json.loads(program.run("sessions", "snapshot", "list", "--json").out)
    assert (snapshot["reason"], snapshot["sessions"]) == ("import", 2)
    assert (home / "desktop").stat().st_mode & 0o777 == 0o700
    again = program.run("sessions", "import", str(place))
    assert again.out == "Imported 0 sessions; 3 already exist.\n"


def test_a_taken_title_is_told(program: Program, family: SessionDB) -> None:
    line = json.dumps({"id": "fresh", "source": "cli", "title": "The Fern's way #1"})

    done = program.run("sessions", "import", "-", stdin=line.encode())

    assert done.code == 0, done.err
    assert "fresh is now “" in done.err


@pytest.mark.parametrize(
    "text",
    [
        "{not json}",
        '{"id": "a", "source": "cli"}\n{"id": ',
        '{"id": "a"}\n{"id": "a"}',
        '[{"id": "ok"}, {"id": "../up"}]',
        '[{"id": "ok"}, 5]',
        '{"id": "ok", "messages": [{"content": "no role"}]}',
        '{"id": "ok", "messages": "none"}',
        "[" * 100_000,
    ],
)
def test_a_mistake_changes_nothing(program: Program, home: Path, text: str) -> None:
    done = program.run("sessions", "import", "-", stdin=text.encode())

    assert done.code == 1
    assert "Traceback" not in done.err
    assert list(home.iterdir()) == []


def test_a_conversation_and_an_array(program: Program, family: SessionDB, home: Path) -> None:
    conversation = family.export_session_lineage("tip")
    empty = home.parent / "empty"
    empty.mkdir()

    done = program.run(
        "sessions",
        "import",
        "-",
        env={"HERMES_HOME": str(empty)},
        stdin=json.dumps([conversation], indent=1).encode(),
    )

    assert done.out == "Imported 2 sessions: cli 2.\n"


def test_more_than_one_call_takes(program: Program, home: Path) -> None:
    lines = [
        json.dumps({"id": f"s{n}", "source": "cli", "parent_session_id": f"s{n + 1}"})
        for n in range(700)
    ]

    done = program.run("sessions", "import", "-", stdin="\n".join(lines).encode())

    assert done.out == "Imported 700 sessions: cli 700.\n"
    db = SessionDB(home / "state.db")
    parents = [(db.get_session(f"s{n}") or {})["parent_session_id"] for n in range(700)]
    assert parents == [*(f"s{n}" for n in range(1, 700)), None]
    db.close()


def test_files_that_are_not_there(program: Program, home: Path) -> None:
    assert program.run("sessions", "import", str(home / "none")).code == 3
    assert program.run("sessions", "import", str(home)).code == 2
    empty = program.run("sessions", "import", "-")
    assert (empty.code, empty.out) == (0, "There is nothing to import.\n")
    assert list(home.iterdir()) == []


def test_a_device_gets_the_lines_and_stays_a_device(program: Program, family: SessionDB) -> None:
    done = program.run("sessions", "export", "/dev/full", "--force")
    assert done.code == 1
    assert "No space left" in done.err
    assert Path("/dev/full").is_char_device()
    assert program.run("sessions", "export", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_words_that_are_no_name_at_all(program: Program, family: SessionDB) -> None:
    done = program.run("sessions", "show", "x" * 100_000)
    assert done.code == 3
    done = program.run("sessions", "prune", "--title", "x" * 100_000, "--yes")
    assert done.code == 1
    assert "shorter" in done.err


# ------------------------------------------------------------------------------ odd and large files


def test_whatever_is_exported_can_be_imported(program: Program, db: SessionDB, home: Path) -> None:
    """Beyond the limits of the store's own method: 10,000 messages, 5 MiB."""
    db.create_session("long", "cli")
    db.replace_messages("long", [{"role": "user", "content": f"n{n}"} for n in range(10_050)])
    db.create_session("large", "cli")
    db.append_message("large", "user", "word " * 1_100_000)
    file = home.parent / "all.jsonl"
    assert program.run("sessions", "export", str(file)).code == 0
    other = Program(home.parent / "other")

    done = other.run("sessions", "import", str(file))

    assert done.code == 0, done.err
    again = other.run("sessions", "export")
    assert exported(again.out) == exported(file.read_text())


def test_what_an_import_loses_is_named(program: Program, home: Path) -> None:
    file = home.parent / "odd.jsonl"
    message = {"role": "user", "content": "apples", "timestamp": "2026-05-01T14:10:34Z"}
    odd = {"id": "odd", "source": "cli", "started_at": 10**400, "messages": [message]}
    iso = {"id": "iso", "source": "cli", "started_at": "2026-05-01T14:10:34Z", "messages": []}
    file.write_text("".join(json.dumps(each) + "\n" for each in (odd, iso)))

    preview = program.run("sessions", "import", str(file), "--dry-run")
    done = program.run("sessions", "import", str(file))

    assert done.code == 0, done.err
    for each in (preview, done):
        assert "odd: started_at (1000" in each.err
        assert "is lost; the time of the import is used." in each.err
        assert "iso:" not in each.err
    found = exported(program.run("sessions", "export").out)
    assert found["iso"]["started_at"] == found["odd"]["messages"][0]["timestamp"] == 1_777_644_634.0
    for command in ("list", "stats", "health"):
        assert program.run("sessions", command).code == 0


def test_a_folder_of_a_file_is_used_only_after_a_person_says_so(
    program: Program, home: Path
) -> None:
    file = home.parent / "folder.jsonl"
    messages = [{"role": "user", "content": "hi"}]
    file.write_text(json.dumps({"id": "moved", "source": "cli", "cwd": "/", "messages": messages}))
    assert program.run("sessions", "import", str(file)).code == 0
    assert exported(program.run("sessions", "export").out)["moved"]["cwd"] is None

    told = program.run("sessions", "folder", "moved")
    assert told.out == "No folder is set.\n"
    assert "it used the folder /" in told.err

    assert program.run("sessions", "folder", "moved", "/no/such/folder").code == 2
    for given in ("--imported", str(home)):
        refused = program.run("sessions", "folder", "moved", given)
        assert refused.code == 2
        assert "The assistant does not work in" in refused.err
    work = home.parent / "work"
    work.mkdir()
    assert program.run("sessions", "folder", "moved", str(work)).out == f"{work}\n"
    assert exported(program.run("sessions", "export").out)["moved"]["cwd"] == str(work)

    (home.parent / "thesis").write_text("x")
    (work / "copy").hardlink_to(home.parent / "thesis")
    told = program.run("sessions", "folder", "moved", str(work))
    assert "1 file in" in told.err
    assert "outside it (copy)" in told.err
