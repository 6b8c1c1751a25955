"""The figures that hermes-agent counts, and ours, on one home."""

import json
import random
import re
import sqlite3
import time

import pytest

from hermes_desktop.state import SessionDB
from hermes_desktop.state.maintenance.insights import insights
from tests.fakes.program import Program
from tests.interop.conftest import RealHermes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOOLS = ("terminal", "read_file", "web_fetch")
MODELS = ("model-a", "model-b", "model-c")


def fill(hermes: RealHermes) -> None:
    """Sessions of every kind, some of them before the days that are asked for."""
    rng, now = random.Random(11), time.time()
    db = SessionDB(hermes.state_db)
    ages = {}
    for number in range(60):
        name, source = f"s{number:03}", rng.choice(("cli", "telegram", "cron", "subagent", "tool"))
        parent = "s000" if source == "subagent" and number else None
        config = {"_delegate_from": parent} if parent else None
        db.create_session(
            name, source, model=rng.choice(MODELS), parent_session_id=parent, model_config=config
        )
        ages[name] = rng.uniform(0, 60) * 86_400
        for _ in range(rng.randrange(6)):
            db.append_message(name, "user", "ask")
            calls = [
                {"id": f"c{at}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
                for at, tool in enumerate(rng.sample(TOOLS, rng.randrange(3)))
            ]
            db.append_message(name, "assistant", "do", tool_calls=calls or None)
            for call in calls:
                tool = call["function"]["name"]
                db.append_message(name, "tool", "ok", tool_call_id=call["id"], tool_name=tool)
        for _ in range(rng.randrange(3)):
            db.update_token_counts(
                name,
                input_tokens=rng.randrange(5000),
                output_tokens=rng.randrange(500),
                cache_read_tokens=rng.randrange(900),
                model=rng.choice(MODELS),
                api_call_count=1,
            )
    db.close()
    with sqlite3.connect(hermes.state_db) as conn:
        for name, age in ages.items():
            conn.execute("UPDATE sessions SET started_at = ? WHERE id = ?", (now - age, name))
        conn.execute("UPDATE sessions SET archived = 1 WHERE id LIKE '%7'")
    conn.close()


def figure(text: str, name: str) -> int:
    found = re.search(rf"{name}:\s+([\d,]+)", text)
    assert found, text
    return int(found[1].replace(",", ""))


def rows(text: str, title: str) -> dict[str, list[int]]:
    """A table of theirs: name → whole numbers."""
    block = text.split(title, 1)[1].split("\n\n", 1)[0]
    found = re.findall(
        r"^  (\S+)\s{2,}([\d,]+)(?:\s+([\d,]+))?(?:\s+([\d,]+))?", block, re.MULTILINE
    )
    return {name: [int(n.replace(",", "")) for n in numbers if n] for name, *numbers in found}


@pytest.mark.parametrize("days", [7, 30])
def test_both_count_the_same(hermes: RealHermes, days: int) -> None:
    fill(hermes)
    theirs = hermes.command("insights", "--days", str(days))
    db = SessionDB(hermes.state_db, read_only=True)
    ours = insights(db, days, now=time.time())
    db.close()
    total = ours.total
    assert total.sessions > 3
    assert figure(theirs, "Sessions") == total.sessions
    assert figure(theirs, "Messages") == total.messages
    assert figure(theirs, "User messages") == ours.user_messages
    assert figure(theirs, "Tool calls") == total.tool_calls
    assert figure(theirs, "Input tokens") == total.input_tokens
    assert figure(theirs, "Output tokens") == total.output_tokens
    assert figure(theirs, "Total tokens") == total.tokens
    assert rows(theirs, "Models Used") == {
        each.name: [each.sessions, each.tokens] for each in ours.models
    }
    assert rows(theirs, "Platforms") == {
        each.name: [each.sessions, each.messages, each.tokens] for each in ours.platforms
    }
    assert {name: calls[0] for name, calls in rows(theirs, "Top Tools").items()} == dict(ours.tools)
    printed = Program(hermes.home).run("insights", "--days", str(days), "--json")
    assert json.loads(printed.out)["total"]["tokens"] == total.tokens
