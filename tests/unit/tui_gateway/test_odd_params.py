"""Every method with every kind of nonsense: a refusal with a code, never a crash, always JSON."""

import json
import random
from typing import Any

import pytest

from hermes_desktop.tui_gateway import server
from hermes_desktop.tui_gateway.methods import methods
from hermes_desktop.tui_gateway.protocol import Code
from tests.fakes.rpc_server import ServerStage

NONSENSE: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, 1.5, float("nan"), float("inf"), "", "x", "\x00", "\ud800",
    "a" * 50_000, [], [[]], [{"role": "user"}], {}, {"a": 1}, "../../etc/passwd", "/", "~",
    "-1", "default", "/compress", "/steer x", "/insights 99999999999999999999", "/agents stop x",
    "/fast", "/usage",
)  # fmt: skip
NAMES = (
    "text", "title", "key", "value", "cols", "cwd", "days", "command", "name", "arg", "process_id",
    "request_id", "choice", "answer", "limit", "messages", "model", "provider", "fast", "source",
    "reasoning_effort", "focus_topic", "truncate_before_user_ordinal", "all", "path", "lazy",
    "word", "parent_session_id", "close_on_disconnect",
)  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_of_it_crashes(stage: ServerStage, seed: int) -> None:
    chance = random.Random(seed)
    sid, _ = stage.begin()
    stage.say(sid, "Hello")
    codes: set[int] = set()
    for number in range(1_500):
        name = chance.choice(list(methods.METHODS))
        params = {each: chance.choice(NONSENSE) for each in chance.sample(NAMES, 6)}
        live = list(server.SERVER.state.sessions) or [sid]
        params["session_id"] = chance.choice([*live, *live, *NONSENSE])
        wanted: Any = params if chance.random() < 0.95 else chance.choice(NONSENSE)
        answer = server.handle_request({"id": number, "method": name, "params": wanted})
        assert answer is not None
        json.dumps(answer, allow_nan=False)
        codes.add(answer.get("error", {}).get("code", 0))
        assert codes.isdisjoint({Code.CRASH}), (name, params, answer)
    assert {0, Code.NOT_LIVE, Code.BAD_VALUE} <= codes
