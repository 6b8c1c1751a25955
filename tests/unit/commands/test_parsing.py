"""What counts as a command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_desktop.commands.parsing import TypedCommand, parse_command, take_flags, take_option


@pytest.mark.parametrize(
    ("text", "prefix", "expected"),
    [
        ("/help", "/", TypedCommand("help")),
        ("/Help", "/", TypedCommand("help")),
        ("/help@my_bot", "/", TypedCommand("help")),
        ("/help@my_bot  me ", "/", TypedCommand("help", "me")),
        ("/model x —global", "/", TypedCommand("model", "x --global")),
        ("/undo\n2", "/", TypedCommand("undo", "2")),
        ("/queue one\n two", "/", TypedCommand("queue", "one\n two")),
        ("/set-home", "/", TypedCommand("set-home")),
        ("/reload_mcp", "/", TypedCommand("reload_mcp")),
        ("/über", "/", TypedCommand("über")),
        ("!help", "!", TypedCommand("help", prefix="!")),
        ("/help", "!", TypedCommand("help")),
        ("!help", "/", None),
        ("/etc/hosts is empty", "/", None),
        ("/", "/", None),
        ("/ help", "/", None),
        ("//x", "/", None),
        ("/?", "/", None),
        ("/-x", "/", None),
        ("/@bot", "/", None),
        (" /help", "/", None),
        ("help", "/", None),
        ("", "/", None),
        ("/a.b", "/", None),
    ],
)
def test_examples(text: str, prefix: str, expected: TypedCommand | None) -> None:
    assert parse_command(text, prefix) == expected


@given(st.text(max_size=80), st.sampled_from(["/", "!", ""]))
def test_any_text_is_taken_apart_without_loss_of_sense(text: str, prefix: str) -> None:
    typed = parse_command(text, prefix)
    if typed is None:
        return
    assert text.startswith(typed.prefix)
    assert typed.prefix in {"/", prefix}
    assert typed.name
    assert "/" not in typed.name
    assert "@" not in typed.name
    assert not any(sign.isspace() for sign in typed.name)
    assert typed.args == typed.args.strip()
    assert not set("—–−") & set(typed.args)
    assert parse_command(f"{typed.prefix}{typed.name} {typed.args}", prefix) is not None


@given(
    st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True),
    st.text(st.characters(exclude_characters="—–−"), max_size=60),
    st.sampled_from(["", "@some_bot"]),
)
def test_what_was_meant_is_what_is_read(name: str, args: str, bot: str) -> None:
    typed = parse_command(f"/{name.upper()}{bot} {args}")
    assert typed == TypedCommand(name, args.strip())


def test_flags_and_options() -> None:
    assert take_flags("a --All b", "--all") == (frozenset({"--all"}), "a b")
    assert take_flags("a  b", "--all") == (frozenset(), "a  b")
    assert take_option("x --provider openrouter y", "--provider") == ("openrouter", "x y")
    assert take_option("x --provider=p", "--provider") == ("p", "x")
    assert take_option("--provider", "--provider") == ("", "")
    assert take_option("--provider --global", "--provider") == ("", "--global")
    assert take_option("x", "--provider") == (None, "x")
