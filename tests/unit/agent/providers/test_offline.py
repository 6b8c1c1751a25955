import threading

import pytest
from markdown_it import MarkdownIt

from hermes_desktop.agent.providers.offline import (
    LABEL,
    OFFLINE_CHOICE,
    OfflineProvider,
    script_for,
)
from hermes_desktop.agent.types import ChatRequest, Finished, StreamEvent, TextDelta

QUESTIONS = ("Hello", "write some code", "compare them in a table", "make a plan")


def ask(question: str, **options: object) -> list[StreamEvent]:
    provider = OfflineProvider(delay_s=0, **options)  # type: ignore[arg-type]
    messages = ({"role": "system", "content": "x"}, {"role": "user", "content": question})
    return list(provider.stream(ChatRequest("m", messages), cancel=threading.Event()))


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_says_that_no_model_was_asked(question: str) -> None:
    events = ask(question)
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text == f"{LABEL}\n\n{script_for(question)}"
    assert "No model was asked" in text
    assert events[-1] == Finished("stop")
    assert events == ask(question)
    assert len(events) > 20


def test_all_kinds_of_blocks_occur() -> None:
    kinds = {
        token.type
        for question in QUESTIONS
        for token in MarkdownIt("commonmark").enable("table").parse(script_for(question))
    }
    assert {"fence", "table_open", "bullet_list_open", "ordered_list_open"} <= kinds


def test_the_plain_reply_has_a_block_a_list_and_a_table() -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(script_for("Hello"))
    assert {"fence", "table_open", "bullet_list_open"} <= {token.type for token in tokens}


def test_its_name_and_a_reply_of_ones_own() -> None:
    assert OFFLINE_CHOICE.model == "offline-demo"
    assert OFFLINE_CHOICE.api_key is None
    assert "".join(e.text for e in ask("x", reply="Mine") if isinstance(e, TextDelta)).endswith(
        "Mine"
    )


def test_cancel() -> None:
    cancel = threading.Event()
    events = OfflineProvider(delay_s=0.001).stream(ChatRequest("m", ()), cancel=cancel)
    next(events)
    cancel.set()
    assert list(events) == []
