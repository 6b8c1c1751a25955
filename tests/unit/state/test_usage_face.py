"""Usage of side tasks, routes, settings and folders of sessions."""

from typing import Any

import pytest

from hermes_desktop.state import SessionDB, TitleError


def shares(db: SessionDB) -> list[dict[str, Any]]:
    sql = "SELECT * FROM session_model_usage ORDER BY session_id, task"
    return [dict(row) for row in db.read(lambda conn: conn.execute(sql).fetchall())]


def test_side_tasks_stand_beside_the_totals(db: SessionDB) -> None:
    db.create_session("a", "cli", model="m")
    for _ in range(2):
        db.record_auxiliary_usage(
            "a", "vision", input_tokens=3, output_tokens=1, estimated_cost_usd=0.5
        )
    db.record_auxiliary_usage("a", "title", model="small", billing_provider="p")
    found = [
        (row["task"], row["model"], row["billing_provider"], row["api_call_count"],
         row["input_tokens"], row["estimated_cost_usd"])
        for row in shares(db)
    ]  # fmt: skip
    assert found == [("title", "small", "p", 1, 0, 0.0), ("vision", "unknown", "", 2, 6, 1.0)]
    row = db.get_session("a") or {}
    assert (row["input_tokens"], row["api_call_count"], row["billing_provider"]) == (0, 0, None)


def test_a_deleted_session_is_not_made_again(db: SessionDB) -> None:
    db.update_token_counts("gone", 5, only_existing=True)
    db.record_auxiliary_usage("gone", "vision", only_existing=True)
    assert db.get_session("gone") is None
    db.record_auxiliary_usage("new", "vision")
    assert (db.get_session("new") or {})["source"] == "unknown"
    assert [row["model"] for row in shares(db)] == ["unknown"]
    db.update_token_counts("new", 5, only_existing=True)
    assert (db.get_session("new") or {})["input_tokens"] == 5


def test_shares_go_with_their_session(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.record_auxiliary_usage("a", "vision")
    db.delete_sessions(["a"])
    assert shares(db) == []


def test_settings_are_replaced_and_marks_kept(db: SessionDB) -> None:
    db.create_session("a", "cli", model="m", model_config={"old": 1, "_branched_from": "x"})
    db.update_session_meta("a", '{"new": 2}')
    row = db.get_session("a") or {}
    assert (row["model_config"], row["model"]) == ('{"_branched_from": "x", "new": 2}', "m")
    db.update_session_meta("a", " ", "m2")
    row = db.get_session("a") or {}
    assert (row["model_config"], row["model"]) == ('{"_branched_from": "x"}', "m2")
    for bad in ("garbage", "[1]", '"text"', "{"):
        with pytest.raises(ValueError, match="JSON object"):
            db.update_session_meta("a", bad)
    db.update_session_meta("nobody", "{}")
    assert db.get_session("nobody") is None


def test_folders_keep_what_is_not_said(db: SessionDB) -> None:
    def places(name: str) -> list[str | None]:
        row = db.get_session(name) or {}
        return [row[column] for column in ("cwd", "git_branch", "git_repo_root")]

    db.create_session("a", "cli")
    db.update_session_cwd("a", "/w", "main")
    db.update_session_cwd("a", "/w/x", "", "/w")
    assert places("a") == ["/w/x", "main", "/w"]
    db.update_session_cwd("a", "", "other")
    assert places("a") == ["/w/x", "main", "/w"]
    db.create_session("b", "cli", cwd="/r/x")
    assert places("b") == ["/r/x", None, None]
    assert places("a") == ["/w/x", "main", "/w"]


def test_a_title_nobody_chose(db: SessionDB) -> None:
    for name in "ab":
        db.create_session(name, "cli")
    assert db.set_auto_title_if_empty("a", "  First words ")
    assert db.get_session_title("a") == "First words"
    assert not db.set_auto_title_if_empty("a", "Later")
    with pytest.raises(TitleError, match="in use"):
        db.set_auto_title_if_empty("b", "First words")
    assert not db.set_auto_title_if_empty("b", "")
    with pytest.raises(TitleError, match="too long"):
        db.set_auto_title_if_empty("b", "x" * 101)
    assert not db.set_auto_title_if_empty("nobody", "T")
    assert db.set_auto_title_if_empty("b", "Second")
