"""``hermes-desktop rpc --socket``: several programs of one person at one process."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_desktop.state import SessionDB
from tests.fakes.model_server import ModelServer, hang, text
from tests.fakes.program import Program, rows, said
from tests.fakes.rpc_client import PATIENCE_S, SocketClient

pytestmark = [pytest.mark.slow, pytest.mark.two_processes]


class Served:
    """A process that serves a socket."""

    def __init__(self, program: Program, *arguments: str) -> None:
        self.process = program.start("rpc", "--socket", *arguments)
        assert self.process.stderr is not None
        self.words = self.process.stderr.readline().decode()
        self.path = Path(self.words.partition(" at ")[2].partition(". Press Ctrl-C")[0])

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


@pytest.fixture
def serve(
    program: Program, configured: Path, short_folder: Path
) -> Iterator[Callable[..., Served]]:
    program.environ["XDG_RUNTIME_DIR"] = str(short_folder)
    running: list[Served] = []

    def start(*arguments: str) -> Served:
        running.append(Served(program, *arguments))
        return running[-1]

    yield start
    for each in running:
        if each.process.poll() is None:
            each.end()


def test_a_second_program_on_one_session_sees_its_events(
    serve: Callable[..., Served], server: ModelServer, home: Path
) -> None:
    server.script(text("Hello you two"))
    served = serve()
    with SocketClient(served.path) as one, SocketClient(served.path) as two:
        assert one.event("gateway.ready") is not None
        assert two.event("gateway.ready") is not None
        created = one.call("session.create")
        sid = created["session_id"]
        assert two.call("session.activate", session_id=sid)["session_id"] == sid

        one.call("prompt.submit", session_id=sid, text="Hi")

        for each in (one, two):
            assert each.event("message.complete", sid)["text"] == "Hello you two"
            pieces = [
                frame["params"]["payload"]["text"]
                for frame in each.frames
                if frame.get("params", {}).get("type") == "message.delta"
            ]
            assert "".join(pieces) == "Hello you two"
        with SocketClient(served.path) as three:
            three.call("session.list")
            assert not [each for each in three.frames if "message" in str(each.get("params", ""))]
    assert served.end() == 0
    assert rows(home)[0]["end_reason"] == "tui_close"


def test_the_socket_is_for_its_owner_alone_and_goes_at_the_end(
    serve: Callable[..., Served], short_folder: Path
) -> None:
    served = serve()

    assert served.path.parent == short_folder / "hermes-desktop"
    assert stat.S_IMODE(served.path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(served.path.stat().st_mode) == 0o600
    assert served.end() == 0
    assert not served.path.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else for a moment")
def test_somebody_else_is_let_go(serve: Callable[..., Served], short_folder: Path) -> None:
    served = serve()
    for opened in (short_folder, served.path.parent, served.path):
        opened.chmod(0o777)
    code = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(20);"
        "s.connect(sys.argv[1]); sys.exit(7 if s.recv(10) == b'' else 1)"
    )

    stranger = subprocess.run(
        ["/usr/bin/env", "python3", "-c", code, str(served.path)],
        user=65534, timeout=PATIENCE_S, cwd="/", check=False, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip

    assert stranger.returncode in {7, 126, 127}  # let go; or may not even start Python here
    with SocketClient(served.path) as own:
        assert own.call("session.list") == {"sessions": []}


def test_a_program_that_leaves_and_comes_back_finds_its_session(
    serve: Callable[..., Served], server: ModelServer
) -> None:
    server.script(text("One two three four", delay=0.1))
    served = serve()
    with SocketClient(served.path) as one:
        created = one.call("session.create")
        one.call("prompt.submit", session_id=created["session_id"], text="Count")
        one.event("message.delta")

    with SocketClient(served.path) as two:
        found = two.call("session.resume", session_id=created["stored_session_id"])

        assert found["session_id"] == created["session_id"]
        assert found["inflight"]["user"] == "Count" or found["message_count"] == 2
        if found["running"]:
            assert two.event("message.complete")["text"] == "One two three four"


def test_a_program_that_only_listens_any_more_hears_the_end(
    serve: Callable[..., Served], server: ModelServer
) -> None:
    server.script(text("One two three four", delay=0.1))
    with SocketClient(serve().path) as one:
        created = one.call("session.create")
        one.call("prompt.submit", session_id=created["session_id"], text="Count")
        one.connection.shutdown(socket.SHUT_WR)

        assert one.event("message.complete")["text"] == "One two three four"
        assert one.rest()


def test_a_session_may_end_with_its_program(
    serve: Callable[..., Served], server: ModelServer, home: Path
) -> None:
    server.script(hang("Once"))
    served = serve()
    with SocketClient(served.path) as one:
        created = one.call("session.create", close_on_disconnect=True)
        one.call("prompt.submit", session_id=created["session_id"], text="Tell")
        one.event("message.delta")

    with SocketClient(served.path) as two:
        while two.call("session.active_list")["sessions"]:
            pass
    assert said(home, created["stored_session_id"]) == [("user", "Tell"), ("assistant", "Once")]


def test_a_program_that_hangs_up_in_the_middle_hurts_nobody(serve: Callable[..., Served]) -> None:
    served = serve()
    for _ in range(20):
        rude = socket.socket(socket.AF_UNIX)
        rude.connect(str(served.path))
        rude.sendall(b'{"id": 1, "method": "session.list"}\n' * 50 + b'{"half')
        rude.close()

    with SocketClient(served.path) as own:
        assert own.call("session.list") == {"sessions": []}


def test_twenty_programs_that_leave_in_the_middle_of_a_prompt(
    serve: Callable[..., Served], server: ModelServer, db: SessionDB
) -> None:
    served = serve()
    server.responder = lambda _: text("a slow reply of some words", delay=0.02)
    keys: list[str] = []
    with contextlib.ExitStack() as ends:
        programs = [ends.enter_context(SocketClient(served.path)) for _ in range(20)]
        for number, each in enumerate(programs):
            begun = each.call("session.create")
            keys.append(begun["stored_session_id"])
            each.call("prompt.submit", session_id=begun["session_id"], text=f"prompt {number}")
            each.send(b'{"id": "' + b"x" * 100_000 * (number % 3) + b"\n{half a request")
    with SocketClient(served.path) as own:
        mine = own.call("session.create")["session_id"]
        own.said(mine, "And I?")
        for _ in range(600):
            live = own.call("session.active_list")["sessions"]
            if not any(each["status"] == "working" for each in live):
                break
            threading.Event().wait(0.05)
        assert len(live) == 21
    for number, key in enumerate(keys):  # who has asked may come back and read it
        told = [(row["role"], row["content"]) for row in db.get_messages(key)]
        assert told == [("user", f"prompt {number}"), ("assistant", "a slow reply of some words")]


def test_one_process_serves_a_socket(
    serve: Callable[..., Served], program: Program, home: Path
) -> None:
    served = serve()

    second = program.run("rpc", "--socket")

    assert second.code == 6
    assert "Another process serves this socket" in second.err
    with SocketClient(served.path) as own:
        assert own.call("session.list") == {"sessions": []}


def test_what_a_killed_process_left_behind_is_replaced(serve: Callable[..., Served]) -> None:
    first = serve()
    first.end(signal.SIGKILL)
    assert first.path.exists()

    second = serve()

    assert second.path == first.path
    with SocketClient(second.path) as own:
        assert own.call("session.list") == {"sessions": []}


def test_a_path_of_ones_own(serve: Callable[..., Served], short_folder: Path) -> None:
    served = serve(str(short_folder / "mine.sock"))

    with SocketClient(served.path) as own:
        assert own.call("session.list") == {"sessions": []}


@pytest.mark.parametrize(
    ("name", "rights", "code"),
    [("x" * 120, 0o700, 2), ("s.sock", 0o755, 5)],
    ids=["too long", "open to others"],
)
def test_a_bad_place_is_refused(
    program: Program, configured: Path, short_folder: Path, name: str, rights: int, code: int
) -> None:
    short_folder.chmod(rights)

    done = program.run("rpc", "--socket", str(short_folder / name))

    assert done.code == code, done.err
    assert not (short_folder / name).exists()


def test_something_else_in_its_place_is_left(
    program: Program, configured: Path, short_folder: Path
) -> None:
    (short_folder / "notes.txt").write_text("mine")

    done = program.run("rpc", "--socket", str(short_folder / "notes.txt"))

    assert done.code == 5
    assert not list(short_folder.glob("*.lock"))
    assert (short_folder / "notes.txt").read_text() == "mine"
