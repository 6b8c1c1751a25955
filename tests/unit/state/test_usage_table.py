import sqlite3

from hermes_desktop.state import SessionDB


def shares(db: SessionDB) -> list[tuple[object, ...]]:
    def look(conn: sqlite3.Connection) -> list[tuple[object, ...]]:
        rows = conn.execute(
            "SELECT model, billing_provider, task, input_tokens, api_call_count, "
            "estimated_cost_usd, cost_status FROM session_model_usage ORDER BY model"
        )
        return [tuple(row) for row in rows]

    return db.read(look)


def test_calls_add_up_per_session_and_model(db: SessionDB) -> None:
    db.create_session("a", "cli", model="m")
    for model in ("m", "m", "n"):
        db.update_token_counts(
            "a",
            10,
            5,
            model=model,
            billing_provider="p",
            estimated_cost_usd=0.5,
            cost_status="estimated",
            api_call_count=1,
        )
    row = db.get_session("a") or {}
    assert (row["input_tokens"], row["output_tokens"], row["api_call_count"]) == (30, 15, 3)
    assert (row["estimated_cost_usd"], row["actual_cost_usd"]) == (1.5, None)
    assert (row["model"], row["billing_provider"]) == ("m", "p")
    assert shares(db) == [
        ("m", "p", "", 20, 2, 1.0, "estimated"),
        ("n", "p", "", 10, 1, 0.5, "estimated"),
    ]


def test_totals_replace_and_leave_the_shares_alone(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.update_token_counts("a", 10, 5)
    db.update_token_counts("a", 7, 3, absolute=True, actual_cost_usd=2.0)
    row = db.get_session("a") or {}
    assert (row["input_tokens"], row["output_tokens"], row["actual_cost_usd"]) == (7, 3, 2.0)
    assert [share[:4] for share in shares(db)] == [("unknown", "", "", 10)]


def test_the_first_call_that_counts_corrects_the_route(db: SessionDB) -> None:
    db.create_session("a", "cli", model="planned")
    db.update_token_counts("a", 1, 1, model="real", billing_provider="p", api_call_count=1)
    assert (db.get_session("a") or {})["model"] == "real"
    db.update_token_counts("a", 1, 1, model="later", billing_provider="q", api_call_count=1)
    row = db.get_session("a") or {}
    assert (row["model"], row["billing_provider"]) == ("real", "p")


def test_a_row_is_made_when_there_is_none(db: SessionDB) -> None:
    db.update_token_counts("new", 1)
    assert (db.get_session("new") or {})["source"] == "unknown"
