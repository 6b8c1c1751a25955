"""``hermes-desktop insights``."""

import json
import time

from hermes_desktop.state import SessionDB
from tests.fakes.program import Program


def test_figures_as_text_and_as_json(program: Program) -> None:
    db = SessionDB(program.home / "state.db")
    db.create_session("a", "cli", model="m")
    db.append_message("a", "user", "hello")
    db.update_token_counts("a", input_tokens=1200, model="m", api_call_count=1)
    db.close()
    done = program.run("insights", "--days", "7")
    assert done.code == 0
    assert done.out.startswith("The last 7 days\n")
    assert "1,200 tokens" in done.out
    assert "Costs: unknown" in done.out
    assert "```" not in done.out
    told = json.loads(program.run("insights", "--json", "--source", "cli").out)
    assert told["total"]["sessions"] == 1
    assert told["total"]["cost_usd"] is None
    assert told["models"][0]["tokens"] == 1200
    assert told["until"] <= time.time()
    assert json.loads(program.run("insights", "--json", "--source", "x").out)["models"] == []


def test_wrong_usage_and_no_history(program: Program) -> None:
    assert program.run("insights", "--days", "0").code == 2
    assert program.run("insights").code != 0
