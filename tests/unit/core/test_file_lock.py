"""One process at a time."""

import subprocess
import sys
import threading
from pathlib import Path

from hermes_desktop.core.files import file_lock

_HOLD = """
import sys
from pathlib import Path
from hermes_desktop.core.files import file_lock
with file_lock.hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_another_process_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    other = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert other.stdout is not None
    assert other.stdin is not None
    with other:
        assert other.stdout.readline() == "held\n"
        got = threading.Event()

        def take() -> None:
            with file_lock.hold(path):
                got.set()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        assert not got.wait(0.2)
        other.stdin.write("\n")
        other.stdin.flush()
        assert got.wait(60)
        thread.join(60)
    assert path.stat().st_mode & 0o777 == 0o600


def test_threads_take_turns(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(20):
            with file_lock.hold(tmp_path / "lock"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(most) == {1}
