"""The provider against our own server on loopback: nothing between them is replaced."""

import gzip
import itertools
import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_desktop.agent.providers import answer
from hermes_desktop.agent.providers.base import Retries, TimeOuts, ask
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.types import (
    ChatRequest,
    Finished,
    ModelChoice,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
)
from hermes_desktop.core.errors import (
    BrokenStreamError,
    CannotReachError,
    ModelRefusedError,
    ProviderError,
    TooLongError,
)
from tests.fakes import model_server as fake
from tests.fakes.connect_proxy import ConnectProxy
from tests.fakes.model_server import ModelServer

KEY = "sk-test-0123456789abcdef"
ONE = ({"role": "user", "content": "Hello"},)
QUICK = Retries(count=2, base_s=0.01, longest_s=2.0)
AT_MOST_S = 60.0


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def provider(
    base_url: str,
    *,
    key: str | None = KEY,
    timeouts: TimeOuts | None = None,
    retries: Retries = QUICK,
) -> OpenAICompatibleProvider:
    choice = ModelChoice("fake-model", base_url, key, "custom", "test")
    return OpenAICompatibleProvider(choice, timeouts=timeouts, retries=retries)


def run(
    asked: OpenAICompatibleProvider, cancel: threading.Event | None = None
) -> list[StreamEvent]:
    request = ChatRequest("fake-model", ONE)
    try:
        return list(asked.stream(request, cancel=cancel or threading.Event()))
    finally:
        asked.close()


def said(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def failure(base_url: str, kind: type[ProviderError], **options: object) -> ProviderError:
    with pytest.raises(kind) as caught:
        run(provider(base_url, **options))  # type: ignore[arg-type]
    assert caught.value.title.endswith(".")
    assert caught.value.detail
    assert caught.value.hint
    assert KEY not in str(caught.value)
    return caught.value


# ------------------------------------------------------------------------------------ what comes


def test_a_streamed_reply(server: ModelServer) -> None:
    server.script(fake.text("Grüße aus 東京 🙂", reasoning=["Let me", " see"]))
    events = run(provider(server.base_url))
    assert said(events) == "Grüße aus 東京 🙂"
    assert events[:2] == [ReasoningDelta("Let me"), ReasoningDelta(" see")]
    assert events[-1] == Finished("stop", 11, 7)


def test_what_is_sent(server: ModelServer) -> None:
    run(provider(server.base_url))
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.json["stream"] is True
    assert request.json["stream_options"] == {"include_usage": True}
    assert request.messages == list(ONE)
    assert list(request.json)[-1] == "messages"


def test_no_key_no_header(server: ModelServer) -> None:
    run(provider(server.base_url, key=None))
    assert "Authorization" not in server.requests[0].headers


def test_any_cut_of_the_bytes(server: ModelServer) -> None:
    stream = b": hi\n\n" + b"".join(fake.text("né 日本 🙂 x").steps)  # type: ignore[arg-type]
    asked = provider(server.base_url)
    for size in (1, 2, 3, 7, 50):
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        server.script(fake.raw(pieces))
        assert said(run(asked)) == "né 日本 🙂 x"


def test_the_end_is_known_by_the_mark_or_by_the_reason(server: ModelServer) -> None:
    reason = fake.event(fake.chunk(finish="length"))
    server.script(
        fake.raw([fake.event(fake.chunk("a")), fake.event("[DONE]")]),
        fake.raw([fake.event(fake.chunk("a")), reason]),
        fake.raw([fake.event(fake.chunk("a")), reason, fake.HANG]),
        fake.raw([fake.event(fake.chunk("a")), fake.event("[DONE]"), fake.HANG]),
        fake.raw([fake.event(fake.chunk("a")), reason, b"data: {broken\n\n"]),
        fake.raw([fake.event(fake.chunk("a")), reason, fake.CUT]),
    )
    reasons = []
    for _ in range(6):
        events = run(provider(server.base_url, timeouts=TimeOuts(after_end=0.2)))
        assert said(events) == "a"
        reasons.append(events[-1].finish_reason)  # type: ignore[union-attr]
    assert reasons == ["stop", "length", "length", "stop", "length", "length"]


def test_an_answer_in_one_piece(server: ModelServer) -> None:
    server.script(fake.whole("All at once.", reasoning="hm"))
    events = run(provider(server.base_url))
    assert events == [ReasoningDelta("hm"), TextDelta("All at once."), Finished("stop", 11, 7)]


def test_a_connection_is_used_again(server: ModelServer) -> None:
    asked = provider(server.base_url)
    request = ChatRequest("fake-model", ONE)
    wires = []
    for _ in range(3):
        assert said(list(asked.stream(request, cancel=threading.Event())))
        wires.append(asked._endpoint._idle)
    assert wires[0] is not None
    assert wires[0] is wires[1] is wires[2]
    asked.close()
    asked.close()
    assert said(run(asked))


def test_two_calls_at_once(server: ModelServer) -> None:
    server.responder = lambda _request: fake.text("a b c d e", delay=0.02)
    asked = provider(server.base_url)
    replies: list[str] = []
    threads = [threading.Thread(target=lambda: replies.append(said(run(asked)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == ["a b c d e"] * 4


# ------------------------------------------------------------------------- what an endpoint lacks


def test_without_usage_when_it_is_refused(server: ModelServer) -> None:
    server.script(fake.error(400, "Unrecognized request argument: stream_options"))
    asked = provider(server.base_url)
    assert said(run(asked)) == "You said: Hello"
    assert [("stream_options" in each.json) for each in server.requests] == [True, False]
    run(asked)
    assert "stream_options" not in server.requests[-1].json


def test_without_streaming_when_it_is_refused(server: ModelServer) -> None:
    server.script(
        fake.error(400, "x" * 400 + " streaming is not supported by this model"), fake.whole("ok")
    )
    assert said(run(provider(server.base_url))) == "ok"
    assert "stream" not in server.requests[-1].json


def test_other_name_of_the_limit(server: ModelServer) -> None:
    server.script(fake.error(400, "Use 'max_completion_tokens' instead of 'max_tokens'."))
    asked = provider(server.base_url)
    list(asked.stream(ChatRequest("fake-model", ONE, 50), cancel=threading.Event()))
    asked.close()
    assert server.requests[0].json["max_tokens"] == 50
    assert server.requests[1].json["max_completion_tokens"] == 50


# --------------------------------------------------------------------------------- cannot reach


def test_refused() -> None:
    with fake.refused_address() as address:
        error = failure(address, CannotReachError)
    assert "refused" in error.detail


def test_no_such_host() -> None:
    error = failure("http://no-such-host.invalid/v1", CannotReachError)
    assert "no-such-host.invalid" in error.detail


def test_no_first_byte(server: ModelServer) -> None:
    server.script(fake.hang())
    error = failure(server.base_url, CannotReachError, timeouts=TimeOuts(first_byte=0.2))
    assert "0.2 s" in error.detail
    assert len(server.requests) == 1
    assert server.requests[0].client_gone.wait(AT_MOST_S)


def test_https_at_a_plain_port(server: ModelServer) -> None:
    error = failure(server.base_url.replace("http", "https"), CannotReachError)
    assert "encrypted" in error.detail
    assert not server.requests


def test_a_certificate_nobody_vouches_for(self_signed: Path) -> None:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed)
    with ModelServer(tls=context) as server:
        error = failure(server.base_url, CannotReachError)
        assert "self-signed certificate" in error.detail
        assert not server.requests


def test_https_with_a_trusted_certificate(
    self_signed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ssl

    monkeypatch.setenv("SSL_CERT_FILE", str(self_signed))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed)
    with ModelServer(tls=context) as server:
        server.script(fake.text("secret words"), fake.hang("x"))
        asked = provider(server.base_url)
        assert said(run(asked)) == "secret words"
        cancel = threading.Event()
        events = asked.stream(ChatRequest("m", ONE), cancel=cancel)
        assert next(events) == TextDelta("x")
        cancel.set()
        assert list(events) == []
        assert server.requests[-1].client_gone.wait(AT_MOST_S)


def test_proxies_of_the_environment(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake.refused_address() as nowhere:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, nowhere.removesuffix("/v1"))
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        # This machine itself is asked directly, another host through the proxy.
        assert said(run(provider(server.base_url)))
        error = failure("http://model.example/v1", CannotReachError)
        assert "refused" in error.detail


def test_a_proxy_that_makes_no_sense(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "socks9://nowhere")
    error = failure("http://model.example/v1", CannotReachError)
    assert "PROXY" in error.hint


@pytest.mark.parametrize("no_proxy", ["fe80::/10", "[::1]", "http://x:y", "::1/128,10.0.0.0/8"])
def test_odd_exceptions_from_proxies_cost_no_answer(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, no_proxy: str
) -> None:
    with ConnectProxy(status="403 Forbidden") as proxy:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.setenv(name, no_proxy)
        error = failure("http://model.example/v1", ProviderError)
        assert said(run(provider(server.base_url)))
    assert "http://model.example/v1/chat/completions" in proxy.seen[0][0]
    assert error.status == 403


@pytest.mark.parametrize("key", ["sk-with\nline-break", "sk-with-ü-and-日本"])
def test_a_key_that_cannot_be_sent(
    server: ModelServer, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(CannotReachError) as caught:
        run(provider(server.base_url, key=key))
    assert key not in str(caught.value)
    assert key not in caplog.text
    assert "key" in caught.value.hint
    assert "U+" in caught.value.detail
    assert not server.requests


# -------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize("status", [401, 403])
def test_the_key_is_refused(server: ModelServer, status: int) -> None:
    server.script(fake.error(status, f"Incorrect API key provided: {KEY}.", code="invalid_api_key"))
    error = failure(server.base_url, ModelRefusedError)
    assert error.status == status
    assert "key" in error.title
    assert len(server.requests) == 1


def test_a_key_is_wanted(server: ModelServer) -> None:
    server.script(fake.error(401, "No auth."))
    error = failure(server.base_url, ModelRefusedError, key=None)
    assert "requires a key" in error.title


def test_no_such_model(server: ModelServer) -> None:
    server.script(fake.error(404, "The model does not exist"))
    error = failure(server.base_url, ModelRefusedError)
    assert "fake-model" in error.title
    assert "/v1" in error.hint


def test_asking_again_after_429(server: ModelServer) -> None:
    server.script(fake.error(429, headers={"Retry-After": "0.05"}), fake.text("now"))
    assert said(run(provider(server.base_url))) == "now"
    assert len(server.requests) == 2


def test_429_for_longer_than_we_wait(server: ModelServer) -> None:
    server.script(fake.error(429, "Slow down", headers={"Retry-After": "3600"}))
    error = failure(server.base_url, ModelRefusedError)
    assert "3600 seconds" in error.hint
    assert len(server.requests) == 1


def test_429_without_credit(server: ModelServer) -> None:
    server.script(fake.error(429, "You exceeded your quota", code="insufficient_quota"))
    error = failure(server.base_url, ModelRefusedError)
    assert "credit" in error.title
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_its_own_problem_is_tried_again(server: ModelServer, status: int) -> None:
    server.script(*[fake.error(status, "The server had an error")] * 3)
    error = failure(server.base_url, ModelRefusedError)
    assert error.status == status
    assert len(server.requests) == 3


def test_a_web_page(server: ModelServer) -> None:
    server.script(fake.html(), fake.html(404), fake.html(502), fake.text("back"))
    assert "web page" in failure(server.base_url, ModelRefusedError).title
    assert "web page" in failure(server.base_url, ModelRefusedError).title
    assert said(run(provider(server.base_url))) == "back"


def test_a_redirect_is_not_followed(server: ModelServer) -> None:
    with ModelServer() as other:
        server.script(fake.Reply(status=307, headers={"Location": other.base_url}))
        error = failure(server.base_url, ModelRefusedError)
        assert other.base_url in error.hint
        assert not other.requests


def test_an_error_in_another_shape(server: ModelServer) -> None:
    server.script(
        fake.Reply([b'{"detail": "Bad\\nthing"}'], 400, {}, "application/json"),
        fake.Reply([b'[{"error": {"message": "In a list"}}]'], 400, {}, "application/json"),
        fake.Reply([b"\x00just\x1b[31m text " + b"y" * 5000], 400, {}, "text/plain"),
        fake.Reply([], 400),
    )
    assert "Bad thing" in failure(server.base_url, ModelRefusedError).detail
    assert "In a list" in failure(server.base_url, ModelRefusedError).detail
    long = failure(server.base_url, ModelRefusedError).detail
    assert "just [31m text" in long
    assert len(long) < 400
    assert "nothing" in failure(server.base_url, ModelRefusedError).detail


# ------------------------------------------------------------------------------------- too long


@pytest.mark.parametrize(
    "reply",
    [
        fake.error(400, "Please shorten", code="context_length_exceeded"),
        fake.error(400, "the request exceeds", kind="exceed_context_size_error"),
        fake.error(400, "This model's maximum context length is 4096 tokens."),
        fake.error(413, "Payload"),
        fake.error(422, "prompt is too long: 9 tokens > 8"),
        fake.raw([fake.event({"error": {"message": "x", "code": "context_length_exceeded"}})]),
    ],
)
def test_too_long(server: ModelServer, reply: fake.Reply) -> None:
    server.script(reply)
    error = failure(server.base_url, TooLongError)
    assert "too long" in error.title
    assert len(server.requests) == 1


def test_a_limit_of_tokens_per_minute_is_not_too_long(server: ModelServer) -> None:
    server.script(*[fake.error(429, "Request too large: too many tokens per minute")] * 3)
    failure(server.base_url, ModelRefusedError)


# ------------------------------------------------------------------------------------ broken off


def collect(asked: OpenAICompatibleProvider) -> tuple[str, ProviderError | None]:
    """Text that was handed on, and how it ended."""
    reply = ask(asked, ChatRequest("m", ONE), threading.Event())
    asked.close()
    return reply.text, reply.error


@pytest.mark.parametrize(
    "reply",
    [
        fake.cut_after("one two three", 2),
        fake.ends_early("one two"),
        fake.raw([fake.event(fake.chunk("one two")), b"data: {garbage\n\n"]),
        fake.raw([fake.event(fake.chunk("one two")), b'data: {"choices": ["x"]}\n\n']),
        fake.raw([fake.event(fake.chunk("one two")), b'data: {"choices": [{"del']),
        fake.hang("one two"),
    ],
)
def test_broken_off_after_some_words(server: ModelServer, reply: fake.Reply) -> None:
    server.script(reply)
    text, error = collect(provider(server.base_url, timeouts=TimeOuts(between=0.3)))
    assert text == "one two"
    assert isinstance(error, BrokenStreamError)
    # What was shown must not come twice.
    assert len(server.requests) == 1


def test_an_error_in_the_middle(server: ModelServer) -> None:
    inner = fake.event({"error": {"message": "Overloaded", "code": 502}})
    server.script(fake.raw([fake.event(fake.chunk("one")), inner]))
    text, error = collect(provider(server.base_url))
    assert text == "one"
    assert isinstance(error, ModelRefusedError)
    assert "Overloaded" in error.detail


def test_broken_off_before_any_word_is_tried_again(server: ModelServer) -> None:
    server.script(fake.drop(), fake.raw([b": wait\n\n", fake.CUT]), fake.text("third time"))
    assert collect(provider(server.base_url)) == ("third time", None)


@pytest.mark.parametrize("body", [b"", b"   ", b"{}", b"[]", b'{"choices": []}', b"hello"])
def test_nonsense_instead_of_a_reply(server: ModelServer, body: bytes) -> None:
    server.responder = lambda _request: fake.raw([body])
    text, error = collect(provider(server.base_url))
    assert text == ""
    assert isinstance(error, BrokenStreamError)


# ---------------------------------------------------------------------------------------- cancel


@pytest.mark.parametrize(
    "reply",
    [
        fake.hang(),
        fake.hang("x"),
        fake.raw([b": alive\n\n", fake.HANG]),
        fake.error(429, headers={"Retry-After": "1.5"}),
        fake.text("a " * 2000, delay=0.01),
    ],
    ids=["no first byte", "in the middle", "keep-alive only", "pause", "streaming"],
)
def test_cancel(server: ModelServer, reply: fake.Reply) -> None:
    server.script(reply)
    cancel = threading.Event()
    asked = provider(server.base_url)
    ended = threading.Event()
    events: list[StreamEvent] = []

    def run_it() -> None:
        events.extend(asked.stream(ChatRequest("m", ONE), cancel=cancel))
        ended.set()

    thread = threading.Thread(target=run_it)
    thread.start()
    server.wait_for_requests(1)
    cancel.set()
    assert ended.wait(AT_MOST_S)
    thread.join()
    assert not any(isinstance(event, Finished) for event in events)
    if fake.HANG in (*reply.before_head, *reply.steps):
        assert server.requests[0].client_gone.wait(AT_MOST_S)
    # The next question is not hurt.
    assert said(run(asked)) == "You said: Hello"


def test_cancelled_before_it_began(server: ModelServer) -> None:
    cancel = threading.Event()
    cancel.set()
    assert run(provider(server.base_url), cancel) == []
    assert not server.requests


def test_a_closed_iterator_gives_the_call_up(server: ModelServer) -> None:
    server.script(fake.hang("x"))
    events = provider(server.base_url).stream(ChatRequest("m", ONE), cancel=threading.Event())
    assert next(events) == TextDelta("x")
    events.close()  # type: ignore[attr-defined]
    assert server.requests[0].client_gone.wait(AT_MOST_S)


def test_no_thread_stays(server: ModelServer) -> None:
    server.script(fake.hang(), fake.hang("x"), fake.error(500), fake.cut_after("a b", 1))
    asked = provider(server.base_url, timeouts=TimeOuts(first_byte=0.2, between=0.2))
    for _ in range(4):
        collect(asked)
    deadline = time.monotonic() + AT_MOST_S
    while time.monotonic() < deadline:
        if not any(thread.name == "model-call" for thread in threading.enumerate()):
            return
        threading.Event().wait(0.02)
    pytest.fail("a call's thread still runs")


# --------------------------------------------------------------------------------------- retries


def test_pauses_grow_and_are_bounded(server: ModelServer) -> None:
    numbers = itertools.cycle([0.0, 1.0])
    asked = OpenAICompatibleProvider(
        ModelChoice("m", server.base_url, KEY, "custom", "test"),
        retries=Retries(count=9, base_s=0.5, longest_s=4.0),
        random_source=lambda: next(numbers),
    )
    failed = asked._failures.unreachable("x")
    assert [asked._pause(failed, count) for count in range(5)] == [0.5, 1.5, 2.0, 6.0, 4.0]
    assert asked._pause(failed, 9) is None


def test_no_secret_in_the_log(server: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "hermes_desktop")
    server.script(
        fake.error(500, f"key {KEY}"),
        fake.error(400, f"stream_options {KEY}"),
        fake.error(401, KEY),
    )
    failure(server.base_url, ModelRefusedError)
    assert len(server.requests) == 3
    ours = [each.getMessage() for each in caplog.records if each.name.startswith("hermes_desktop")]
    assert ours
    assert KEY not in json.dumps(ours)
    assert KEY not in repr(ModelChoice("m", server.base_url, KEY, "custom", "test"))


def test_a_reply_without_an_end(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would fill memory and disk; comments, which nobody hears, as well as words."""
    monkeypatch.setattr(answer, "_LONGEST_STREAM", 100_000)
    for piece in (fake.event(fake.chunk("and on ")), b": still here\n\n"):
        begun = fake.event(fake.chunk("It goes on "))
        server.script(fake.raw([begun, *([piece * 100] * 1000)]))
        assert "no end" in failure(server.base_url, BrokenStreamError).detail


def test_an_answer_that_unpacks_to_very_much(server: ModelServer) -> None:
    packed = gzip.compress(b"\n" * 200_000_000)
    double = fake.Reply([gzip.compress(packed)], headers={"Content-Encoding": "gzip, gzip"})
    server.script(double)
    assert "decompressed" in failure(server.base_url, BrokenStreamError).detail
    server.script(fake.Reply([packed], headers={"Content-Encoding": "gzip"}))
    patience = TimeOuts(first_byte=0.5)
    failure(server.base_url, ProviderError, timeouts=patience, retries=Retries(count=0))
