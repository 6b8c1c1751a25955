"""What a person reads about hosting; what a start would find."""

from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from hermes_desktop.core.log_setup import SecretRedactor
from hermes_desktop.core.paths import HermesPaths
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.identity.hosting_checks import HostingChecks
from hermes_desktop.gateway.identity.scheduled_work import ScheduledWork
from hermes_desktop.gateway.platforms.registry import NOT_SERVED, AdapterRegistry
from hermes_desktop.gateway.runtime_files.identity_events import ForeignGateway, NotHere
from hermes_desktop.gateway.runtime_files.identity_files import GatewayRecord
from hermes_desktop.services.hosting import hosting_words
from hermes_desktop.services.hosting.hosting_outlook import StartChecks
from hermes_desktop.state.records.records import StoreCondition
from tests.fakes.clock import MovableClock


@pytest.mark.parametrize("why", get_args(get_type_hints(NotHere)["why"]))
def test_every_reason_has_words(why: str) -> None:
    refusal = hosting_words.refusal_for(NotHere(why, "because", wait_s=12.0))

    assert refusal.title.endswith(".")
    assert refusal.detail == "because"
    assert refusal.hint
    assert refusal.may_insist == (why in {"service", "recent_stop"})


def test_what_would_not_run_is_named() -> None:
    work = ScheduledWork(("news",), ("garden",))

    assert hosting_words.would_not_run(work, {Platform.WHATSAPP_CLOUD: NOT_SERVED}) == (
        "Messages from Whatsapp Cloud",
        "Scheduled job “news”",
        "Cards of the kanban board “garden”",
    )


def test_the_other_gateway_is_described() -> None:
    clock = MovableClock()
    found = ForeignGateway(
        GatewayRecord(9, ("hermes-gateway",)),
        "running",
        {"irc": {"state": "fatal", "error_message": "no"}, "x": {"state": None}},
        age_s=60.4,
    )

    other = hosting_words.other_gateway(found, clock)

    assert other is not None
    assert other.name == "another Hermes Desktop"
    assert other.started_at == round(clock.time() - 60.4)
    assert [(p.name, p.state, p.detail) for p in other.platforms] == [
        ("irc", "fatal", "no"),
        ("x", "silent", ""),
    ]
    assert hosting_words.other_gateway(None, clock) is None
    unknown = hosting_words.other_gateway(ForeignGateway(GatewayRecord(9)), clock)
    assert unknown is not None
    assert (unknown.name, unknown.started_at) == ("hermes gateway", None)


def test_waiting_is_counted() -> None:
    assert hosting_words.waiting_words(1, 11.6) == "Waiting for 1 reply, 12 s left."
    assert hosting_words.waiting_words(2, -1.0) == "Waiting for 2 replies, 0 s left."


def outlook(home: Path, *, condition: StoreCondition | None = None, **environ: str) -> StartChecks:
    return StartChecks(
        HermesPaths(home, home),
        environ,
        SecretRedactor(),
        AdapterRegistry(),
        HostingChecks(Path("/"), ()),
        lambda: condition or StoreCondition(22, writable=True),
    )


def test_a_home_in_order_is_hosted(tmp_path: Path) -> None:
    found = outlook(tmp_path).look()

    assert (found.refusal, found.other, found.loaded.warnings) == (None, None, ())


@pytest.mark.parametrize("marked", [True, False])
def test_a_managed_home_wants_a_word(tmp_path: Path, marked: bool) -> None:
    if marked:
        tmp_path.joinpath(".managed").touch()

    refusal = outlook(tmp_path, **({} if marked else {"HERMES_MANAGED": "1"})).look().refusal

    assert refusal is not None
    assert "managed" in refusal.title
    assert refusal.may_insist


def test_a_home_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    refusal = outlook(tmp_path / "none").look().refusal

    assert refusal is not None
    assert not refusal.may_insist
    assert not tmp_path.joinpath("none").exists()


def test_a_home_that_may_only_be_read_is_not_hosted() -> None:
    refusal = outlook(Path("/proc/self")).look().refusal

    assert refusal is not None
    assert "read-only" in refusal.title
    assert not refusal.may_insist


def test_a_history_that_may_only_be_read_is_not_hosted(tmp_path: Path) -> None:
    condition = StoreCondition(99, writable=False, reason="It is newer.", hint="Update.")

    refusal = outlook(tmp_path, condition=condition).look().refusal

    assert refusal is not None
    assert (refusal.detail, refusal.hint) == ("It is newer.", "Update.")
    assert not refusal.may_insist


def test_a_platform_whose_package_is_missing_names_the_command() -> None:
    words = "The package x is not installed. Run: pip install x"
    found = hosting_words.would_not_run(ScheduledWork(), {Platform.TELEGRAM: words})
    assert found == (f"Messages from Telegram. {words}",)
