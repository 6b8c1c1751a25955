"""Approvals that are off do not switch the sandbox off."""

import pytest

from tests.fakes.tool_stage import KEY, ToolStage, call

pytestmark = pytest.mark.needs("sandbox")

ESCAPES = (
    "cat ../secret.txt",
    "echo changed > ../secret.txt",
    "rm ../secret.txt",
)


@pytest.mark.parametrize("off", ["settings", "session"])
@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
def test_commands_still_run_inside(closed: ToolStage, off: str, background: bool) -> None:
    secret = closed.user_home / "secret.txt"
    secret.write_text("planted")
    if off == "settings":
        closed.config["approvals"] = {"mode": "off"}
    else:
        closed.queue.set_free(KEY, free=True)
    script = "; ".join([*ESCAPES, "echo inside > done.txt"])
    if background:
        (started,) = closed.result(call("terminal", command=script, background=True))
        (ended,) = closed.result(
            call("process", "c2", action="wait", session_id=started["session_id"])
        )
    else:
        (ended,) = closed.result(call("terminal", command=script))
    assert closed.asked == []
    assert "planted" not in ended["output"]
    assert secret.read_text() == "planted"
    assert (closed.cwd / "done.txt").read_text() == "inside\n"
