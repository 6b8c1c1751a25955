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


def route(db: SessionDB, session_id: str) -> tuple[object, ...]:
    row = db.get_session(session_id) or {}
    names = ("model", "billing_provider", "billing_base_url", "billing_mode")
    return tuple(row[name] for name in names)


def planned(db: SessionDB, session_id: str) -> None:
    db.create_session(session_id, "cli", model="planned")
    db._execute_write(
        lambda conn: conn.execute(
            "UPDATE sessions SET billing_provider = 'p0', billing_base_url = 'u0', "
            "billing_mode = 'key' WHERE id = ?",
            (session_id,),
        )
    )


def test_nothing_of_a_planned_route_stays_beside_the_real_one(db: SessionDB) -> None:
    planned(db, "a")
    db.update_token_counts("a", 1, 1, model="real", billing_provider="p", api_call_count=1)
    assert route(db, "a") == ("real", "p", None, None)
    planned(db, "b")
    db.update_token_counts("b", 1, 1, model="planned", billing_provider="p0", billing_base_url="u")
    assert route(db, "b") == ("planned", "p0", "u0", "key")  # the same one: what is known stays


def test_usage_without_a_counted_call_names_the_route_until_one_is_counted(db: SessionDB) -> None:
    planned(db, "a")
    db.update_token_counts("a", 1, 1, model="first", billing_provider="p", api_call_count=0)
    assert route(db, "a") == ("first", "p", None, None)
    real = {"model": "real", "billing_provider": "q", "billing_base_url": "v"}
    db.update_token_counts("a", 1, 1, api_call_count=1, **real)
    assert route(db, "a") == ("real", "q", "v", None)
    db.update_token_counts("a", 1, 1, model="later", billing_provider="x", api_call_count=0)
    assert route(db, "a") == ("real", "q", "v", None)


def test_a_call_that_used_nothing_has_no_share(db: SessionDB) -> None:
    db.create_session("a", "cli")
    db.update_token_counts("a", model="m", billing_provider="p", cost_status="unknown")
    assert shares(db) == []
    db.update_token_counts("a", model="m", billing_provider="p", api_call_count=1)
    assert [share[:5] for share in shares(db)] == [("m", "p", "", 0, 1)]


def test_a_row_is_made_when_there_is_none(db: SessionDB) -> None:
    db.update_token_counts("new", 1)
    assert (db.get_session("new") or {})["source"] == "unknown"
