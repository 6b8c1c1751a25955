"""``hermes-desktop models``: who answers, what is on this machine, whether one does."""

import json
from pathlib import Path

import pytest

from tests.fakes import model_server
from tests.fakes.local_server import LocalServerDouble
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Outcome, Program, files_of


def test_who_answers_and_who_could(program: Program, configured: Path) -> None:
    (configured / ".env").write_text("GROQ_API_KEY=gsk-0123456789\n", encoding="utf-8")
    done = program.run("models", "list")
    assert done.code == 0
    assert "a-model answers, at custom (http://127.0.0.1:" in done.err
    lines = {line.split("\t")[0]: line.split("\t")[1] for line in done.out.splitlines()}
    assert lines["groq"] == "key"
    assert lines["ollama"] == "no key needed"
    assert "mistral" not in lines
    everything = program.run("models", "list", "--all").out
    assert "mistral\tno key (MISTRAL_API_KEY)" in everything
    listed = json.loads(program.run("models", "list", "--json").out)
    assert listed[0]["role"] == "answers"
    assert "gsk-01" not in json.dumps(listed)


def test_nobody_is_chosen_and_nothing_is_made(program: Program, home: Path) -> None:
    done = program.run("models", "list")
    assert done.code == 0
    assert done.err.startswith("No model is set.")
    assert files_of(home) == {}


def _found(program: Program, address: str, *words: str) -> Outcome:
    """What was printed when the server was found."""
    for _ in range(10):
        done = program.run("models", "local", *words)
        if address in done.out:
            return done
    raise AssertionError(f"{address} was never found: {done.err}")


def test_servers_of_this_machine(program: Program) -> None:
    entry = {"id": "tiny", "owned_by": "vllm", "max_model_len": 4096}
    with LocalServerDouble({"/v1/models": {"data": [entry]}}) as server:
        # The look ends after a second: on a busy machine one of several has to succeed.
        port = ("--port", str(server.port))
        done = _found(program, server.base_url, *port)
        as_json = _found(program, server.base_url, "--json", *port)
    row = f"{server.base_url}\ttiny\t4,096\tvllm (small; 64,000 or more is recommended)"
    assert row in done.out.splitlines()
    assert "config set model.default" in done.err
    mine = [line for line in json.loads(as_json.out) if line["base_url"] == server.base_url]
    assert (mine[0]["id"], mine[0]["too_small"]) == ("tiny", True)
    assert program.run("models", "local", "--port", "0").code == 2


def test_the_chosen_model_is_tried(program: Program, configured: Path, server: ModelServer) -> None:
    before = files_of(configured)
    done = program.run("models", "test")
    assert done.code == 0
    assert done.out.startswith("“a-model” answered in ")
    assert server.requests[0].headers["Authorization"] == "Bearer k-123456"
    assert files_of(configured) == before


def test_another_address_is_tried_without_the_key(program: Program, configured: Path) -> None:
    with ModelServer() as other:
        done = program.run("models", "test", "fake-model", "--base-url", other.base_url)
        assert done.code == 0
        assert "Authorization" not in other.requests[0].headers


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("m", "--provider", "groq"), "The provider chosen here is groq; GROQ_API_KEY is not set."),
        (
            ("m", "--provider", "zzz"),
            "“zzz” is unknown. There is no entry with this name under custom_providers",
        ),
        (("m", "--base-url", "x"), "The address chosen here must consist of http:// or https://"),
        (("--base-url", "http://127.0.0.1:1/v1"), "You chose an address or a provider"),
    ],
)
def test_what_was_given_is_blamed_and_not_the_settings(
    program: Program, words: tuple[str, ...], said: str
) -> None:
    done = program.run("models", "test", *words)
    assert done.code == 1
    assert said in done.err
    assert "config.yaml" not in done.err


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (model_server.error(401, "no", code="invalid_api_key"), "rejected the key"),
        (model_server.error(404, "The model does not exist"), "was not found"),
        (model_server.html(200), "web page"),
    ],
)
def test_one_that_does_not_answer(
    program: Program, configured: Path, server: ModelServer, reply: model_server.Reply, word: str
) -> None:
    server.script(reply)
    done = program.run("models", "test")
    assert done.code == 1
    assert word in done.err
    assert "k-123456" not in done.err
    server.script(reply)
    answer = json.loads(program.run("models", "test", "--json").out)
    assert answer[0]["kind"] != "ok"


def test_nothing_to_try(program: Program) -> None:
    done = program.run("models", "test")
    assert done.code == 1
    assert "No model is set." in done.err
    unreachable = program.run("models", "test", "m", "--base-url", "http://127.0.0.1:1/v1")
    assert unreachable.code == 1
    assert "refused" in unreachable.err


def test_no_server_is_not_found_and_says_what_to_do(program: Program) -> None:
    with LocalServerDouble({"/v1/models": {"data": []}}) as server:
        gone = server.port
    done = program.run("models", "local", "--port", str(gone))

    if done.code == 0:  # a server that is not ours runs on one of the usual ports
        assert done.out
    else:
        assert (done.code, done.out) == (3, "")
        assert "ollama serve" in done.err
