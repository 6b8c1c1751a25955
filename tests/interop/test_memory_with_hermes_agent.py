"""What waits to be remembered: staged by one program, decided on in the other."""

import pytest

from hermes_desktop.agent.memory_store import MemoryStore
from tests.fakes.model_server import ModelServer, text, tool_call
from tests.fakes.program import Program
from tests.interop.conftest import RealHermes, choose_model
from tests.interop.test_rpc_with_hermes_agent import TheirProcess

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, pytest.mark.timeout(300)]


@pytest.fixture
def home(hermes: RealHermes, server: ModelServer) -> RealHermes:
    choose_model(hermes.home, server, memory={"write_approval": True})
    return hermes


def test_either_program_decides_on_what_the_other_staged(
    home: RealHermes, server: ModelServer
) -> None:
    store = MemoryStore(home.home)
    server.script(tool_call("memory", action="add", target="user", content="Likes tea"))
    server.script(text("It waits."))
    assert Program(home.home).run("chat", "-q", "Remember that I like tea").code == 0
    [ours] = store.pending()
    theirs = TheirProcess(home)
    try:
        sid = theirs.call("session.create", cols=80)["session_id"]
        listed = theirs.call("slash.exec", session_id=sid, command="/memory pending")["output"]
        assert f"{ours.id}  add to user profile: Likes tea" in listed
        theirs.call("slash.exec", session_id=sid, command=f"/memory approve {ours.id}")
        assert store.texts("user") == ["Likes tea"]
        server.script(
            tool_call(
                "memory", action="replace", target="user", old_text="tea", content="Likes coffee"
            )
        )
        server.script(text("It waits."))
        assert theirs.answered(sid, "Rather coffee") == "It waits."
    finally:
        theirs.end()
    [pending] = store.pending()
    assert (pending.action, pending.content, pending.old_text) == ("replace", "Likes coffee", "tea")
    store.approve(pending.id)
    assert store.texts("user") == ["Likes coffee"]
    assert store.pending() == ()
