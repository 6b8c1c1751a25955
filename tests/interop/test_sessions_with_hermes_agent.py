"""The chats of one home, kept by both programs in turn."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_desktop.gateway.config.gateway_config import GatewayConfig, Platform
from hermes_desktop.gateway.session import SessionSource, SessionStore
from hermes_desktop.state import SessionDB

PHONE = SessionSource(Platform.TELEGRAM, "5", user_id="u", chat_name="Ann")
ROOM = SessionSource(
    Platform.DISCORD, "77", chat_type="group", user_id="u", thread_id="t", scope_id="g"
)
KEY, ROOM_KEY = "agent:main:telegram:dm:5", "agent:main:discord:group:77:t"


class Home:
    """The real program's home, and a store of ours on it."""

    def __init__(self, hermes: Any) -> None:
        self.hermes = hermes
        self.sessions = hermes.home / "sessions"
        self.mirror = self.sessions / "sessions.json"
        hermes.script("build_home.py", str(hermes.state_db))
        self.db = SessionDB(hermes.state_db)

    def ours(self, **config: Any) -> SessionStore:
        return SessionStore(self.sessions, GatewayConfig(**config), db=self.db)

    def theirs(self, *calls: tuple[str, list[Any]], **config: Any) -> dict[str, Any]:
        words = (str(self.sessions), json.dumps(calls), json.dumps(config))
        found: dict[str, Any] = self.hermes.script("work_on_sessions.py", *words)
        return found

    def table(self) -> dict[str, str]:
        return self.db.load_gateway_routing_entries(scope=str(self.sessions.resolve()))


@pytest.fixture
def home(hermes: Any) -> Iterator[Home]:
    home = Home(hermes)
    yield home
    home.db.close()


def test_they_load_what_we_saved(home: Home) -> None:
    ours = home.ours()
    entries = [ours.get_or_create_session(source) for source in (PHONE, ROOM)]
    ours.update_session(KEY, last_prompt_tokens=7)
    ours.set_model_override(KEY, {"model": "m", "api_key": "no"})
    ours.mark_resume_pending(ROOM_KEY)
    found = home.theirs(("get_model_override", [KEY]), ("peek_session_id", [ROOM_KEY]))
    assert found["answers"] == [{"model": "m"}, entries[1].session_id]
    assert found["entries"] == {entry.session_key: entry.to_dict() for entry in entries}
    # They go on with our conversation.
    again = home.theirs(("get_or_create_session", [PHONE.to_dict()]))
    assert again["answers"][0]["session_id"] == entries[0].session_id


def test_we_load_what_they_saved(home: Home) -> None:
    calls = [("get_or_create_session", [source.to_dict()]) for source in (PHONE, ROOM)]
    theirs = home.theirs(
        *calls,
        ("update_session", [KEY, 9]),
        ("set_model_override", [KEY, {"model": "m", "provider": "p", "api_key": "no"}]),
        ("suspend_session", [ROOM_KEY]),
    )
    ours = home.ours()
    ours._ensure_loaded()
    assert {key: entry.to_dict() for key, entry in ours._entries.items()} == theirs["entries"]
    assert theirs["entries"].keys() == {KEY, ROOM_KEY}
    before, mirror = home.table(), home.mirror.read_text(encoding="utf-8")
    ours._save()
    assert home.table() == before
    assert home.mirror.read_text(encoding="utf-8") == mirror
    assert ours.get_or_create_session(PHONE).session_id == theirs["entries"][KEY]["session_id"]


def test_what_neither_of_us_made_stays_byte_for_byte_in_both_places(home: Home) -> None:
    made = home.theirs(("get_or_create_session", [PHONE.to_dict()]))["entries"][KEY]
    strange = {
        "unknown platform": json.dumps({**made, "platform": "myspace", "session_id": "m"}),
        "unknown key": json.dumps({**made, "brand_new": [1,  2], "session_id": "n"}),
        "no entry": '{"half":   1}',
    }  # fmt: skip
    scope = str(home.sessions.resolve())
    home.db.save_routing_changes(scope=scope, changed=strange)
    text = home.mirror.read_text(encoding="utf-8").rstrip().removesuffix("}").rstrip()
    members = [f"{json.dumps(key)}:{value}" for key, value in strange.items()]
    home.mirror.write_text(",\n".join([text, *members]) + "}", encoding="utf-8")

    ours = home.ours()
    ours.get_or_create_session(PHONE)
    ours.get_or_create_session(ROOM)
    ours.forget(KEY)
    table, mirror = home.table(), home.mirror.read_text(encoding="utf-8")
    for key, value in strange.items():
        assert table[key] == value
        assert value in mirror
    assert KEY not in table
    # Theirs still reads every entry that makes sense to it.
    assert {ROOM_KEY, "unknown key"} <= home.theirs()["entries"].keys()


def test_a_reset_of_ours_is_one_for_them_and_theirs_for_us(home: Home) -> None:
    ours = home.ours()
    first = ours.get_or_create_session(PHONE)
    home.db.append_message(first.session_id, "user", "hello")
    second = ours.reset_session(KEY)
    assert second is not None
    found = home.theirs(("get_or_create_session", [PHONE.to_dict()]), ("reset_session", [KEY]))
    assert found["answers"][0]["session_id"] == second.session_id
    third = found["answers"][1]["session_id"]
    again = home.ours()
    assert again.get_or_create_session(PHONE).session_id == third
    ends = {s: home.db.get_session(s)["end_reason"] for s in (first.session_id, second.session_id)}  # type: ignore[index]
    assert set(ends.values()) == {"session_reset"}


def test_both_take_a_chat_up_again_from_the_conversations_alone(home: Home) -> None:
    entry = home.ours().get_or_create_session(PHONE)
    home.db.append_message(entry.session_id, "user", "hello")
    for forget in (True, False):
        home.mirror.unlink()
        home.db.save_routing_changes(scope=str(home.sessions.resolve()), changed={}, removed=[KEY])
        if forget:
            found = home.theirs(("get_or_create_session", [PHONE.to_dict()]))["answers"][0]
            assert found["session_id"] == entry.session_id
        else:
            assert home.ours().get_or_create_session(PHONE).session_id == entry.session_id


def test_they_see_a_chat_that_expired_here_as_we_do(home: Home) -> None:
    policy = {"mode": "idle", "idle_minutes": 5}
    old = home.ours().get_or_create_session(PHONE)
    ours = home.ours()
    ours._ensure_loaded()
    entry = ours._entries[KEY]
    entry.updated_at = entry.updated_at.replace(year=entry.updated_at.year - 1)
    ours._save()
    found = home.theirs(("get_or_create_session", [PHONE.to_dict()]), default_reset_policy=policy)[
        "answers"
    ][0]
    assert (found["was_auto_reset"], found["auto_reset_reason"]) == (True, "idle")
    assert home.db.get_session(old.session_id)["end_reason"] == "idle"  # type: ignore[index]


def test_both_name_every_chat_alike(home: Home) -> None:
    sources = [
        PHONE,
        ROOM,
        SessionSource(Platform.SLACK, "C", chat_type="channel", user_id="u", user_id_alt="v"),
        SessionSource(Platform.TELEGRAM, "", user_id="u"),
        SessionSource(Platform.TELEGRAM, "9", thread_id="3"),
        SessionSource(Platform.MATRIX, "!r:x", chat_type="group"),
        SessionSource(Platform.WHATSAPP, "49:3@s.whatsapp.net"),
        SessionSource(
            Platform.WHATSAPP, "12@g.us", chat_type="group", user_id="49:2@s.whatsapp.net"
        ),
        SessionSource(Platform.TELEGRAM, "5", profile="work"),
    ]
    for config in (
        {},
        {"group_sessions_per_user": False},
        {"thread_sessions_per_user": True},
        {"multiplex_profiles": True},
    ):
        calls = [("_generate_session_key", [source.to_dict()]) for source in sources]
        ours = home.ours(**config)
        keys = [ours._generate_session_key(source) for source in sources]
        assert home.theirs(*calls, **config)["answers"] == keys


def test_entries_of_both_stand_while_both_save(home: Home) -> None:
    ours = home.ours()
    first = ours.get_or_create_session(PHONE)
    theirs = home.theirs(("get_or_create_session", [ROOM.to_dict()]))["answers"][0]
    for _ in range(2):  # ours knows nothing of their chat and keeps it all the same
        ours.update_session(KEY, last_prompt_tokens=3)
        expected = {KEY: first.session_id, ROOM_KEY: theirs["session_id"]}
        mirror = json.loads(home.mirror.read_text(encoding="utf-8"))
        assert {key: json.loads(text)["session_id"] for key, text in home.table().items()} == (
            expected
        )
        assert {key: mirror[key]["session_id"] for key in expected} == expected
        home.theirs(("update_session", [ROOM_KEY, 4]))
    assert json.loads(home.table()[KEY])["last_prompt_tokens"] == 3
