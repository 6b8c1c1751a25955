"""The second start shows the window of the first, in a real second process."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtNetwork import QLocalSocket

from hermes_desktop.ui.start.single_instance import (
    InstanceName,
    SingleInstance,
    ask_first_instance,
    instance_name,
)

SECOND = """
import sys
from pathlib import Path
from hermes_desktop.ui.start.single_instance import (
    SingleInstance, ask_first_instance, instance_name
)
name = instance_name(Path(sys.argv[1]), Path(sys.argv[2]))
if SingleInstance(name).acquire():
    print("first")
else:
    print(ask_first_instance(name, token="token-1", patience_s=float(sys.argv[3])))
"""
HOLDER = """
import sys
from pathlib import Path
from hermes_desktop.ui.start.single_instance import SingleInstance, instance_name
instance = SingleInstance(instance_name(Path(sys.argv[1]), Path(sys.argv[2])))
print(instance.acquire(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def name(tmp_path: Path, short_folder: Path) -> InstanceName:
    return instance_name(tmp_path / "home", short_folder)


@pytest.fixture
def first(qapp, name: InstanceName):
    instance = SingleInstance(name)
    assert instance.acquire()
    yield instance
    instance.close()
    instance.deleteLater()


async def run_second(tmp_path: Path, folder: Path, *, patience_s: float = 5.0) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SECOND,
        str(tmp_path / "home"),
        str(folder),
        str(patience_s),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    return output.decode().strip()


@pytest.mark.two_processes
@pytest.mark.asyncio
async def test_second_process_asks_the_first_and_ends(first, tmp_path, short_folder) -> None:
    tokens: list[str] = []
    first.show_requested.connect(tokens.append)
    assert first.listen()
    assert await run_second(tmp_path, short_folder) == "shown"
    assert tokens == ["token-1"]


@pytest.mark.two_processes
@pytest.mark.asyncio
async def test_a_first_that_does_not_listen_is_named_silent(first, tmp_path, short_folder) -> None:
    assert await run_second(tmp_path, short_folder, patience_s=0.3) == "silent"


@pytest.mark.two_processes
def test_a_killed_holder_frees_the_lock_and_its_dead_socket_is_replaced(
    qapp, name, tmp_path, short_folder
) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "home"), str(short_folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline().strip() == "True"
        instance = SingleInstance(name)
        assert not instance.acquire()
        holder.kill()
    Path(name.socket_name).touch()
    assert instance.acquire()
    assert instance.listen()
    instance.close()


@pytest.mark.asyncio
async def test_socket_is_for_its_owner_alone(first, name) -> None:
    first.listen()
    assert Path(name.socket_name).stat().st_mode & 0o077 == 0


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "message",
    [b"nonsense\n", b'{"command": "quit"}\n', b'["show"]\n', b'{"command":"show","token":1}\n'],
)
async def test_requests_that_make_no_sense_are_dropped(first, name, message) -> None:
    tokens: list[str] = []
    first.show_requested.connect(tokens.append)
    first.listen()
    socket = QLocalSocket()
    gone = asyncio.get_running_loop().create_future()
    socket.disconnected.connect(lambda: gone.done() or gone.set_result(None))
    socket.connectToServer(name.socket_name)
    socket.write(message)
    await asyncio.wait_for(gone, 5)
    assert tokens == []
    assert socket.readAll().data() == b""


@pytest.mark.asyncio
async def test_endless_requests_are_cut_off(first, name) -> None:
    first.listen()
    socket = QLocalSocket()
    gone = asyncio.get_running_loop().create_future()
    socket.disconnected.connect(lambda: gone.done() or gone.set_result(None))
    socket.connectToServer(name.socket_name)
    socket.write(b"x" * 100_000)
    await asyncio.wait_for(gone, 5)


def test_names_differ_by_home_and_for_the_demonstration(tmp_path) -> None:
    names = {
        instance_name(tmp_path / "a", tmp_path).lock_file,
        instance_name(tmp_path / "b", tmp_path).lock_file,
        instance_name(tmp_path / "a", tmp_path, demo=True).lock_file,
    }
    assert len(names) == 3
    assert instance_name(tmp_path / "a", tmp_path) == instance_name(tmp_path / "a", tmp_path)


def test_long_tokens_are_cut(name) -> None:
    assert ask_first_instance(name, token="t" * 10_000, patience_s=0.05) == "silent"
    assert len(json.dumps({"command": "show", "token": "t" * 1024})) < 4096
