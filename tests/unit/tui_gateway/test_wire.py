"""What stands on the wire: lines, frames, parameters, order."""

import io
import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.tui_gateway import protocol, server, transport
from hermes_desktop.tui_gateway.dispatching import Dispatcher, WorkQueue
from hermes_desktop.tui_gateway.methods import methods
from hermes_desktop.tui_gateway.protocol import Code, Params, RpcError
from hermes_desktop.tui_gateway.transport import (
    TOO_LONG,
    ListeningSocket,
    StreamTransport,
    Subscribers,
    read_lines,
)
from tests.fakes.rpc_server import PATIENCE_S, Peer


@given(st.binary(max_size=200), st.integers(1, 20))
def test_lines_are_those_of_the_bytes(data: bytes, piece: int) -> None:
    stream = io.BytesIO(data)
    wanted = data.split(b"\n")
    if not wanted[-1]:
        wanted.pop()

    assert list(read_lines(lambda _: stream.read(piece))) == wanted


def test_a_line_that_is_too_long_is_skipped_and_nothing_else() -> None:
    stream = io.BytesIO(b"a" * 10 + b"\n" + b"b" * 50 + b"\nok\n" + b"c" * 11 + b"\nend")

    found = list(read_lines(lambda _: stream.read(7), most_bytes=10))

    assert found == [b"a" * 10, TOO_LONG, b"ok", TOO_LONG, b"end"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_any_value_is_one_line_of_utf_8(value: Any) -> None:
    line = protocol.encode(protocol.response(1, value))

    assert line.count(b"\n") == 1
    assert json.loads(line.decode("utf-8"))["id"] == 1


@given(st.binary(max_size=60))
def test_decoding_answers_or_says_that_it_is_no_json(data: bytes) -> None:
    codes: list[Code] = []
    try:
        protocol.decode(data)
    except RpcError as error:
        codes.append(error.code)

    assert codes in ([], [Code.PARSE])


def test_halves_of_characters_do_not_stop_the_wire() -> None:
    assert b"?" in protocol.encode(protocol.event("error", None, {"message": "\ud800"}))


@pytest.mark.parametrize(
    ("value", "code"), [(5, 4004), ([], 4004), ("  ", 4021), (None, 4021), ("\ud800x", None)]
)
def test_texts(value: object, code: int | None) -> None:
    params = Params({"title": value})
    if code is None:
        assert params.text("title") == "\ufffdx"
        return
    with pytest.raises(RpcError) as caught:
        params.text("title", missing=Code.TITLE_REQUIRED)
    assert caught.value.code == code


@pytest.mark.parametrize("value", ["a", True, 1.5, float("inf"), {}])
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(RpcError) as caught:
        Params({"limit": value}).number("limit", default=1, low=1, high=5)
    assert caught.value.code == 4004


def test_numbers_are_brought_into_bounds() -> None:
    found = [
        Params({"limit": each}).number("limit", default=2, low=1, high=5)
        for each in (None, -7, 3, 3.0, 2**80)
    ]

    assert found == [2, 1, 3, 3, 5]


def test_work_of_one_thread_is_done_in_order() -> None:
    done: list[int] = []
    queue = WorkQueue()
    for number in range(1000):
        queue.add(lambda number=number: done.append(number))  # type: ignore[misc]
    queue.finish()

    assert done == list(range(1000))


def test_what_must_not_wait_is_answered_before_what_does() -> None:
    going_on, begun = threading.Event(), threading.Event()
    peer = Answers()

    def handle(request: Any) -> protocol.Frame:
        if request["method"] == "session.history":
            begun.set()
            assert going_on.wait(PATIENCE_S)
        return protocol.response(request["id"], None)

    dispatcher = Dispatcher(handle, peer)
    dispatcher.take(b'{"id": 1, "method": "session.history"}')
    assert begun.wait(PATIENCE_S)
    dispatcher.take(b'{"id": 2, "method": "session.interrupt"}')

    assert [each["id"] for each in peer.frames] == [2]
    going_on.set()
    dispatcher.serve([b'{"id": 3, "method": "session.title"}'])
    assert [each["id"] for each in peer.frames] == [2, 1, 3]


def test_who_gives_no_id_waits_for_no_answer() -> None:
    peer = Answers()
    dispatcher = Dispatcher(server.handle_request, peer)
    for line in (
        b'{"method": "nope"}',
        b'{"method": "nope", "params": [1]}',
        b'{"jsonrpc": "2.0"}',
        b'{"id": null, "method": "nope"}',
        b'{"id": 1, "method": "nope"}',
    ):
        dispatcher.take(line)
    dispatcher.serve([])

    answers = [(each["id"], each["error"]["code"]) for each in peer.frames]
    assert answers == [(None, -32600), (None, -32601), (1, -32601)]


def test_an_id_that_could_not_be_said_again_is_none() -> None:
    answer = server.handle_request(protocol.decode(b'{"id": 1e400, "method": "nope"}'))

    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


class Answers(Peer):
    """A peer that only gets answers."""


def test_methods_that_are_treated_apart_exist() -> None:
    assert set(methods.METHODS) >= methods.AT_ONCE | methods.SLOW


def test_who_is_gone_is_dropped() -> None:
    audience, here, gone = Subscribers(), Peer(), Peer()
    audience.add(here)
    audience.add(gone)
    audience.add(gone)
    gone.alive = False

    assert audience.write({"params": {"type": "x"}})
    assert audience.write({"params": {"type": "y"}})

    assert here.kinds() == ["x", "y"]
    assert gone.kinds() == ["x"]
    here.alive = False
    assert not audience.write({"params": {"type": "z"}})


def test_a_stream_whose_reader_is_gone_says_so_once() -> None:
    told: list[str] = []
    reader, writer = os.pipe()
    peer = StreamTransport(writer, on_gone=lambda: told.append("gone"))
    assert peer.write({"a": 1})
    os.close(reader)

    assert not peer.write({"a": 2})
    assert not peer.write({"a": 3})

    assert told == ["gone"]
    assert not peer.alive
    os.close(writer)


def test_a_peer_that_does_not_read_is_let_go(
    short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MOST_UNREAD_BYTES", 2_000_000)
    listening = ListeningSocket(short_folder / "s")
    with socket.socket(socket.AF_UNIX) as lazy:
        lazy.connect(str(short_folder / "s"))
        peer = listening.accept()
        assert peer is not None
        frame = {"text": "x" * 100_000}

        assert any(not peer.write(frame) for _ in range(100))

        assert not peer.alive
        peer.close()
    listening.close()
    assert not (short_folder / "s").exists()
