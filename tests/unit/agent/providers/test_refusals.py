"""What a refusal is about, in the words of several servers, and what is learnt from it."""

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from hermes_desktop.agent.providers.base import Retries
from hermes_desktop.agent.providers.endpoint import Dialect, DialectCache
from hermes_desktop.agent.providers.failures import is_too_long, reason_of
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.types import CallNote, ChatRequest, ModelChoice, StreamEvent, TextDelta
from hermes_desktop.core.errors import ModelRefusedError, ProviderError, TooLongError
from tests.fakes import model_server as fake
from tests.fakes.clock import MovableClock
from tests.fakes.model_server import ModelServer

ONE = ({"role": "user", "content": "Hello"},)
QUICK = Retries(count=2, base_s=0.01, longest_s=2.0)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "This model's maximum context length is 128000 tokens. However, your messages …"),
        (400, "the request exceeds the available context size. try increasing the context size"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed"),
        (400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model"),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096"),
        (400, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097"),
        (400, "However, the model is loaded with context length of only 4096 tokens"),
        (500, "prompt too long; exceeded max context length by 10 tokens"),
        (400, "Please reduce the length of the messages or completion."),
        (413, "Payload Too Large"),
    ],
)  # fmt: skip
def test_too_long_in_many_words(status: int, said: str) -> None:
    assert is_too_long(status, said, frozenset())


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (429, "Rate limit reached for tokens per minute (TPM): Limit 30000. Context length 4000"),
        (400, "max_tokens is too large: 32000. It supports at most 16384 completion tokens"),
        (400, "Unrecognized request argument: stream_options"),
    ],
)  # fmt: skip
def test_what_only_sounds_so(status: int, said: str) -> None:
    assert not is_too_long(status, said, frozenset())


@pytest.mark.parametrize(
    ("status", "said", "code", "reason"),
    [
        (401, "No auth", "", "auth"),
        (403, "Forbidden", "", "auth"),
        (400, "API key not valid. Please pass a valid API key.", "", "auth"),
        (400, "Incorrect API key provided: xx", "", "auth"),
        (402, "Insufficient Balance", "", "billing"),
        (429, "You exceeded your current quota", "insufficient_quota", "billing"),
        (400, "Your credit balance is too low to access the API.", "", "billing"),
        (429, "Slow down", "", "rate_limit"),
        (None, "Slow down", "rate_limit_exceeded", "rate_limit"),
        (404, "Not Found", "", "model_missing"),
        (400, "foo/bar is not a valid model ID", "", "model_missing"),
        (400, "Invalid model: foo", "", "model_missing"),
        (403, "Project does not have access to model x", "model_not_found", "model_missing"),
        (404, 'model "x" not found, try pulling it first', "", "model_missing"),
        (400, "The response was filtered", "content_filter", "policy"),
        (403, "x requires moderation, and your input was flagged", "", "policy"),
        (529, "Overloaded", "overloaded_error", "overload"),
        (503, "The engine is overloaded", "", "overload"),
        (500, "The server had an error", "", ""),
        (302, "", "", "address"),
        (400, "messages must alternate", "", ""),
    ],
)
def test_reasons(status: int | None, said: str, code: str, reason: str) -> None:
    assert reason_of(status, said, frozenset({code} - {""})) == reason


# ------------------------------------------------------------------------------- what is left out


def _provider(server: ModelServer, **options: object) -> OpenAICompatibleProvider:
    choice = ModelChoice(
        "fake-model", server.base_url, "sk-1234567", "custom", "t", reasoning_effort="high"
    )
    return OpenAICompatibleProvider(choice, retries=QUICK, **options)  # type: ignore[arg-type]


def _run(provider: OpenAICompatibleProvider, **fields: object) -> list[StreamEvent]:
    request = ChatRequest("fake-model", ONE, **fields)  # type: ignore[arg-type]
    try:
        return list(provider.stream(request, cancel=threading.Event()))
    finally:
        provider.close()


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("Unsupported parameter: 'reasoning_effort' is not supported.", "reasoning_effort"),
        ("Unknown parameter: reasoning_effort", "reasoning_effort"),
        ("registry.ollama.ai/library/x does not support tools", "tools"),
        ("No endpoints found that support tool use.", "tools"),
        ("[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options')}]", "stream_options"),
    ],
)
def test_a_refused_field_is_left_out_and_remembered_by_all(said: str, field: str) -> None:
    tools = ({"type": "function", "function": {"name": "f", "parameters": {}}},)
    book = DialectCache()
    with ModelServer() as server:
        server.script(fake.error(400, said))
        assert _run(_provider(server, dialects=book), tools=tools)
        assert [field in each.json for each in server.requests] == [True, False]
        assert _run(_provider(server, dialects=book), tools=tools)
        assert field not in server.requests[-1].json
        other = {"reasoning_effort", "tools", "stream_options"} - {field}
        assert other <= set(server.requests[-1].json)


def test_a_limit_that_is_too_high_is_lowered() -> None:
    said = "max_tokens is too large: 32000. This model supports at most 16384 completion tokens."
    with ModelServer() as server:
        server.script(fake.error(400, said))
        assert _run(_provider(server), max_tokens=32_000)
        assert [each.json["max_tokens"] for each in server.requests] == [32_000, 16_384]


def test_nothing_is_learnt_from_other_words() -> None:
    assert Dialect().after_refusal("messages must alternate") is None
    assert Dialect(reasoning=False).after_refusal("reasoning_effort unknown parameter") is None


def test_a_field_is_left_out_once_only() -> None:
    said = "Unsupported parameter: 'reasoning_effort'"
    with ModelServer() as server:
        server.script(*[fake.error(400, said)] * 3)
        with pytest.raises(ModelRefusedError):
            _run(_provider(server))
        assert len(server.requests) == 2


# ------------------------------------------------------------------------------------- waiting


def test_the_person_is_told_of_a_wait_by_seconds_and_by_date() -> None:
    clock = MovableClock()
    for by_date in (False, True):
        with ModelServer() as server:
            soon = datetime.now(UTC) + timedelta(seconds=4)
            value = format_datetime(soon, usegmt=True) if by_date else "1"
            server.script(fake.error(429, headers={"Retry-After": value}), fake.text("now"))
            events = _run(_provider(server, clock=clock))
        notes = [event for event in events if isinstance(event, CallNote)]
        assert notes[0].text.startswith(f"{server.host} asks to wait ")
        assert "retrying at " in notes[0].text
        assert notes[1] == CallNote("")
        assert events[-2] == TextDelta("now")


def test_a_short_pause_is_not_told() -> None:
    with ModelServer() as server:
        server.script(fake.error(500), fake.text("now"))
        assert not [e for e in _run(_provider(server)) if isinstance(e, CallNote)]


def test_a_wait_can_be_given_up_at_once() -> None:
    cancel = threading.Event()
    with ModelServer() as server:
        server.script(fake.error(429, headers={"Retry-After": "90"}))
        provider = _provider(server)
        events = provider.stream(ChatRequest("m", ONE), cancel=cancel)
        assert "1 min 30 s" in str(next(events))
        began = time.monotonic()
        timer = threading.Timer(0.05, cancel.set)
        timer.start()
        assert [event for event in events if event != CallNote("")] == []
        assert time.monotonic() - began < 5
        timer.join()
        provider.close()
        assert len(server.requests) == 1


def test_a_wait_that_is_too_long_is_told_as_a_refusal() -> None:
    with ModelServer() as server:
        server.script(fake.error(429, headers={"Retry-After": "121"}))
        with pytest.raises(ModelRefusedError) as caught:
            _run(_provider(server))
    assert caught.value.reason == "rate_limit"
    assert "121 seconds" in caught.value.hint


# ------------------------------------------------------------------------------ names and limits


def test_a_missing_model_is_told_with_its_neighbours() -> None:
    with ModelServer() as server:
        server.script(fake.error(404, "The model `fake-modle` does not exist"))
        choice = ModelChoice("fake-modle", server.base_url, None, "custom", "t")
        with pytest.raises(ModelRefusedError) as caught:
            _run(OpenAICompatibleProvider(choice, retries=QUICK))
    assert "Did you mean fake-model?" in caught.value.hint


def test_llama_cpp_tells_its_limit() -> None:
    payload = {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 9000,
            "n_ctx": 4096,
        }
    }
    with ModelServer() as server:
        body = json.dumps(payload).encode()
        server.script(fake.Reply([body], 400, {}, "application/json"))
        with pytest.raises(TooLongError) as caught:
            _run(_provider(server))
    assert "n_ctx 4096" in caught.value.detail


@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 520, 522, 524, 529])
def test_what_passes_is_tried_again(status: int) -> None:
    with ModelServer() as server:
        server.script(fake.error(status), fake.text("now"))
        assert TextDelta("now") in _run(_provider(server))


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 422, 451])
def test_what_does_not_pass_is_not(status: int) -> None:
    with ModelServer() as server:
        server.script(fake.error(status, "No."))
        with pytest.raises(ProviderError):
            _run(_provider(server))
        assert len(server.requests) == 1


def test_patience_as_the_settings_have_it() -> None:
    with ModelServer() as server:
        server.script(fake.hang(), fake.hang("Once"))
        choice = ModelChoice(
            "m", server.base_url, None, "custom", "t", request_timeout_s=0.2, stale_timeout_s=0.3
        )
        provider = OpenAICompatibleProvider(choice, retries=Retries(count=0))
        with pytest.raises(ProviderError, match=r"within 0\.2 s"):
            _run(provider)
        with pytest.raises(ProviderError, match="for a long time"):
            _run(provider)


def test_a_tool_call_that_the_server_cannot_read() -> None:
    said = "The model produced output that does not match the expected peg-native format."
    with ModelServer() as server:
        server.script(*[fake.error(500, said)] * 3)
        with pytest.raises(ModelRefusedError) as caught:
            _run(_provider(server))
    assert "could not read the output of its model" in caught.value.title
