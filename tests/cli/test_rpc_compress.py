"""``session.compress`` of ``hermes-desktop rpc``: shorter, followed, and never claimed in vain."""

import json
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.narrow_model import NarrowModel
from tests.fakes.program import Program
from tests.fakes.rpc_client import RpcProcess

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


def long_session(db: SessionDB) -> None:
    db.create_session("s1", "tui", model="narrow")
    for number in range(40):
        role = ("user", "assistant")[number % 2]
        db.append_message("s1", role, f"text {number} " + "word " * 40)
    db.set_session_title("s1", "Long")


def settings(base_url: str, *, in_place: bool) -> str:
    return json.dumps(
        {
            "model": {"default": "narrow", "base_url": base_url},
            "compression": {"in_place": in_place},
            "auxiliary": {"title_generation": {"enabled": False}},
        }
    )


@pytest.mark.parametrize("in_place", [True, False], ids=["in place", "in a new session"])
def test_a_session_is_shortened_and_goes_on(
    program: Program, home: Path, db: SessionDB, in_place: bool
) -> None:
    long_session(db)
    model = NarrowModel()
    with model.serve() as server:
        (home / "config.yaml").write_text(settings(server.base_url, in_place=in_place))
        with RpcProcess(program) as rpc:
            sid = rpc.call("session.resume", session_id="Long")["session_id"]
            shown = rpc.call("session.history", session_id=sid)["count"]

            done = rpc.call("session.compress", session_id=sid, focus_topic="the numbers")

            assert done["status"] == "compressed"
            assert done["summary"]["noop"] is False
            assert done["after_messages"] < done["before_messages"] == shown
            assert done["after_tokens"] < done["before_tokens"]
            assert (done["session_key"] == "s1") is in_place
            assert "the numbers" in str(model.summaries[0].messages)
            assert done["usage"]["context_used"] == done["after_tokens"]
            complete = rpc.said(sid, "and on")
            assert complete["usage"]["compressions"] == 1
            assert 0 < complete["usage"]["context_used"] < done["before_tokens"]
            assert "and on" in str(server.requests[-1].messages[-1]["content"])
            assert len(server.requests[-1].messages) < shown
            rpc.call("session.close", session_id=sid)
    row = db.get_session(done["session_key"])
    assert row is not None
    assert row["end_reason"] == "tui_close"


def test_what_was_not_written_is_not_claimed(program: Program, home: Path, db: SessionDB) -> None:
    long_session(db)
    (home / "config.yaml").write_text(settings("http://127.0.0.1:9/v1", in_place=True))
    with RpcProcess(program) as rpc:
        sid = rpc.call("session.resume", session_id="s1")["session_id"]

        assert rpc.code("session.compress", session_id=sid) == 5005

        assert rpc.call("session.history", session_id=sid)["count"] == 40
        short = rpc.call("session.create")["session_id"]
        assert rpc.call("session.compress", session_id=short)["summary"]["noop"] is True
    assert len(db.get_messages("s1")) == 40
