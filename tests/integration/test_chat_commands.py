"""Commands in a chat: a real runner, a real agent, a real state.db."""

import random
from pathlib import Path
from typing import Any

import pytest

from hermes_desktop.agent.memory_store import MemoryStore
from hermes_desktop.commands.registry import COMMANDS
from hermes_desktop.core.events import TurnFinished, TurnQueued, TurnStarted
from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform, PlatformConfig
from hermes_desktop.gateway.turns.turn_outcome import EphemeralReply
from tests.fakes.clock import MovableClock
from tests.fakes.command_gateway import KEY, UNASKED, CommandGateway, command_gateway
from tests.support.waiting import until


async def talk(chat: CommandGateway, *texts: str, **source: Any) -> None:
    for text in texts:
        await chat.tell(text, **source)


def with_telegram(**extra: Any) -> GatewayConfig:
    telegram = PlatformConfig(enabled=True, extra={"allow_from": "*", **extra})
    return GatewayConfig(platforms={Platform.TELEGRAM: telegram}, running=UNASKED.running)


# Which messages are commands


@pytest.mark.asyncio
async def test_commands_are_answered_and_neither_stored_nor_told_to_the_model(
    tmp_path: Path,
) -> None:
    async with command_gateway(tmp_path) as chat:
        await talk(chat, "hello")
        answer = await chat.tell("/help")
        assert isinstance(answer, EphemeralReply)
        assert "- `/new [title]` — start a new session (also `/reset`)" in answer
        assert chat.gateway.telegram.sent[-1] == ("c1", answer)
        await talk(chat, "and now?")
        assert chat.gateway.model.texts() == ["user: hello", "assistant: reply 1", "user: and now?"]
        assert chat.texts() == ["hello", "reply 1", "and now?", "reply 2"]
        assert [e.prompt for e in chat.gateway.of(TurnStarted)] == ["hello", "and now?"]


@pytest.mark.asyncio
async def test_what_is_no_command_goes_to_the_model(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        for number, text in enumerate(("/etc/hosts is empty", "/?", " /help", "help"), 1):
            assert await chat.tell(text) == f"reply {number}"


@pytest.mark.asyncio
async def test_unknown_and_later_commands_are_answered_plainly(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert "There is no command /frobnicate." in await chat.tell("/frobnicate now")
        for name in ("goal", "voice", "topic"):
            assert "is not supported in this version" in await chat.tell(f"/{name}")
        assert await chat.tell("/start") == ""
        assert chat.gateway.model.requests == []


@pytest.mark.asyncio
async def test_another_prefix_and_quick_commands(tmp_path: Path) -> None:
    config = GatewayConfig(
        platforms=UNASKED.platforms,
        quick_commands={
            "st": {"type": "alias", "target": "/status"},
            "name": {"type": "alias", "target": "title Alias of"},
            "sh": {"type": "exec", "command": "rm -rf /"},
        },
        running=UNASKED.running,
    )
    async with command_gateway(tmp_path, config=config) as chat:
        assert "There are no messages in this session yet." in await chat.tell("/st")
        assert "There is no command /sh." in await chat.tell("/sh")
        await talk(chat, "hello", "/name mine")
        assert chat.gateway.db.get_session_title(chat.session_id()) == "Alias of mine"
        chat.gateway.telegram.typed_command_prefix = "!"  # type: ignore[misc]
        assert "Hermes Desktop 1.2.3" in await chat.tell("!version")
        assert "!new [title]" in await chat.tell("!help")
        assert await chat.tell("!important: buy milk") == "reply 2"


@pytest.mark.asyncio
async def test_a_bug_in_a_command_is_answered_too(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        await talk(chat, "hello")
        chat.gateway.db.get_session_title = None  # type: ignore[method-assign, assignment]
        assert "An internal error occurred in Hermes Desktop" in await chat.tell("/title")


@pytest.mark.asyncio
async def test_whatever_follows_a_command_is_answered(tmp_path: Path) -> None:
    words = ["x", "1", "2", "9" * 30, "-1", "--all", "--provider", "--provider=", "“q”", "\x00",
             "²", "\ud800", "🙂" * 50, "x" * 5000, "../..", "%s", "{0}", "' OR 1=1 --", "list",
             "pause", "resume telegram", "default", "\n\n", "—all", "null"]  # fmt: skip
    chance = random.Random(7)
    async with command_gateway(tmp_path) as chat:
        await talk(chat, "one", "two")
        for _ in range(150):
            command = chance.choice(COMMANDS)
            name = chance.choice([command.name, *command.aliases])
            text = " ".join([f"/{name}", *chance.choices(words, k=chance.randint(0, 3))])
            answer = await chat.tell(text)
            assert answer, text
            assert "internal error" not in answer, text


# Who may


@pytest.mark.asyncio
async def test_only_admins_and_listed_commands(tmp_path: Path) -> None:
    config = with_telegram(allow_admin_from="boss", user_allowed_commands=["status"])
    async with command_gateway(tmp_path, config=config) as chat:
        assert "You cannot use /new here." in await chat.tell("/new")
        assert "You cannot use /commands here." in await chat.tell("/commands")
        assert "You cannot use /compress here." in await chat.tell("/compress")
        assert "There are no messages" in await chat.tell("/status")
        assert await chat.tell("/whoami") == (
            "You are Ann (u1) on telegram.\nYou can use /help, /status, /whoami."
        )
        help_text = await chat.tell("/help")
        assert "/status" in help_text
        assert "/new" not in help_text
        boss = await chat.tell("/whoami", user_id="boss", chat_id="c2")
        assert "admin" in boss
        assert "Session reset" in await chat.tell("/new", user_id="boss", chat_id="c2")


@pytest.mark.asyncio
async def test_strangers_commands_are_not_heard(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert await chat.tell("/help", user_id="stranger", chat_id="c9") == ""
        assert chat.gateway.telegram.sent == []


# The present conversation


@pytest.mark.asyncio
async def test_title(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert "There are no messages in this session yet." in await chat.tell("/title Trip")
        await talk(chat, "hello")
        assert "has no title" in await chat.tell("/title")
        assert await chat.tell("/title  My   trip") == "The title of this session is now “My trip”."
        assert await chat.tell("/title") == "The title of this session is “My trip”."
        assert "too long" in await chat.tell("/title " + "x" * 101)
        assert "This cannot be a title." in await chat.tell("/title \u200b")
        chat.gateway.db.create_session("other", "cli")
        chat.gateway.db.set_session_title("other", "Taken")
        assert "already in use" in await chat.tell("/title Taken")
        assert chat.gateway.db.get_session_title(chat.session_id()) == "My trip"


@pytest.mark.asyncio
async def test_undo(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert "There are no messages in this session yet." in await chat.tell("/undo")
        await talk(chat, "one", "two", "three")
        for bad in ("0", "-1", "x", "1.5", "²"):
            assert "This is not a valid number of messages." in await chat.tell(f"/undo {bad}")
        assert len(chat.texts()) == 6

        answer = await chat.tell("/undo 2")

        assert answer == (
            "Removed 2 messages of yours and 2 rows that followed.\nThe first one began: “two”"
        )
        assert chat.texts() == ["one", "reply 1"]
        await talk(chat, "four")
        assert chat.gateway.model.texts() == ["user: one", "assistant: reply 1", "user: four"]
        await chat.tell("/undo 99")
        assert await chat.tell("/undo") == "There is nothing to undo."


@pytest.mark.asyncio
async def test_retry(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert "There are no messages in this session yet." in await chat.tell("/retry")
        await talk(chat, "one", "two")
        assert await chat.tell("/retry") == "reply 3"
        assert chat.texts() == ["one", "reply 1", "two", "reply 3"]
        assert chat.gateway.model.texts() == ["user: one", "assistant: reply 1", "user: two"]
        await chat.tell("/undo 9")
        assert "nothing to send again" in await chat.tell("/retry")


@pytest.mark.asyncio
async def test_branch_and_the_way_back(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert "There are no messages in this session yet." in await chat.tell("/branch")
        await talk(chat, "one", "/title Trip")
        origin = chat.session_id()

        assert "Copied 2 messages to “Trip #2”" in await chat.tell("/branch")

        branch = chat.session_id()
        row = chat.gateway.db.get_session(branch)
        assert branch != origin
        assert row is not None
        assert (row["parent_session_id"], row["source"]) == (origin, "telegram")
        await talk(chat, "two")
        assert chat.gateway.model.texts() == ["user: one", "assistant: reply 1", "user: two"]
        await talk(chat, "/model big")
        assert "Copied 4 messages to “Other”" in await chat.tell("/fork Other")
        assert "big at test answers." in await chat.tell("/model")
        assert "too long" in await chat.tell("/branch " + "x" * 101)
        assert await chat.tell(f"/resume {origin}") == "Continuing “Trip” (2 messages)."
        assert chat.texts() == ["one", "reply 1"]


@pytest.mark.asyncio
async def test_a_conversation_that_another_chat_writes_in_is_left_alone(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        await talk(chat, "one")
        async with chat.gateway.runner.state.turn_leases.hold(chat.session_id()):
            for command in ("/undo", "/retry", "/branch"):
                assert "A reply is being written" in await chat.tell(command)
        assert chat.texts() == ["one", "reply 1"]


# Turns


@pytest.mark.asyncio
async def test_stop_ends_the_reply_and_the_next_message_is_answered(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert await chat.tell("/stop") == "No reply is being written here."
        chat.gateway.model.hold.clear()
        running = chat.start("one")
        await until(chat.gateway.model.asked.is_set)
        assert "Stopped." in await chat.tell("/stop")
        assert not await running
        chat.gateway.model.hold.set()
        assert await chat.tell("two") == "reply 2"


@pytest.mark.asyncio
async def test_while_a_reply_is_written(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        chat.gateway.model.hold.clear()
        running = chat.start("one")
        await until(chat.gateway.model.asked.is_set)

        for command in ("/model x", "/undo", "/retry", "/branch", "/resume"):
            name = command.split()[0]
            assert f"{name} cannot be used while" in await chat.tell(command)
        assert "A reply is being written" in await chat.tell("/status")
        assert "**Session**" in await chat.tell("/help")
        assert "There is no message." in await chat.tell("/queue")
        assert await chat.tell("/queue two") == "Queued (1 message waiting)."
        assert await chat.tell("/q three") == "Queued (2 messages waiting)."

        chat.gateway.model.hold.set()
        assert await running == "reply 1"
        await until(lambda: len(chat.gateway.telegram.sent) >= 3 and len(chat.texts()) == 6)
        assert chat.texts() == ["one", "reply 1", "two", "reply 2", "three", "reply 3"]
        await until(lambda: len(chat.gateway.of(TurnFinished)) == 3)
        assert len({e.turn_id for e in chat.gateway.of(TurnFinished)}) == 3


@pytest.mark.asyncio
async def test_a_queued_message_is_a_turn_of_its_own(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        gateway = chat.gateway
        gateway.model.hold.clear()
        running = chat.start("one")
        await until(gateway.model.asked.is_set)
        command = chat.start("/queue two")
        typed = command.get_name().removeprefix("turn ")
        assert "Queued" in str(await command)
        gateway.model.hold.set()
        await running
        await until(lambda: len(gateway.of(TurnFinished)) == 2)
        assert typed not in {e.turn_id for e in gateway.of(TurnStarted)}


@pytest.mark.asyncio
async def test_queue_with_nothing_to_wait_for_is_a_message(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert await chat.tell("/queue one") == "reply 1"
        assert chat.texts() == ["one", "reply 1"]


@pytest.mark.asyncio
async def test_new(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        await talk(chat, "one")
        first = chat.session_id()
        assert "Session reset" in await chat.tell("/new")
        assert chat.session_id() != first
        await talk(chat, "two")
        assert chat.gateway.model.texts() == ["user: two"]
        assert "too long" in await chat.tell("/reset " + "x" * 101)
        assert chat.texts() == ["two", "reply 2"]


@pytest.mark.asyncio
async def test_new_while_a_reply_is_written(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        chat.gateway.model.hold.clear()
        running = chat.start("one")
        await until(chat.gateway.model.asked.is_set)
        assert "Session reset" in await chat.tell("/new")
        assert not await running
        chat.gateway.model.hold.set()
        assert await chat.tell("two") == "reply 2"
        assert chat.texts() == ["two", "reply 2"]


# Is it meant?


@pytest.mark.asyncio
@pytest.mark.parametrize(("command", "done"), [("/new", "Session reset"), ("/undo", "Removed")])
async def test_destructive_commands_are_asked_about(
    tmp_path: Path, command: str, done: str
) -> None:
    clock = MovableClock()
    config = GatewayConfig(platforms=UNASKED.platforms)
    async with command_gateway(tmp_path, config=config, clock=clock) as chat:
        assert "To confirm," not in await chat.tell(command)
        await talk(chat, "one", "two")
        session_id = chat.session_id()

        assert "To confirm," in await chat.tell(command)
        assert await chat.tell("cancel") == "Nothing was changed."
        assert chat.session_id() == session_id
        assert "To confirm," in await chat.tell(command)
        clock.advance(301)
        assert await chat.tell("yes") == "reply 3"  # the question has lapsed
        assert "To confirm," in await chat.tell(command)
        assert await chat.tell("something else") == "reply 4"
        assert await chat.tell("once") == "reply 5"  # it was let go of
        assert len(chat.texts()) == 10

        assert "To confirm," in await chat.tell(command)
        assert done in await chat.tell("Once.")
        await talk(chat, "three", "four")
        assert "To confirm," in await chat.tell(command)
        assert done in await chat.tell("Always")
        await talk(chat, "five")
        assert done in await chat.tell(command)
        assert (chat.session_id() == session_id) is (command == "/undo")


@pytest.mark.asyncio
async def test_only_the_person_who_was_asked_can_say_yes(tmp_path: Path) -> None:
    telegram = PlatformConfig(enabled=True, extra={"allow_from": "*"})
    config = GatewayConfig(platforms={Platform.TELEGRAM: telegram}, group_sessions_per_user=False)
    async with command_gateway(tmp_path, config=config) as chat:
        group = {"chat_type": "group", "chat_id": "g"}
        await talk(chat, "one", **group)
        assert "To confirm," in await chat.tell("/undo", **group)
        assert await chat.tell("once", user_id="u2", **group) == "reply 2"
        assert "Removed" in await chat.tell("once", **group)


# Earlier conversations


@pytest.mark.asyncio
async def test_resume_by_number_id_and_name(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert "There are no earlier sessions with a title here." in await chat.tell("/resume")
        await talk(chat, "one", "/title First")
        first = chat.session_id()
        await talk(chat, "/new", "two")
        second = chat.session_id()
        await talk(chat, "/new", "three", "/title Third")

        listed = await chat.tell("/resume")
        assert "1. Third — just now, 2 messages (this one)" in listed
        assert "2. First — just now, 2 messages" in listed
        assert "two" not in listed
        everything = await chat.tell("/resume --all")
        assert "2. two" in everything
        assert await chat.tell("/sessions") == everything

        assert await chat.tell("/resume 2") == "Continuing " + second + " (2 messages)."
        assert chat.session_id() == second
        row = chat.gateway.db.get_session(second)
        assert row is not None
        assert row["ended_at"] is None
        assert await chat.tell("/resume First") == "Continuing “First” (2 messages)."
        assert chat.session_id() == first
        await talk(chat, "four")
        assert chat.gateway.model.texts() == ["user: one", "assistant: reply 1", "user: four"]
        assert await chat.tell(f"/resume {first}") == "This chat is already in that session."
        for wrong in ("99", "Nothing", first[:10]):
            assert "There is no such session." in await chat.tell(f"/resume {wrong}")
        assert chat.session_id() == first


@pytest.mark.asyncio
async def test_resume_follows_a_shortened_conversation(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        await talk(chat, "one", "/title Long")
        first = chat.session_id()
        await talk(chat, "/new", "two")
        db = chat.gateway.db
        db.reopen_session(first)
        db.end_session(first, "compression")
        db.create_session("tip", "telegram", parent_session_id=first)
        db.append_message("tip", "user", "summary")
        assert await chat.tell(f"/resume {first}") == "Continuing tip (1 message)."
        assert chat.session_id() == "tip"


@pytest.mark.asyncio
async def test_conversations_of_others_are_refused(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, config=with_telegram()) as chat:
        await talk(chat, "secret", "/title Mine", user_id="u2", chat_id="c2")
        await talk(chat, "elsewhere", "/title Other room", chat_id="c3")
        await talk(chat, "hello")
        db = chat.gateway.db
        db.create_session("local", "cli")
        db.set_session_title("local", "On the machine")
        db.create_session("mail", "email", user_id="u1", chat_id="c1")
        before = chat.session_id()

        for name in ("Mine", "local", "mail", "On the machine --all", "Mine --all"):
            assert "This session is not yours." in await chat.tell(f"/resume {name}")
        assert "started in another chat" in await chat.tell("/resume Other room")
        assert chat.session_id() == before
        everything = await chat.tell("/sessions")
        assert "Mine" not in everything
        assert "Other room" in everything
        assert "Other room" not in await chat.tell("/resume")
        assert "Continuing “Other room”" in await chat.tell("/resume Other room --all")


@pytest.mark.asyncio
async def test_the_owner_goes_on_with_a_local_conversation(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, config=with_telegram(allow_admin_from="u1")) as chat:
        db = chat.gateway.db
        db.create_session("local", "cli")
        db.append_message("local", "user", "from the terminal")
        assert await chat.tell("/resume local") == "Continuing local (1 message)."
        await talk(chat, "on the phone")
        assert chat.gateway.model.texts()[0].startswith("user: from the terminal")


# The model


@pytest.mark.asyncio
async def test_where_things_are_is_told_in_the_window_only(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        title = "The provider “nobody” is unknown."
        assert await chat.tell("/model x --provider nobody") == title
        told = await chat.gateway.say("/model x --provider nobody")
        assert told.reply == f"{title} It is not in /secret/config.yaml."


@pytest.mark.asyncio
async def test_model(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        told = await chat.tell("/model")
        assert told.startswith("scripted at test answers.")
        await talk(chat, "one")
        assert "From your next message on, big at test answers" in await chat.tell("/model big")
        assert "It was chosen for this session." in await chat.tell("/model")
        assert chat.gateway.runner._session_model_overrides[KEY] == {"model": "big"}
        made = len(chat.gateway.factory.made)
        await talk(chat, "two")
        assert len(chat.gateway.factory.made) == made + 1

        for bad in ("a b", "--provider x", "--provider", "x" * 201):
            assert "This is not a model." in await chat.tell(f"/model {bad}")
        for later in ("--global x", "x --once", "--refresh"):
            assert "is not supported yet." in await chat.tell(f"/model {later}")
        assert "unknown" in await chat.tell("/model x --provider nobody")
        assert chat.gateway.runner._session_model_overrides[KEY] == {"model": "big"}
        assert "at openrouter" in await chat.tell("/model a/b --provider openrouter")

        assert "the model in the settings answers" in await chat.tell("/model default")
        assert KEY not in chat.gateway.runner._session_model_overrides
        await talk(chat, "/model big", "/new")
        assert "was chosen for this session" not in await chat.tell("/model")


@pytest.mark.asyncio
async def test_usage_reads_what_is_stored(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert "has not used the model" in await chat.tell("/usage")
        await talk(chat, "one")
        db = chat.gateway.db
        first = chat.session_id()
        db.update_token_counts(
            first, input_tokens=1200, output_tokens=34, cache_read_tokens=5, absolute=True,
            estimated_cost_usd=0.25, api_call_count=2,
        )  # fmt: skip
        chat.gateway.runner.parts.agents.evict(KEY)
        assert await chat.tell("/usage") == (
            "This session: 2 model calls\n"
            "1,200 tokens in and 5 from the cache, 34 out\n"
            "Costs: about 0.2500 US dollars"
        )
        db.end_session(first, "compression")
        db.create_session("tip", "telegram", parent_session_id=first)
        db.append_message("tip", "user", "summary")
        db.update_token_counts("tip", input_tokens=10, output_tokens=1, api_call_count=1)
        both = await chat.tell("/usage")
        assert "This session: 3 model calls\n1,210 tokens in" in both
        assert "Since the last compression: 1 model call\n10 tokens in, 1 out" in both


@pytest.mark.asyncio
async def test_usage_by_model_and_a_chain_is_one_session(tmp_path: Path) -> None:
    clock = MovableClock()
    async with command_gateway(tmp_path, clock=clock) as chat:
        await talk(chat, "one")
        db, first = chat.gateway.db, chat.session_id()
        dear = {"model": "dear", "billing_provider": "openrouter", "api_call_count": 1}
        db.update_token_counts(first, 1_000, 20, actual_cost_usd=0.5, cost_status="actual", **dear)
        clock.advance(7200)
        db.end_session(first, "compression")
        db.create_session("tip", "telegram", parent_session_id=first)
        db.append_message("tip", "user", "summary")
        db.update_token_counts("tip", 10, 1, cost_status="unknown", **dear)
        db.record_auxiliary_usage("tip", "compression", model="small`s", input_tokens=90)
        told = await chat.tell("/usage")
        assert "This session: 2 model calls\n1,010 tokens in, 21 out" in told
        assert "Costs: at least 0.5000 US dollars" in told
        assert "Costs: unknown" in told.partition("Since the last compression")[2]
        assert (
            "**By model**\n"
            "- dear at openrouter: 2 calls, 1,010 tokens in, 21 out, at least 0.5000 US dollars\n"
            "- small's for summaries: 1 call, 90 tokens in, 0 out, costs unknown"
        ) in told
        told = await chat.tell("/status")
        assert "- Started 2 h ago, last active just now" in told
        assert "- 1,031 tokens used" in told


@pytest.mark.asyncio
async def test_status(tmp_path: Path) -> None:
    clock = MovableClock()
    async with command_gateway(tmp_path, clock=clock) as chat:
        assert "There are no messages in this session yet." in await chat.tell("/status")
        await talk(chat, "one", "/title Trip")
        clock.advance(7200)
        assert await chat.tell("/status") == (
            f"- Session {chat.session_id()}, “Trip”\n"
            "- Started 2 h ago, last active 2 h ago, 2 messages\n"
            "- Model: scripted\n"
            "- 0 tokens used\n"
            "- No reply is being written.\n"
            "- Platforms: discord connected, telegram connected"
        )


# The gateway, and about


@pytest.mark.asyncio
async def test_commands_page_by_page(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        first, last = await chat.tell("/commands"), await chat.tell("/commands 3")
        assert "page 1 of 3" in first
        assert "/commands 2 shows the next page." in first
        assert "/version" in last
        for bad in ("0", "4", "x", "-1"):
            assert "There is no such page." in await chat.tell(f"/commands {bad}")


@pytest.mark.asyncio
async def test_profile_and_version(tmp_path: Path) -> None:
    async with command_gateway(tmp_path, config=with_telegram()) as chat:
        assert await chat.tell("/profile") == (
            f"This chat uses the profile “work”.\nIts folder is {tmp_path}."
        )
        group = await chat.tell("/profile", chat_type="group", chat_id="g")
        assert str(tmp_path) not in group
        assert await chat.tell("/v") == "Hermes Desktop 1.2.3"


@pytest.mark.asyncio
async def test_platform(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert await chat.tell("/platform") == "- discord: connected\n- telegram: connected"
        assert "discord is paused. To resume it, send" in await chat.tell("/platform pause Discord")
        assert "discord: paused" in await chat.tell("/platform list")
        assert await chat.tell("/platform resume discord") == "discord is connected again."
        assert "not served here" in await chat.tell("/platform pause nowhere")
        assert "writing on this platform" in await chat.tell("/platform pause telegram")
        for bad in ("pause", "resume ", "frob discord", "x"):
            assert "This cannot be understood." in await chat.tell(f"/platform {bad}")
        assert chat.platforms.paused == []


@pytest.mark.asyncio
async def test_restart(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        assert "restarts" in await chat.tell("/restart")
        await until(lambda: chat.restarts == [True])
        chat.gateway.runner.state.restart_handler = None
        assert "cannot be restarted from here" in await chat.tell("/restart")


@pytest.mark.asyncio
async def test_sethome(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text(
        "TELEGRAM_BOT_TOKEN=secret # mine\nTELEGRAM_HOME_CHANNEL=1\nTELEGRAM_HOME_CHANNEL_NAME=x\n"
    )
    async with command_gateway(tmp_path, config=with_telegram()) as chat:
        assert "go to this chat" in await chat.tell("/sethome", chat_id="-100", thread_id="7")
        assert env.read_text() == (
            "TELEGRAM_BOT_TOKEN=secret # mine\n"
            "TELEGRAM_HOME_CHANNEL=-100\n"
            "TELEGRAM_HOME_CHANNEL_THREAD_ID=7\n"
        )
        await chat.tell("/set-home", chat_id="c1")
        assert "THREAD" not in env.read_text()
        before = env.read_text()
        assert "cannot be the home" in await chat.tell("/sethome", chat_id="a b")
        assert env.read_text() == before


# The window


@pytest.mark.asyncio
async def test_the_window_shows_the_answer_and_stores_nothing(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        gateway = chat.gateway
        finished = await gateway.say("/help")
        assert finished.outcome == "done"
        assert finished.last_message_id is None
        assert not finished.stored
        assert "/undo" in finished.reply
        assert "/new" not in finished.reply
        [started] = gateway.of(TurnStarted)
        assert (started.turn_id, started.prompt) == (finished.turn_id, "/help")
        assert started.session_id == finished.session_id
        assert gateway.db.session_count() == 0

        after = await gateway.say("hello", finished.session_id)
        assert after.reply == "reply 1"
        assert after.session_id == finished.session_id
        assert gateway.model.texts() == ["user: hello"]
        undone = await gateway.say("/undo", after.session_id)
        assert "Removed 1 message of yours" in undone.reply
        assert gateway.rows(after.session_id) == []


@pytest.mark.asyncio
async def test_what_makes_no_sense_in_the_window_says_what_to_do_instead(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        session_id = (await chat.gateway.say("hello")).session_id
        for command, words in {
            "/new": "choose New chat",
            "/resume": "in the list on the left",
            "/restart": "their own page",
            "/platform": "their own page",
            "/sethome": "messaging platform",
            "/whoami": "the owner of this computer",
            "/nonsense": "There is no command /nonsense.",
            "/branch Copy": "You can find it in the list.",
        }.items():
            assert words in (await chat.gateway.say(command, session_id)).reply
        retried = await chat.gateway.say("/retry", session_id)
        assert (retried.reply, retried.session_id) == ("reply 2", session_id)
        assert chat.gateway.rows(session_id) == [("user", "hello"), ("assistant", "reply 2")]
        assert chat.gateway.db.get_session_title("nothing") is None
        assert chat.gateway.db.get_session_by_title("Copy") is not None


@pytest.mark.asyncio
async def test_queueing_in_the_window(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        gateway = chat.gateway
        gateway.model.hold.clear()
        first = await gateway.submit("one")
        await until(gateway.model.asked.is_set)
        session_id = gateway.of(TurnStarted)[0].session_id
        second = await gateway.submit("/queue two", session_id)
        await until(lambda: bool(gateway.of(TurnQueued)))
        assert gateway.of(TurnQueued)[0].prompt == "two"
        gateway.model.hold.set()
        assert (await gateway.desktop.wait(first)).reply == "reply 1"
        assert (await gateway.desktop.wait(second)).reply == "reply 2"
        assert gateway.rows(session_id)[2] == ("user", "two")


@pytest.mark.asyncio
async def test_what_all_conversations_used(tmp_path: Path) -> None:
    async with command_gateway(tmp_path) as chat:
        await talk(chat, "hello")
        told = await chat.tell("/insights 7")
        assert "**The last 7 days**\n1 session, 2 messages" in told
        assert "telegram" in told
        for bad in ("0", "x", "-3", "99999", "²"):
            assert "This is not a valid number of days." in await chat.tell(f"/insights {bad}")


@pytest.mark.asyncio
async def test_memory_is_shown_approved_and_forgotten(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path)
    store.change("add", "user", "Likes tea")
    async with command_gateway(tmp_path) as chat:
        told = await chat.tell("/memory")
        assert "(9 of 1,375 characters, 0 %)" in told
        [tea] = store.entries("user")
        assert f"`{tea.id}` Likes tea" in told
        assert await chat.tell("/memory pending") == "No changes are waiting for your approval."
        waiting = store.stage("replace", "user", "Likes coffee", "tea", now=chat_time(chat))
        told = await chat.tell("/memory pending")
        assert f"`{waiting.id}` replace about you: Likes coffee (replaces “tea”) (just now)" in told
        assert "1 change waiting" in await chat.tell("/memory")
        assert "There is no pending change with this name" in await chat.tell(
            "/memory approve ffff"
        )
        assert "Remembered: Likes coffee" in await chat.tell(f"/memory approve {waiting.id}")
        store.stage("add", "memory", "a", "", now=1.0)
        assert "Not remembered: a" in await chat.tell("/memory reject all")
        assert "No changes are waiting" in await chat.tell("/memory reject all")
        [coffee] = store.entries("user")
        told = await chat.tell("/memory forget coffee")
        assert f"forget {coffee.id} yes" in told
        assert store.entries("user") == (coffee,)
        assert "Forgotten: Likes coffee" in await chat.tell(f"/memory forget {coffee.id} yes")
        assert store.entries("user") == ()
        assert "You cannot change this." in await chat.tell("/memory approval on")
        assert "subcommand does not exist" in await chat.tell("/memory dance")
        assert "Which change?" in await chat.tell("/memory approve")
        group = await chat.tell("/memory", chat_type="group", chat_id="g")
        assert "not shown here" in group


def chat_time(chat: CommandGateway) -> float:
    return chat.gateway.runner.state.clock.time()
