"""Our services hosting a gateway beside the real ``hermes gateway …`` commands.

Each test runs in a process namespace of its own, because the commands look at the whole machine.
"""

import pytest

from tests.fakes.identity import wait_until
from tests.fakes.island import Island

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]

_OWN_FILES = ("gateway.lock", "gateway.pid", "gateway_state.json", "sessions/sessions.json")


def test_the_commands_name_ours_and_stop_it_and_the_program_lives(island: Island) -> None:
    ours = island.hosted()
    pid = ours.begin()

    assert f"Gateway is running (PID: {pid})" in island.hermes("gateway", "status")[1]
    code, said = island.hermes("gateway", "run")
    assert (code, f"already running (PID {pid})" in said) == (1, True)
    ours.ask("say hello", "said")
    wait_until(lambda: ours.ask("texts", "texts")["texts"])

    code, said = island.hermes("gateway", "stop")

    assert (code, "Stopped gateway" in said) == (0, True)
    status = ours.reach("stopped")
    assert "command line" in status["detail"]
    assert status["bots"] == 0
    state = island.file("gateway_state.json")
    assert (state["gateway_state"], state["exit_reason"]) == ("stopped", None)
    assert state["platforms"] == {}
    assert not list(island.home.parent.glob("locks/*.lock"))
    assert ours.ask("start", "done")["refusal"]["may_insist"]
    # Quit: nothing of it is left.
    ours.tell("quit")
    assert ours.expect("left")["tasks"] == []
    assert ours.expect("closed") == {"name": "closed", "threads": [], "children": []}
