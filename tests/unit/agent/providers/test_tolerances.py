"""What servers and gateways send beside the protocol: each row of the table, through real HTTP."""

import contextlib
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_desktop.agent.providers.answer import SseParser
from hermes_desktop.agent.providers.base import Reply, Retries, ask
from hermes_desktop.agent.providers.completion import (
    CompletionReader,
    EndpointError,
    NotACompletionError,
)
from hermes_desktop.agent.providers.endpoint import DialectCache
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.providers.tolerances import (
    ENDINGS,
    ERROR_SENTENCES,
    ERROR_SIGNS,
    MEDIA,
    MESSAGE_FIELDS,
    STATUS_FIELDS,
    TEXT_FIELDS,
    THINKING_FIELDS,
    Ending,
    Named,
)
from hermes_desktop.agent.types import (
    CallNote,
    ChatRequest,
    Finished,
    ModelChoice,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    TextRetracted,
)
from hermes_desktop.core.errors import (
    BrokenStreamError,
    ModelRefusedError,
    ProviderError,
    TooLongError,
)
from tests.fakes import model_server as fake
from tests.fakes.model_server import ModelServer

ONE: Any = ({"role": "user", "content": "Hello"},)
DONE = b"data: [DONE]\n\n"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as started:
        yield started


class Never:
    def is_set(self) -> bool:
        return False


def provider(
    url: str, book: DialectCache | None = None, model: str = "m"
) -> OpenAICompatibleProvider:
    choice = ModelChoice(model, url, None, "custom", "a test")
    return OpenAICompatibleProvider(choice, retries=Retries(count=1, base_s=0.0), dialects=book)


def asked(
    server: ModelServer, *steps: bytes, book: DialectCache | None = None
) -> tuple[Reply, list[str]]:
    """One question, answered by these bytes; the reply, and what the person was told."""
    told: list[str] = []

    def note(event: object) -> None:
        if isinstance(event, CallNote):
            told.append(event.text)

    with contextlib.closing(provider(server.base_url, book)) as model:
        server.responder = lambda _: fake.raw(steps)
        reply = ask(model, ChatRequest("m", ONE), Never(), on_note=note)
    return reply, told


def events_of(model: OpenAICompatibleProvider) -> list[StreamEvent]:
    with contextlib.closing(model):
        return joined(list(model.stream(ChatRequest("m", ONE), cancel=Never())))


def piece(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


def read(stream: bytes, *, cuts: list[int] = []) -> list[StreamEvent]:  # noqa: B006 - not changed
    """What a stream says that comes in these pieces; text and thinking joined."""
    parser, reader = SseParser(), CompletionReader()
    events: list[StreamEvent] = []
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for start, end in itertools.pairwise(edges):
        for event in parser.feed(stream[start:end]):
            events += reader.take(event)
    for event in parser.end():
        events += reader.take(event)
    return joined([*events, *reader.ending()])


def joined(events: list[StreamEvent]) -> list[StreamEvent]:
    found: list[StreamEvent] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            found[-1] = TextDelta(last.text + event.text)
        elif isinstance(event, ReasoningDelta) and isinstance(last, ReasoningDelta):
            found[-1] = ReasoningDelta(last.text + event.text, last.marked)
        else:
            found.append(event)
    return found


# ------------------------------------------------------------------------------ rows of the table


@pytest.mark.parametrize("field", THINKING_FIELDS, ids=lambda field: field.name)
@pytest.mark.parametrize(
    "thinking", ["hm", [{"type": "reasoning.text", "text": "hm"}], [{"thinking": "hm"}]]
)
def test_thinking_in_every_field(field: Named, thinking: Any) -> None:
    assert field.source
    stream = piece({field.name: thinking, "content": ""}) + piece({"content": "Hi"}, "stop")
    assert read(stream) == [ReasoningDelta("hm"), TextDelta("Hi"), Finished("stop")]


@pytest.mark.parametrize("field", TEXT_FIELDS, ids=lambda field: field.name)
@pytest.mark.parametrize("message", MESSAGE_FIELDS, ids=lambda message: message.name)
@pytest.mark.parametrize("content", ["Hi", [{"type": "text", "text": "H"}, "i"]])
def test_text_in_every_field(field: Named, message: Named, content: Any) -> None:
    choice = {"index": 0, message.name: {field.name: content}, "finish_reason": "stop"}
    whole = json.dumps({"choices": [choice]}).encode()
    wanted = [TextDelta("Hi"), Finished("stop")]
    assert read(b"data: " + whole + b"\n\n" + DONE) == wanted
    assert list(CompletionReader().take_whole(whole)) == wanted


def test_text_in_the_choice_itself() -> None:
    assert read(b'data: {"choices": [{"text": "Hi"}]}\n\n' + DONE) == [
        TextDelta("Hi"),
        Finished("stop"),
    ]


def test_thinking_among_the_parts_of_the_content() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    stream = piece({"content": parts}) + piece({"content": "Hi"}, "stop")
    assert read(stream) == [ReasoningDelta("hm"), TextDelta("Hi"), Finished("stop")]


@pytest.mark.parametrize("medium", MEDIA, ids=lambda medium: medium.name)
def test_what_cannot_be_shown_is_named(medium: Named) -> None:
    thing = {"url": "data:image/png;base64,AA==", "data": "AA=="}
    beside = piece({medium.name: [thing] if medium.name == "images" else thing}, "stop")
    among = piece({"content": [{"type": medium.name, medium.name: thing}]}, "stop")
    for stream in (beside, among):
        (text, end) = read(stream)
        assert isinstance(text, TextDelta)
        assert "which cannot be shown here" in text.text
        assert end == Finished("stop")


def test_a_picture_beside_words_and_a_spoken_text() -> None:
    stream = piece({"content": "Look:", "images": [{}, {}]}, "stop")
    assert read(stream)[0] == TextDelta(
        "Look:\n\n[The model sent 2 pictures, which cannot be shown here.]"
    )
    assert read(piece({"audio": {"transcript": "Hi", "data": "AA"}}, "stop"))[0] == TextDelta("Hi")


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.reason)
@pytest.mark.parametrize("case", [str.lower, str.upper], ids=["small", "capital"])
def test_every_ending(server: ModelServer, ending: Ending, case: Any) -> None:
    reply, told = asked(server, piece({"content": "First, "}), piece({}, case(ending.reason)), DONE)
    assert reply.text == "First, "
    if ending.means == "failed":
        assert isinstance(reply.error, BrokenStreamError)
        assert case(ending.reason) in reply.error.detail
        assert reply.finished is None
    else:
        assert reply.error is None
        assert reply.finished is not None
        assert reply.finished.finish_reason == ending.means
        assert told


def test_a_failed_ending_without_a_word_is_tried_again(server: ModelServer) -> None:
    server.script(fake.raw([piece({}, "error"), DONE]), fake.text("Hi"))
    events = events_of(provider(server.base_url))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hi"]


def test_calls_of_a_failed_answer_are_not_done(server: ModelServer) -> None:
    call = {"index": 0, "id": "a", "function": {"name": "terminal", "arguments": "{}"}}
    reply, _ = asked(server, piece({"tool_calls": [call]}), piece({}, "abort"), DONE)
    assert reply.finished is None
    assert isinstance(reply.error, BrokenStreamError)


SENTENCE = "The model has crashed (Exit code: 6)"
IN_A_STREAM = [
    {"error": SENTENCE},
    {"error": {"message": SENTENCE}},
    {"error": {"error": {"message": SENTENCE}, "message": SENTENCE}},
    {"errors": [{"code": 7, "message": SENTENCE}], "success": False},
    {"detail": SENTENCE},
    {"detail": [{"loc": ["body"], "msg": SENTENCE}]},
    {"message": SENTENCE, "code": 500},
    {"message": SENTENCE, "code": "InternalError"},
    {"object": "error", "message": SENTENCE, "type": "x"},
    {"type": "error", "error": {"type": "api_error", "message": SENTENCE}},
    {"base_resp": {"status_code": 1013, "status_msg": SENTENCE}, "choices": None},
    {"error_code": 336, "error_msg": SENTENCE},
    {"choices": [{"index": 0, "error": {"message": SENTENCE}, "finish_reason": "error"}]},
    {"choices": [{"index": 0, "delta": {}}], "error": {"message": SENTENCE}},
    [{"error": {"message": SENTENCE}}],
]


@pytest.mark.parametrize("payload", IN_A_STREAM, ids=json.dumps)
@pytest.mark.parametrize("frame", ["data", "event", "bare", "pretty", "whole"])
def test_an_error_in_every_shape_and_frame(server: ModelServer, payload: Any, frame: str) -> None:
    text = json.dumps(payload, indent=2 if frame == "pretty" else None)
    steps = {
        "data": f": ping\n\ndata: {text}\n\n",
        "event": f": ping\n\nevent: error\ndata: {text}\n\n",
        "bare": f": ping\n\n{text}",
        "pretty": f": ping\n\n{text}\n",
        "whole": text,
    }
    reply, _ = asked(server, steps[frame].encode())
    assert isinstance(reply.error, ModelRefusedError)
    assert SENTENCE in reply.error.detail


@pytest.mark.parametrize("sign", ERROR_SIGNS, ids=lambda sign: sign.name)
@pytest.mark.parametrize("sentence", ERROR_SENTENCES, ids=lambda sentence: sentence.name)
def test_every_sign_of_an_error(server: ModelServer, sign: Named, sentence: Named) -> None:
    inner = {sentence.name: SENTENCE, "status_code": 1013}
    reply, _ = asked(server, b"data: " + json.dumps({sign.name: inner}).encode() + b"\n\n")
    assert isinstance(reply.error, ModelRefusedError)
    assert SENTENCE in reply.error.detail


@pytest.mark.parametrize("field", STATUS_FIELDS, ids=lambda field: field.name)
@pytest.mark.parametrize("status", [401, "401"])
def test_a_status_in_the_body(server: ModelServer, field: Named, status: Any) -> None:
    error = {"error": {"message": "no", field.name: status}}
    reply, _ = asked(server, b"data: " + json.dumps(error).encode() + b"\n\n")
    assert reply.error is not None
    assert (reply.error.status, reply.error.reason) == (401, "auth")


@pytest.mark.parametrize(
    "frame",
    ["{}", "data: {}\n\n", "event: error\ndata: {}\n\n", ": ping\n\n{}"],
    ids=["whole", "data", "event", "bare"],
)
@pytest.mark.parametrize(
    "payload",
    [
        {"error": {"code": 400, "message": "no", "type": "exceed_context_size_error"}},
        {"error": "the input exceeds the available context size"},
        {"message": "This model's maximum context length is 4096 tokens", "code": 400},
    ],
    ids=["code", "words", "message"],
)
def test_too_long_a_context_in_a_stream(server: ModelServer, payload: Any, frame: str) -> None:
    reply, _ = asked(server, frame.replace("{}", json.dumps(payload)).encode())
    assert isinstance(reply.error, TooLongError)
    assert len(server.requests) == 1


def test_an_error_after_some_words_keeps_them(server: ModelServer) -> None:
    reply, _ = asked(server, piece({"content": "First, "}), b'{"error": "it crashed"}\n')
    assert reply.text == "First, "
    assert isinstance(reply.error, ProviderError)
    assert "it crashed" in reply.error.detail


# ------------------------------------------------------------------------------------- odd lines

KEEP_ALIVES = [
    b"data: : OPENROUTER PROCESSING\n\n",
    b"data: PROCESSING\n\n",
    b"data:\n\n",
    b"data: null\n\n",
    b"data: 1\n\n",
    b'data: "ping"\n\n',
    b"data: []\n\n",
    b"data: {}\n\n",
    b'data: {"type": "ping"}\n\n',
    b'data: {"choices": []}\n\n',
    b'data: {"choices": null}\n\n',
    b'data: {"choices": [], "prompt_filter_results": [{}]}\n\n',
    b"event: ping\ndata: {}\n\n",
    b"event: keep-alive\n\n",
    b": comment\n\n",
    b"OPENROUTER PROCESSING\n\n",
    b"retry: 3000\n\n",
    b"\r\n\r\n",
]


@pytest.mark.parametrize("odd", KEEP_ALIVES)
def test_an_odd_line_is_passed_over(server: ModelServer, odd: bytes) -> None:
    steps = (odd, piece({"role": "assistant", "content": "Hello "}), odd, piece({"content": "you"}))
    reply, _ = asked(server, *steps, odd, piece({}, "stop"), odd, DONE)
    assert (reply.text, reply.error) == ("Hello you", None)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "said",
    [b"data: Internal Server Error\n\n", b"upstream connect error\n", b'{"message": "no luck"}\n'],
)
def test_the_last_words_of_a_server_that_says_nothing_else_are_shown(
    server: ModelServer, said: bytes
) -> None:
    reply, _ = asked(server, b": ping\n\n", said)
    assert isinstance(reply.error, ProviderError)
    words = said.decode().removeprefix("data: ").strip().removeprefix('{"message": "').rstrip('"}')
    assert words in reply.error.detail


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"", b"\r\n\r\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False], ids=["with mark", "without"])
def test_line_ends_and_marks(server: ModelServer, start: bytes, end: str, *, last: bool) -> None:
    stream = piece({"content": "Hi "}) + piece({"content": "ü🙂"}, "stop") + (DONE if last else b"")
    reply, _ = asked(server, start + stream.replace(b"\n", end.encode()))
    assert (reply.text, reply.error) == ("Hi ü🙂", None)


def test_a_stream_that_ends_with_the_count_of_tokens(server: ModelServer) -> None:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\n'
    reply, _ = asked(server, piece({"content": "Hi"}), usage)
    assert reply.error is None
    assert reply.finished is not None
    assert reply.finished.input_tokens == 3
    reply, _ = asked(server, usage, piece({"content": "Hi"}))
    assert isinstance(reply.error, BrokenStreamError)


def test_a_stream_without_frames(server: ModelServer) -> None:
    lines = piece({"content": "Hi "}) + piece({"content": "you"}, "stop")
    reply, _ = asked(server, lines.replace(b"data: ", b"").replace(b"\n\n", b"\n"))
    assert (reply.text, reply.error) == ("Hi you", None)


def test_the_function_call_of_earlier_years() -> None:
    stream = piece({"function_call": {"name": "todo", "arguments": "{"}})
    stream += piece({"function_call": {"arguments": "}"}}, "function_call")
    end = read(stream)[-1]
    assert isinstance(end, Finished)
    assert [(call.name, call.arguments) for call in end.tool_calls] == [("todo", "{}")]


# ------------------------------------------------------------------------------------- thinking


def test_thinking_in_the_text_is_no_part_of_the_reply(server: ModelServer) -> None:
    steps = (piece({"content": "<thi"}), piece({"content": "nk>hm</think>\n\nHello!"}, "stop"))
    reply, _ = asked(server, *steps, DONE)
    assert (reply.text, reply.reasoning) == ("Hello!", "hm")


def test_an_end_of_thinking_alone_is_learnt_for_the_next_answer(server: ModelServer) -> None:
    book = DialectCache()
    steps = (piece({"content": "hm\n"}), piece({"content": "</think>\n\nHello!"}, "stop"), DONE)
    reply, _ = asked(server, *steps, book=book)
    assert (reply.text, reply.reasoning) == ("Hello!", "hm")
    events = events_of(provider(server.base_url, book))
    assert not any(isinstance(event, TextRetracted) for event in events)
    assert events[:2] == [ReasoningDelta("hm", marked=True), TextDelta("Hello!")]
    # And unlearnt, when the next one is a plain reply.
    asked(server, piece({"content": "Hi"}, "stop"), DONE, book=book)
    assert book.of(server.base_url, "m").begins_thinking is False


def test_a_model_known_by_its_name_shows_no_thinking_at_first(server: ModelServer) -> None:
    steps = (piece({"content": "hm\n"}), piece({"content": "</think>\n\nHello!"}, "stop"), DONE)
    server.script(fake.raw(steps))
    events = events_of(provider(server.base_url, model="Qwen/Qwen3-4B-Thinking-2507"))
    assert events[:2] == [ReasoningDelta("hm", marked=True), TextDelta("Hello!")]


def test_thinking_alone_is_shown_where_the_server_sent_it_apart(server: ModelServer) -> None:
    steps = (piece({"reasoning_content": "Forty-two."}), piece({"content": ""}, "stop"), DONE)
    reply, told = asked(server, *steps)
    assert (reply.text, reply.reasoning) == ("", "Forty-two.")
    assert reply.finished is not None
    assert reply.finished.instead == "Forty-two."
    assert told
    reply, _ = asked(server, piece({"content": "<think>hm"}, "stop"), DONE)
    assert (reply.text, reply.reasoning) == ("", "hm")
    assert reply.finished is not None
    assert "hm" not in reply.finished.instead
    assert reply.finished.instead


def test_what_broke_off_within_thinking_shows_none_of_it(server: ModelServer) -> None:
    reply, _ = asked(server, piece({"content": "<think>hm and"}), piece({"content": " so <"}))
    assert (reply.text, reply.reasoning) == ("", "hm and so <")
    assert isinstance(reply.error, BrokenStreamError)


# ------------------------------------------------------------------------------------ cut anywhere

RAW = (
    b'data: {"choices":[{"delta":{"content":"Hi \\ud83d"}}]}\n\n'
    b'data: {"choices":[{"delta":{"content":"\\ude00 there"}}]}\n\n'
    b'data: {"choices":[{"delta":{"reasoning":"\\ud83d"}}]}\n\n'
    b'data: {"choices":[{"delta":{"reasoning":"\\ude42"}, "finish_reason":"stop"}]}\n\n'
)


def test_a_character_cut_in_two_is_whole() -> None:
    assert read(RAW) == [
        TextDelta("Hi 😀 there"),
        ReasoningDelta("🙂"),
        Finished("stop"),
    ]
    half = b'data: {"choices":[{"delta":{"content":"Hi \\ud83d"},"finish_reason":"stop"}]}\n\n'
    assert read(half) == [TextDelta("Hi \ufffd"), Finished("stop")]


MIXED = (
    b"\xef\xbb\xbf: ping\r\n\r\ndata: : PROCESSING\n\n"
    + piece({"content": "<thi"})
    + piece({"content": "nk>hm ü🙂</th"})
    + b"upstream is slow\n"
    + piece({"content": "ink>\n\nHello `<think>` <"})
    + RAW[: RAW.index(b"\n\n", 80) + 2]
    + b'{"choices": [\n {"delta": {"content": "!"}, "finish_reason": "stop"}\n]}\n'
    + DONE
)


def test_a_mixed_stream_cut_at_every_byte() -> None:
    whole = read(MIXED)
    assert whole == [
        ReasoningDelta("hm ü🙂", marked=True),
        TextDelta("Hello `<think>` <Hi 😀 there!"),
        Finished("stop"),
    ]
    for cut in range(len(MIXED)):
        assert read(MIXED, cuts=[cut]) == whole


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(MIXED)), max_size=40))
def test_a_mixed_stream_in_any_pieces(cuts: list[int]) -> None:
    assert read(MIXED, cuts=cuts) == read(MIXED)


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "choices",
                        "delta",
                        "message",
                        "content",
                        "reasoning_details",
                        "images",
                        "tool_calls",
                        "error",
                        "code",
                        "usage",
                        "type",
                        "text",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_no_json_makes_the_reader_fail(payload: Any) -> None:
    data = b"data: " + json.dumps(payload).encode() + b"\n\n"
    with contextlib.suppress(EndpointError, NotACompletionError):
        assert isinstance(read(data)[-1], Finished)
    with contextlib.suppress(EndpointError, NotACompletionError):
        assert isinstance(read(b"event: error\n" + data)[-1], Finished)
