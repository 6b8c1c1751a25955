"""What a running turn was told here is told again by hermes-agent in the same bytes."""

import pytest

from hermes_desktop.agent.steering import Hint, with_hints
from hermes_desktop.agent.thinking import stored
from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, text
from tests.interop.conftest import RealHermes, choose_model
from tests.interop.test_rpc_with_hermes_agent import TheirProcess

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, pytest.mark.timeout(300)]

SID = "20260304_120000_abcdef"


def test_both_programs_tell_it_alike(hermes: RealHermes, server: ModelServer) -> None:
    choose_model(hermes.home, server)
    result = with_hints('{"todos": [], "summary": {}}', (Hint("rather tea"),))
    call = {"id": "c1", "type": "function", "function": {"name": "todo", "arguments": "{}"}}
    db = SessionDB(hermes.state_db)
    config = stored({}, {"reasoning_effort": "high"})
    db.create_session(SID, "tui", model="a-model", model_config=config)
    db.append_message(SID, "user", "Do it")
    db.append_message(SID, "assistant", "", tool_calls=[call], finish_reason="tool_calls")
    db.append_message(SID, "tool", result, tool_call_id="c1", tool_name="todo")
    db.append_message(SID, "assistant", "Done", finish_reason="stop")
    db.close()
    assert SID[:15] in hermes.command("sessions", "list")
    server.script(text("Gladly."))
    theirs = TheirProcess(hermes)
    try:
        sid = theirs.call("session.resume", session_id=SID, cols=80)["session_id"]
        assert theirs.answered(sid, "And now?") == "Gladly."
    finally:
        theirs.end()
    told = [m["content"] for m in server.requests[-1].messages if m["role"] == "tool"]
    assert told == [result]
