"""The identity process on real files, with real signals: claim, hold, stop, crash, leave."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity import identity
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.identity.identity_process import identity_command
from hermes_desktop.gateway.identity.identity_supervisor import GatewayIdentity
from hermes_desktop.gateway.runtime_files import process_facts
from hermes_desktop.gateway.runtime_files.identity_events import (
    Claimed,
    ForeignChanged,
    HardStop,
    HeldByOther,
    IdentityLost,
    IdentityRenewed,
    MustEnd,
    NotHere,
    StopRequested,
)
from hermes_desktop.gateway.runtime_files.identity_files import (
    LOCK_FILE,
    PID_FILE,
    STATE_FILE,
    STOP_MARKER,
    TAKEOVER_MARKER,
    GatewayRecord,
    live_gateway,
)
from tests.fakes.clock import MovableClock
from tests.fakes.identity import (
    IdentityStage,
    gateway_lookalike,
    identity_stage,
    is_gone,
    write_record,
)
from tests.support.waiting import wait_until

pytestmark = pytest.mark.two_processes


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose path has what command lines and shells trip over."""
    folder = tmp_path / "a 'strange' häuschen"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def stage(home: Path) -> Iterator[IdentityStage]:
    with identity_stage(home) as made:
        yield made


def marker(stage: IdentityStage, name: str, record: GatewayRecord) -> None:
    text = {"target_pid": record.pid, "target_start_time": record.start_time}
    stage.home.joinpath(name).write_text(json.dumps({**text, "written_at": time.time()}))


# --------------------------------------------------------------------------------- claim and leave


def test_a_claim_writes_the_three_files_and_a_release_leaves_them_in_order(
    stage: IdentityStage,
) -> None:
    record = stage.hold()

    assert stage.file(PID_FILE) == stage.file(LOCK_FILE) == record.as_json()
    assert stage.file(STATE_FILE)["gateway_state"] == "starting"
    assert all(
        stage.home.joinpath(name).stat().st_mode & 0o777 == 0o600
        for name in (PID_FILE, LOCK_FILE, STATE_FILE)
    )
    stage.identity.update(
        {"gateway_state": "running", "platforms": {"telegram": {"state": "connected"}}}
    )
    wait_until(lambda: stage.file(STATE_FILE)["platforms"])

    assert stage.identity.release()
    state = stage.file(STATE_FILE)
    assert (state["gateway_state"], state["exit_reason"], state["platforms"]) == (
        "stopped",
        None,
        {},
    )
    assert not stage.home.joinpath(PID_FILE).exists()
    assert stage.home.joinpath(LOCK_FILE).exists()
    wait_until(lambda: is_gone(record.pid))
    assert sorted(path.name for path in stage.home.iterdir()) == [LOCK_FILE, STATE_FILE]


def test_its_command_line_is_that_of_a_gateway_of_this_home_and_ours_never_is(
    stage: IdentityStage,
) -> None:
    record = stage.hold()
    line = process_facts.command_line(record.pid) or ""

    assert process_facts.looks_like_gateway(line)
    assert f"HERMES_HOME={stage.home}" in line
    assert "--external-supervisor" in line
    assert not process_facts.looks_like_gateway(process_facts.command_line(os.getpid()) or "")
    assert os.getsid(record.pid) == record.pid
    environment = Path(f"/proc/{record.pid}/environ").read_bytes()
    assert b"hermes" not in environment.lower()
    assert not Path(f"/proc/{record.pid}/task/{record.pid}/children").read_text()


def test_a_profile_and_a_second_spelling_of_the_home_stand_in_the_command_line(
    tmp_path: Path,
) -> None:
    real = tmp_path / "real" / "profiles" / "work"
    real.mkdir(parents=True)
    tmp_path.joinpath("link").symlink_to(tmp_path / "real")
    paths = HermesPaths(tmp_path / "link/profiles/work", tmp_path / "link", "work")

    words = identity_command(paths, parent=7)

    assert words[words.index("hermes-gateway") + 1 :] == [
        "--external-supervisor",
        f"HERMES_HOME={real}",
        f"HERMES_HOME={paths.home}",
        "--profile",
        "work",
        "--parent",
        "7",
    ]


def test_it_loads_the_standard_library_and_four_modules_of_ours() -> None:
    report = "import sys; sys.argv = ['x']; import runpy\n"
    report += f"runpy.run_path({identity.__file__!r})\nprint(*sys.modules)"

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", report], capture_output=True, text=True, check=True
    )

    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("hermes_desktop.")} == {
        "hermes_desktop.core",
        "hermes_desktop.core.processes",
        "hermes_desktop.core.processes.liveness",
        "hermes_desktop.gateway",
        "hermes_desktop.gateway.runtime_files",
        "hermes_desktop.gateway.runtime_files.identity_files",
        "hermes_desktop.gateway.runtime_files.process_facts",
    }
    foreign = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    assert foreign <= {"hermes_desktop", "__main__", "__mp_main__"}
    assert not loaded & {"asyncio", "dataclasses", "inspect", "subprocess", "logging", "sqlite3"}


def test_a_home_far_down_is_held(tmp_path: Path) -> None:
    home = tmp_path.joinpath(*["folder" * 8] * 4)
    home.mkdir(parents=True)

    with identity_stage(home) as stage:
        record = stage.hold()

        assert process_facts.is_gateway(record.pid, record.start_time)
        assert stage.file(PID_FILE)["hermes_home"] == str(home)


def test_one_that_does_not_read_holds_nobody_up(stage: IdentityStage) -> None:
    record = stage.hold()
    os.kill(record.pid, signal.SIGSTOP)
    for number in range(300):
        stage.identity.update({"platforms": {"irc": {"error_message": "x" * 900}, "n": number}})

    assert not stage.identity.release()
    os.kill(record.pid, signal.SIGCONT)
    wait_until(lambda: is_gone(record.pid))
    assert stage.file(STATE_FILE)["gateway_state"] == "stopped"


def test_a_second_program_finds_it_and_attaches(home: Path, stage: IdentityStage) -> None:
    record = stage.hold()
    before = stage.snapshot()

    with identity_stage(home) as second:
        answer = second.identity.claim()

        assert isinstance(answer, HeldByOther)
        assert stage.snapshot() == before
        assert live_gateway(home) == record


def test_only_one_of_many_that_start_together_gets_it(home: Path) -> None:
    with contextlib.ExitStack() as stack:
        stages = [stack.enter_context(identity_stage(home)) for _ in range(6)]
        answers: list[object] = []
        threads = [
            threading.Thread(target=lambda s=s: answers.append(s.identity.claim())) for s in stages
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        holding = [s for s in stages if s.identity.state == "hosting"]
        assert len(holding) == 1, answers
        assert sum(isinstance(each, HeldByOther) for each in answers) == 5
        winner = holding[0].identity.record
        assert winner is not None
        assert stages[0].file(PID_FILE) == stages[0].file(LOCK_FILE) == winner.as_json()
        wait_until(lambda: stages[0].file(STATE_FILE)["pid"] == winner.pid)


@pytest.mark.parametrize("name", [PID_FILE, LOCK_FILE, STATE_FILE])
@pytest.mark.parametrize("content", ["{other start}", "{dead}", "999999", "", '{"pid": 1', "[]"])
def test_what_a_crash_left_behind_is_in_nobodys_way(
    stage: IdentityStage, name: str, content: str
) -> None:
    with gateway_lookalike() as record:
        made = {
            "{other start}": json.dumps({"pid": record.pid, "start_time": 1}),
            "{dead}": json.dumps({"pid": 2**22 - 5, "start_time": 1, "gateway_state": "running"}),
        }
        stage.home.joinpath(name).write_text(made.get(content, content))

        claimed = stage.hold()

    assert stage.file(PID_FILE)["pid"] == stage.file(LOCK_FILE)["pid"] == claimed.pid
    assert stage.file(STATE_FILE)["pid"] == claimed.pid


@pytest.mark.parametrize("name", [PID_FILE, STATE_FILE])
def test_a_live_gateway_that_any_file_names_is_left_alone(stage: IdentityStage, name: str) -> None:
    with gateway_lookalike() as record:
        write_record(stage.home / name, record, gateway_state="running")
        before = stage.snapshot()

        answer = stage.identity.claim()

        assert isinstance(answer, HeldByOther)
        assert answer.gateway is not None
        assert answer.gateway.record.pid == record.pid
        assert stage.snapshot() == before


def test_a_stranger_who_starts_its_command_line_changes_nothing(home: Path) -> None:
    command = identity_command(HermesPaths(home, home), parent=1)

    done = subprocess.run(
        command, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False
    )

    assert done.returncode == identity.REFUSED
    assert not list(home.iterdir())


@pytest.mark.parametrize("words", [[], ["hermes-gateway"], ["hermes-gateway", "--parent", "x"]])
def test_senseless_arguments_are_refused(words: list[str]) -> None:
    assert identity.main(words or ["x"]) == identity.REFUSED


def test_no_process_is_started_from_a_sandbox_or_beside_a_service(
    home: Path, tmp_path: Path
) -> None:
    sandbox = tmp_path / "root"
    sandbox.joinpath("proc/self").mkdir(parents=True)
    sandbox.joinpath(".flatpak-info").touch()
    units = tmp_path / "units"
    units.mkdir()
    units.joinpath("hermes-gateway.service").write_text(f'Environment="HERMES_HOME={home}"\n')

    with identity_stage(home, checks=HostingChecks(sandbox, ())) as closed_off:
        refused = closed_off.identity.claim()
    with identity_stage(home, checks=HostingChecks(Path("/"), (units,))) as beside:
        attached = beside.identity.claim()
        assert not list(home.iterdir())
        hosted = beside.identity.claim(despite_service=True)
        assert beside.identity.state == "hosting", hosted

    assert isinstance(refused, NotHere)
    assert refused.why == "obstacle"
    assert isinstance(attached, NotHere)
    assert attached.service == units / "hermes-gateway.service"


# -------------------------------------------------------------------------------------- being told


@pytest.mark.parametrize(
    ("name", "number", "kind", "limit"),
    [
        (STOP_MARKER, signal.SIGTERM, "stop", 9.0),
        (STOP_MARKER, None, "stop", 9.0),
        (TAKEOVER_MARKER, signal.SIGTERM, "takeover", 9.0),
        (None, signal.SIGTERM, "kill", 2.5),
        (None, signal.SIGHUP, "kill", 2.5),
        (None, signal.SIGUSR1, "restart", 15.0),
    ],
)
def test_a_stop_from_outside_is_told_with_its_limit(
    stage: IdentityStage, name: str | None, number: int | None, kind: str, limit: float
) -> None:
    record = stage.hold()
    if name is not None:
        marker(stage, name, record)
    if number is not None:
        os.kill(record.pid, number)

    told = stage.expect(StopRequested)

    assert told.kind == kind
    assert told.deadline == pytest.approx(time.monotonic() + limit, abs=1.0)
    assert told.comes_back == (kind == "restart")
    wait_until(lambda: stage.file(STATE_FILE)["gateway_state"] == "draining")
    assert not list(stage.home.glob(".gateway-*"))
    assert stage.identity.release()
    assert stage.file(STATE_FILE)["exit_reason"] is None
    assert stage.identity.state == "free"


def test_a_kill_shortens_a_restart(stage: IdentityStage) -> None:
    record = stage.hold()
    os.kill(record.pid, signal.SIGUSR1)
    first = stage.expect(StopRequested)

    os.kill(record.pid, signal.SIGTERM)
    second = stage.expect(StopRequested)

    assert (first.kind, second.kind) == ("restart", "kill")
    assert second.deadline < first.deadline - 5


def test_beside_a_service_the_limit_is_shorter_and_a_restart_does_not_come_back(
    home: Path, tmp_path: Path
) -> None:
    tmp_path.joinpath("hermes-gateway.service").touch()

    with identity_stage(home, checks=HostingChecks(Path("/"), (tmp_path,))) as stage:
        assert stage.identity.claim(despite_service=True)
        record = stage.identity.record
        assert record is not None
        stage.identity.update({"gateway_state": "running"})
        wait_until(lambda: stage.file(STATE_FILE)["gateway_state"] == "running")
        os.kill(record.pid, signal.SIGUSR1)
        told = stage.expect(StopRequested)

    assert told.deadline <= time.monotonic() + 4.5
    assert not told.comes_back


@pytest.mark.parametrize("fields", [{"target_pid": 1}, {"target_start_time": 5}, {"written_at": 9}])
def test_a_marker_for_somebody_else_or_of_long_ago_stops_nothing(
    stage: IdentityStage, fields: dict[str, int]
) -> None:
    record = stage.hold()
    good = {"target_pid": record.pid, "target_start_time": None, "written_at": time.time()}
    stage.home.joinpath(STOP_MARKER).write_text(json.dumps({**good, **fields}))

    os.kill(record.pid, signal.SIGUSR1)

    assert stage.expect(StopRequested).kind == "restart"
    assert stage.home.joinpath(STOP_MARKER).exists()


def test_who_does_not_answer_in_time_is_left(stage: IdentityStage) -> None:
    record = stage.hold()

    os.kill(record.pid, signal.SIGTERM)
    stage.expect(StopRequested)
    told = stage.expect(HardStop)

    assert told.kind is None
    assert stage.file(STATE_FILE)["exit_reason"] == "app did not answer in time"
    assert not stage.home.joinpath(PID_FILE).exists()
    stage.identity.confirm_stopped()


def test_after_a_stop_from_outside_it_is_not_claimed_again_at_once(home: Path) -> None:
    clock = MovableClock()
    with identity_stage(home, clock=clock) as stage:
        record = stage.hold()
        marker(stage, STOP_MARKER, record)
        # The clock of the test stands still; the marker's age is told by the process's own.
        stage.expect(StopRequested)
        stage.identity.release()

        refused = stage.identity.claim()
        assert isinstance(refused, NotHere)
        assert (refused.why, refused.wait_s) == ("recent_stop", 30.0)
        clock.advance(31)
        stage.hold()


# --------------------------------------------------------------------------------- repair and loss


def test_deleted_files_come_back(stage: IdentityStage) -> None:
    record = stage.hold()
    for name in (PID_FILE, LOCK_FILE, STATE_FILE):
        stage.home.joinpath(name).unlink()

    wait_until(lambda: stage.file(PID_FILE) == stage.file(LOCK_FILE) == record.as_json())
    wait_until(lambda: stage.file(STATE_FILE))
    assert stage.identity.state == "hosting"


def test_a_gateway_that_took_the_files_has_the_home(stage: IdentityStage) -> None:
    record = stage.hold()
    with gateway_lookalike() as other:
        os.kill(record.pid, signal.SIGSTOP)
        for name in (PID_FILE, LOCK_FILE, STATE_FILE):
            stage.home.joinpath(name).unlink()
            write_record(stage.home / name, other, gateway_state="running")
        before = stage.snapshot()
        os.kill(record.pid, signal.SIGCONT)

        lost = stage.expect(IdentityLost)

        assert lost.owner is not None
        assert lost.owner.pid == other.pid
        assert stage.identity.state == "attached"
        assert stage.snapshot() == before
        stage.identity.confirm_stopped()
    assert stage.expect(ForeignChanged, seconds=10) is not None


def is_removed(folder: Path) -> bool:
    """Remove a folder's files and the folder; False if a file was added meanwhile."""
    for path in folder.iterdir():
        path.unlink(missing_ok=True)
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def test_a_home_that_is_deleted_stays_deleted(stage: IdentityStage) -> None:
    stage.hold()
    # The first state may still be on its way to its file.
    wait_until(lambda: is_removed(stage.home))

    assert stage.expect(IdentityLost).owner is None
    assert not stage.home.exists()
    answer = stage.identity.claim()
    assert isinstance(answer, NotHere)
    assert answer.why == "no_home"


def test_a_state_that_cannot_be_written_does_not_cost_us_the_home(stage: IdentityStage) -> None:
    record = stage.hold()
    path = stage.home / STATE_FILE
    path.unlink()
    path.mkdir()
    stage.identity.update({"gateway_state": "running"})
    path.joinpath("in the way").touch()
    stage.identity.update({"active_agents": 1})

    wait_until(lambda: not list(stage.home.glob("*.tmp")))
    path.joinpath("in the way").unlink()
    path.rmdir()
    stage.identity.update({"active_agents": 2})

    wait_until(lambda: stage.file(STATE_FILE))
    assert stage.file(PID_FILE)["pid"] == record.pid
    assert stage.identity.release()


def test_one_that_hangs_does_not_outlive_its_program(home: Path) -> None:
    with identity_stage(home) as stage:
        record = stage.hold()
        os.kill(record.pid, signal.SIGSTOP)

        assert not stage.identity.release()
        stage.identity.close()

        wait_until(lambda: not Path(f"/proc/{record.pid}").exists())
    with identity_stage(home) as stage:
        assert stage.hold().pid != record.pid


def test_a_listener_that_fails_changes_nothing(home: Path) -> None:
    def fail(event: object) -> None:
        raise ValueError(event)

    identity = GatewayIdentity(
        HermesPaths(home, home), events=fail, checks=HostingChecks(Path("/"), ())
    )
    identity.start()
    claimed = identity.claim()
    assert isinstance(claimed, Claimed)
    os.kill(claimed.record.pid, signal.SIGTERM)
    wait_until(lambda: identity.state == "stopping")
    assert identity.release()
    identity.close()

    assert isinstance(identity.claim(), NotHere)
    assert identity.release()
    identity.close()


@pytest.mark.parametrize("command", [["/does/not/exist"], [sys.executable, "-c", "import time"]])
def test_a_process_that_cannot_do_it_is_told(home: Path, command: list[str]) -> None:
    identity = GatewayIdentity(
        HermesPaths(home, home),
        events=print,
        checks=HostingChecks(Path("/"), ()),
        command=command,
    )
    identity.start()

    answer = identity.claim()

    assert isinstance(answer, NotHere)
    assert answer.why == "failed"
    assert answer.detail
    assert identity.state == "free"
    identity.close()


def test_a_process_that_never_answers_is_given_up(home: Path) -> None:
    clock = MovableClock()
    silent = [sys.executable, "-c", "import sys; sys.stdin.read(); sys.stdin.read()"]
    identity = GatewayIdentity(
        HermesPaths(home, home),
        events=print,
        clock=clock,
        checks=HostingChecks(Path("/"), ()),
        command=silent,
    )
    identity.start()
    answers: list[object] = []
    claiming = threading.Thread(target=lambda: answers.append(identity.claim()))
    claiming.start()
    wait_until(lambda: clock.advance(0.1) or answers)
    claiming.join()
    identity.close()

    assert isinstance(answers[0], NotHere)
    assert "did not answer" in answers[0].detail


# ------------------------------------------------------------------------------------------ crashes


def test_a_killed_identity_process_is_replaced(stage: IdentityStage) -> None:
    first = stage.hold()
    stage.identity.update({"gateway_state": "running", "active_agents": 2})
    wait_until(lambda: stage.file(STATE_FILE)["active_agents"] == 2)

    os.kill(first.pid, signal.SIGKILL)
    renewed = stage.expect(IdentityRenewed)

    assert renewed.record.pid != first.pid
    assert stage.file(PID_FILE) == stage.file(LOCK_FILE) == renewed.record.as_json()
    wait_until(lambda: stage.file(STATE_FILE)["gateway_state"] == "running")
    assert stage.identity.state == "hosting"


def test_one_that_was_killed_with_a_marker_is_not_replaced(stage: IdentityStage) -> None:
    record = stage.hold()
    os.kill(record.pid, signal.SIGSTOP)
    marker(stage, TAKEOVER_MARKER, record)

    os.kill(record.pid, signal.SIGKILL)

    assert stage.expect(HardStop).kind == "takeover"
    assert stage.identity.state == "free"
    stage.identity.confirm_stopped()


def test_one_that_is_killed_while_the_gateway_stops_stops_it_at_once(
    stage: IdentityStage,
) -> None:
    record = stage.hold()
    os.kill(record.pid, signal.SIGUSR1)
    stage.expect(StopRequested)

    os.kill(record.pid, signal.SIGKILL)

    assert stage.expect(HardStop).kind is None
    assert stage.identity.release()


def renewed_soon(stage: IdentityStage, clock: MovableClock) -> GatewayRecord:
    """Return the next process's record.

    Starting a process takes real time. The clock therefore moves by no more than 20 s, so that
    all deaths of a test lie within the two minutes that count.
    """
    moved = 0.0
    while stage.events.empty() and moved < 20.0:
        clock.advance(0.5)
        moved += 0.5
        time.sleep(0.05)
    return stage.expect(IdentityRenewed).record


def test_one_that_is_killed_again_and_again_is_given_up(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = MovableClock()
    with identity_stage(home, clock=clock) as stage:
        record = stage.hold()
        for deaths in range(1, 6):
            os.kill(record.pid, signal.SIGKILL)
            wait_until(lambda: caplog.text.count("another one follows") == deaths)  # noqa: B023
            record = renewed_soon(stage, clock)
        os.kill(record.pid, signal.SIGKILL)

        assert "too often" in stage.expect(HardStop).detail
        assert stage.identity.state == "free"


def test_a_program_that_cannot_stop_its_gateway_is_told_to_end(home: Path) -> None:
    clock = MovableClock()
    with identity_stage(home, clock=clock) as stage, gateway_lookalike() as other:
        record = stage.hold()
        os.kill(record.pid, signal.SIGTERM)
        stage.expect(StopRequested)
        os.kill(record.pid, signal.SIGKILL)
        stage.expect(HardStop)
        write_record(stage.home / PID_FILE, other)

        wait_until(lambda: clock.advance(1.0) or stage.identity.state == "attached")
        stage.expect(MustEnd)


_DYING = """
import os, queue, sys
from pathlib import Path
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.identity.identity_supervisor import GatewayIdentity
home = Path(sys.argv[1])
held = GatewayIdentity(HermesPaths(home, home), events=print)
held.start()
print(held.claim().record.pid, flush=True)
if sys.argv[2] == "with a grandchild" and os.fork() == 0:
    sys.stdin.read()
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["alone", "with a grandchild"])
def test_it_leaves_when_its_program_is_killed(home: Path, how: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", _DYING, str(home), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert program.stdout is not None
    assert program.stdin is not None
    pid = int(program.stdout.readline())

    program.kill()
    program.wait()

    wait_until(lambda: is_gone(pid))
    assert not home.joinpath(PID_FILE).exists()
    assert json.loads(home.joinpath(STATE_FILE).read_text())["exit_reason"] == "app ended"
    program.stdin.close()
    program.stdout.close()


# --------------------------------------------------------------------------------------- attached


def test_another_gateway_is_watched_and_nothing_is_written(stage: IdentityStage) -> None:
    with gateway_lookalike() as record:
        write_record(stage.home / PID_FILE, record)
        write_record(
            stage.home / STATE_FILE,
            record,
            gateway_state="running",
            platforms={"telegram": {"state": "connected"}},
            active_agents=3,
        )
        before = stage.snapshot()
        wait_until(lambda: stage.identity.state == "attached")
        seen = stage.expect(ForeignChanged).gateway

        assert seen is not None
        assert (seen.state, seen.active_agents, list(seen.platforms)) == (
            "running",
            3,
            ["telegram"],
        )
        assert seen.age_s is not None
        assert not seen.is_hermes_desktop
        assert stage.snapshot() == before
    wait_until(lambda: stage.identity.state == "free")
    assert stage.expect(ForeignChanged).gateway is None
    assert stage.snapshot() == before
