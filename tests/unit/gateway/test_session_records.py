"""Keys of chats, and what an entry looks like when it is stored."""

from datetime import datetime

import pytest

from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.session import (
    SessionEntry,
    SessionSource,
    build_session_key,
    is_shared_session,
)

MOMENT = "2026-03-01T12:00:00"
NOON = datetime.fromisoformat(MOMENT)


def source(**fields: object) -> SessionSource:
    return SessionSource(Platform.TELEGRAM, **{"chat_id": "", **fields})


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"chat_id": "5"}, "dm:5"),
        ({"chat_id": "5", "thread_id": "8"}, "dm:5:8"),
        ({"user_id": "u"}, "dm:u"),
        ({"user_id": "u", "user_id_alt": "alt"}, "dm:alt"),
        ({"user_id": "u", "thread_id": "8"}, "dm:u:8"),
        ({"thread_id": "8"}, "dm:8"),
        ({}, "dm"),
        ({"chat_type": "group", "chat_id": "5", "user_id": "u"}, "group:5:u"),
        ({"chat_type": "group", "chat_id": "5"}, "group:5"),
        ({"chat_type": "group", "chat_id": "5", "thread_id": "8", "user_id": "u"}, "group:5:8"),
        ({"chat_type": "channel", "chat_id": "5", "user_id_alt": "a"}, "channel:5:a"),
        ({"chat_type": "forum"}, "forum"),
    ],
)
def test_each_kind_of_chat_has_its_key(fields: dict[str, str], key: str) -> None:
    assert build_session_key(source(**fields)) == f"agent:main:telegram:{key}"


def test_groups_and_threads_may_be_shared_or_not() -> None:
    group = source(chat_type="group", chat_id="5", user_id="u")
    assert build_session_key(group, group_sessions_per_user=False) == "agent:main:telegram:group:5"
    thread = source(chat_type="group", chat_id="5", user_id="u", thread_id="8")
    own = build_session_key(thread, thread_sessions_per_user=True)
    assert own == "agent:main:telegram:group:5:8:u"
    shared = build_session_key(thread, group_sessions_per_user=False, thread_sessions_per_user=True)
    assert shared == "agent:main:telegram:group:5:8"


@pytest.mark.parametrize(
    ("profile", "namespace"), [(None, "main"), ("", "main"), ("default", "main"), ("work", "work")]
)
def test_a_profile_has_its_own_keys(profile: str | None, namespace: str) -> None:
    key = build_session_key(source(chat_id="5"), profile=profile)
    assert key == f"agent:{namespace}:telegram:dm:5"


def test_a_source_stores_its_main_fields_always_and_others_when_set() -> None:
    plain = source(chat_id="5").to_dict()
    assert set(plain) == {
        "platform",
        "chat_id",
        "chat_name",
        "chat_type",
        "user_id",
        "user_name",
        "thread_id",
        "chat_topic",
    }
    full = source(chat_id="5", guild_id="g", is_bot=True, delivered_via_upstream_relay=True)
    stored = full.to_dict()
    assert (stored["scope_id"], stored["guild_id"], stored["is_bot"]) == ("g", "g", True)
    assert "delivered_via_upstream_relay" not in stored
    again = SessionSource.from_dict({**stored, "from the future": 1})
    assert (again.scope_id, again.is_bot, again.delivered_via_upstream_relay) == ("g", True, False)


def test_the_newer_scope_wins_over_the_older_name() -> None:
    both = source(chat_id="5", scope_id="new", guild_id="old")
    assert (both.scope_id, both.guild_id) == ("new", "new")


def test_an_entry_survives_a_round_trip() -> None:
    entry = SessionEntry(
        session_key="k",
        session_id="s",
        created_at=datetime.fromisoformat(MOMENT),
        updated_at=datetime.fromisoformat(MOMENT),
        origin=source(chat_id="5"),
        platform=Platform.TELEGRAM,
        last_resume_marked_at=datetime.fromisoformat(MOMENT),
        model_override={"model": "m"},
    )
    assert SessionEntry.from_dict(entry.to_dict()) == entry
    assert entry.to_dict()["created_at"] == MOMENT
    bare = SessionEntry("k", "s", entry.created_at, entry.updated_at).to_dict()
    assert bare["platform"] is None
    assert "origin" not in bare
    assert "model_override" not in bare


def stored(**fields: object) -> dict[str, object]:
    return {
        "session_key": "k",
        "session_id": "s",
        "created_at": MOMENT,
        "updated_at": MOMENT,
        **fields,
    }


def test_an_entry_of_another_version_is_read_as_far_as_possible() -> None:
    entry = SessionEntry.from_dict(
        stored(
            platform="myspace",
            memory_flushed=True,
            last_resume_marked_at="yesterday",
            origin={"platform": "myspace", "chat_id": 1},
            model_override={"model": "m", "api_key": "secret"},
            suspended=None,
            invented=1,
        )
    )
    assert entry.platform is None
    assert entry.origin is None
    assert entry.last_resume_marked_at is None
    assert entry.expiry_finalized is True
    assert entry.suspended is False
    assert entry.model_override == {"model": "m"}
    newer = SessionEntry.from_dict(stored(expiry_finalized=False, memory_flushed=True))
    assert newer.expiry_finalized is False


@pytest.mark.parametrize("missing", ["session_key", "session_id", "created_at", "updated_at"])
def test_an_entry_without_its_main_fields_is_refused(missing: str) -> None:
    data = stored()
    del data[missing]
    with pytest.raises(KeyError):
        SessionEntry.from_dict(data)


@pytest.mark.parametrize("bad", ["../x", "a/b", "a\\b", "C:x", ""])
def test_an_id_that_could_be_a_path_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="path"):
        SessionEntry.from_dict(stored(session_id=bad))


@pytest.mark.parametrize(("key", "fine"), [("a/b", True), ("/a", False), ("a..b", False)])
def test_a_key_may_hold_a_slash_inside_only(key: str, fine: bool) -> None:
    if fine:
        assert SessionEntry.from_dict(stored(session_key=key)).session_key == key
        return
    with pytest.raises(ValueError, match="path"):
        SessionEntry.from_dict(stored(session_key=key))


def test_values_of_the_wrong_kind_become_the_defaults() -> None:
    row = SessionEntry("k", "s", NOON, NOON).to_dict() | {
        "last_prompt_tokens": "many",
        "total_tokens": True,
        "estimated_cost_usd": 2,
        "suspended": "no",
        "resume_pending": "yes",
        "origin": {"platform": "telegram", "chat_id": 5, "thread_id": 7, "chat_type": None},
    }
    entry = SessionEntry.from_dict(row)
    assert (entry.last_prompt_tokens, entry.total_tokens, entry.estimated_cost_usd) == (0, 0, 2)
    assert (entry.suspended, entry.resume_pending) == (False, True)
    assert entry.origin == SessionSource(Platform.TELEGRAM, "5", thread_id="7")


def test_a_time_with_a_zone_is_local_time() -> None:
    zoned = NOON.astimezone().isoformat()
    row = SessionEntry("k", "s", NOON, NOON).to_dict() | {"updated_at": zoned}
    assert SessionEntry.from_dict(row).updated_at == NOON


def test_whatsapp_writes_the_same_person_in_several_ways() -> None:
    for name in ("49@s.whatsapp.net", "49:3@s.whatsapp.net", "49", "49@lid"):
        one = SessionSource(Platform.WHATSAPP, name)
        assert build_session_key(one) == "agent:main:whatsapp:dm:49"
        room = SessionSource(Platform.WHATSAPP, "12@g.us", chat_type="group", user_id=name)
        assert build_session_key(room) == "agent:main:whatsapp:group:12@g.us:49"


@pytest.mark.parametrize(
    ("chat", "per_user", "per_thread", "shared"),
    [
        (SessionSource(Platform.SLACK, "c"), False, False, False),
        (SessionSource(Platform.SLACK, "c", chat_type="group"), True, False, False),
        (SessionSource(Platform.SLACK, "c", chat_type="group"), False, False, True),
        (SessionSource(Platform.SLACK, "c", chat_type="group", thread_id="t"), True, False, True),
        (SessionSource(Platform.SLACK, "c", chat_type="group", thread_id="t"), True, True, False),
    ],
)
def test_who_shares_a_conversation(
    chat: SessionSource, per_user: bool, per_thread: bool, shared: bool
) -> None:
    found = is_shared_session(
        chat, group_sessions_per_user=per_user, thread_sessions_per_user=per_thread
    )
    assert found is shared


def test_a_chat_in_few_words() -> None:
    dm = SessionSource(Platform.TELEGRAM, "5", user_name="Ann")
    assert dm.description == "telegram with Ann"
    topic = SessionSource(Platform.SLACK, "c", chat_type="group", chat_name="Hall", thread_id="3")
    assert topic.description == "slack group Hall, thread 3"
