"""Fills a home through the public methods of the real SessionDB. Run with its interpreter."""

import json
import sys
from pathlib import Path

from hermes_state import SessionDB

DB = SessionDB(Path(sys.argv[1]))
PICTURE = [
    {"type": "text", "text": "look at this"},
    {"type": "image_url", "image_url": {"url": "x"}},
]


def session(name, source="cli", *, texts=("hello", "hi there"), title=None, end=None, **fields):
    DB.create_session(name, source, model="model-x", system_prompt="You are Hermes.", **fields)
    for number, text in enumerate(texts):
        role = ("user", "assistant")[number % 2]
        DB.append_message(name, role, text, finish_reason="stop" if number % 2 else None)
    if title:
        DB.set_session_title(name, title)
    if end:
        DB.end_session(name, end)


def main():
    session("20260101_000001_aaaaaa", title="Plain & simple", end="cli_close", cwd="/home/u/one")
    session("20260101_000002_aaaaaa", "telegram", texts=(), chat_id="5", user_id="7")
    session("20260101_000003_aaaaaa", "tool")
    chains()
    relatives()
    contents()
    print(json.dumps({"sessions": DB.session_count()}))
    DB.close()


def chains():
    for chain, source in (("b", "cli"), ("c", "telegram")):
        parent = None
        for number in range(3):
            name = f"20260102_00000{number}_{chain * 6}"
            title = DB.get_next_title_in_lineage(f"Chain {chain}")
            texts = (f"segment {number}", "answer", "question", "answer")
            end = "compression" if number < 2 else None
            session(name, source, texts=texts, title=title, end=end, parent_session_id=parent)
            parent = name


def relatives():
    origin = "20260103_000001_dddddd"
    session(origin, title="Origin", end="branched")
    mark = {"_branched_from": origin}
    session(
        "20260103_000002_dddddd", parent_session_id=origin, model_config=mark, title="Origin #2"
    )
    session("20260103_000003_dddddd", parent_session_id=origin)
    mark = {"_delegate_from": origin, "max_iterations": 90}
    session("20260103_000004_dddddd", "subagent", parent_session_id=origin, model_config=mark)
    session("20260103_000005_dddddd", "subagent", model_config={"_delegate_from": "__orphaned__"})
    session("20260103_000006_dddddd", title="Put away")
    DB.set_session_archived("20260103_000006_dddddd", True)


def contents():
    name = "20260104_000001_eeeeee"
    session(name, texts=("  first\r\nline " + "word " * 30, "ok"), title="Ünï — 旅行")
    DB.append_message(name, "user", PICTURE)
    calls = [{"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]
    DB.append_message(name, "assistant", "", tool_calls=calls, reasoning="hm", reasoning_content="")
    DB.append_message(name, "tool", '{"output": "x"}', tool_call_id="c1", tool_name="t")
    DB.append_message(name, "user", "<memory-context>m</memory-context> and  then", observed=True)
    DB.append_message(name, "session_meta")
    DB.update_token_counts(name, 10, 5, model="model-x", billing_provider="p", api_call_count=1)
    name = "20260104_000002_eeeeee"
    session(name, texts=("one", "two", "three", "four"))
    DB.rewind_to_message(name, DB.get_messages(name)[2]["id"])
    name = "20260104_000003_eeeeee"
    session(name, texts=("one", "two", "three", "four"))
    DB.archive_and_compact(name, [{"role": "user", "content": "summary"}])
    DB.append_message(name, "assistant", "going on")


main()
