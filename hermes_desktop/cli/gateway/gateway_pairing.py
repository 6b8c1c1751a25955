"""``hermes-desktop gateway pairing``: the users that may write to the bots of a home."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, with_consent
from hermes_desktop.cli.gateway.gateway_texts import age, moment
from hermes_desktop.cli.output import Column, as_text
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import AmbiguousError, NotFoundError
from hermes_desktop.gateway.access.pairing import PairedUser, PairingRequest, PairingStore

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths

Person = TypeVar("Person", PairingRequest, PairedUser)

_COLUMNS = (
    Column("Status"),
    Column("Platform"),
    Column("User"),
    Column("When", optional=True),
    Column("Request", optional=True),
    Column("Name", gives_way=True),
)
_SHORTEST_BEGINNING = 4


@click.group()
def pairing() -> None:
    """Manage who can write to the bots of this home.

    A stranger who writes to a bot receives a code that is valid for an hour. Once you have the
    code from them, admit them with `approve`. `hermes pairing` uses the same list.
    """


@pairing.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of flat objects.")
@with_home
def list_people(*, as_json: bool, paths: "HermesPaths") -> None:
    """List pairing requests and approved users.

    In a pipe: waiting or approved, platform, user ID, time, request ID, name. The code itself is
    known only to the sender who received it.
    """
    store = _store(paths)
    waiting, approved = store.pending(), store.approved()
    if as_json:
        output.write_json([*map(_waiting_object, waiting), *map(_approved_object, approved)])
        return
    if not waiting and not approved:
        output.write("No pairing requests and no approved users.\n")
        return
    output.write(as_text(_COLUMNS, [*map(_waiting_row, waiting), *map(_approved_row, approved)]))


@pairing.command()
@click.argument("platform")
@click.argument("code", metavar="CODE|REQUEST")
@click.option("--json", "as_json", is_flag=True, help="Print the approved user as a JSON array.")
@with_home
def approve(*, platform: str, code: str, as_json: bool, paths: "HermesPaths") -> None:
    """Approve a sender, by code or request ID.

    The code is the one that the sender received; `pairing list` shows request IDs. After five
    wrong codes, no code is accepted for an hour.
    """
    store, platform = _store(paths), _platform(platform)
    wanted = output.without_surrogates(code).strip()
    is_request = any(
        each.platform == platform and each.entry_id == wanted for each in store.pending()
    )
    user = store.approve(platform, wanted) if is_request else store.approve_code(platform, wanted)
    if as_json:
        output.write_json([_approved_object(user)])
    else:
        output.write(output.one_line(f"{_called(user)} can now write to the bot.") + "\n")


@pairing.command()
@click.argument("platform")
@click.argument("person", metavar="REQUEST|USER")
@with_consent
@with_home
def deny(*, platform: str, person: str, consent: Consent, paths: "HermesPaths") -> None:
    """Reject a pairing request.

    Name it by its ID, the beginning of its ID, or the user's ID. The sender is not notified, and
    can request access again after ten minutes.
    """
    store, platform = _store(paths), _platform(platform)
    wanted = output.without_surrogates(person).strip()
    requests = [each for each in store.pending() if each.platform == platform]
    request = _only(
        requests, wanted, lambda each: (each.entry_id, each.user_id), "No pairing request"
    )
    preview = f"{_called(request)} requested access {age(request.created_at, time.time())} ago."
    if consent.obtain(output.one_line(preview) + "\n", "Reject this request?"):
        store.deny(platform, request.entry_id)
    _tell(consent, _waiting_object(request), f"Rejected the request of {_called(request)}.")


@pairing.command()
@click.argument("platform")
@click.argument("person", metavar="USER")
@with_consent
@with_home
def revoke(*, platform: str, person: str, consent: Consent, paths: "HermesPaths") -> None:
    """Revoke the access of a user, by user ID.

    Users who are also listed in config.yaml or in the environment can still write.
    """
    store, platform = _store(paths), _platform(platform)
    wanted = output.without_surrogates(person).strip()
    users = [each for each in store.approved() if each.platform == platform]
    user = _only(users, wanted, lambda each: (each.user_id,), "No approved user")
    preview = f"{_called(user)} was approved on {moment(user.approved_at or None)}."
    if consent.obtain(output.one_line(preview) + "\n", "Revoke this access?"):
        store.revoke(platform, user.user_id)
    _tell(consent, _approved_object(user), f"{_called(user)} can no longer write to the bot.")


def _store(paths: "HermesPaths") -> PairingStore:
    return PairingStore(paths.home, SystemClock())


def _platform(name: str) -> str:
    return output.without_surrogates(name).strip().lower()


def _only(
    people: Sequence[Person], wanted: str, ids_of: Callable[[Person], Iterable[str]], none: str
) -> Person:
    """Find the user by a whole id, else by the beginning of one. Names are not ids."""
    found = [each for each in people if wanted in ids_of(each)]
    if not found and len(wanted) >= _SHORTEST_BEGINNING:
        found = [each for each in people if any(i.startswith(wanted) for i in ids_of(each))]
    if not found:
        raise NotFoundError(
            f"{none} has this ID.",
            f"“{output.one_line(wanted)}” is not in the list of this platform.",
            "See `hermes-desktop gateway pairing list`.",
        )
    if len(found) > 1:
        raise AmbiguousError("This ID is ambiguous.", "", "Use the whole ID.")
    return found[0]


def _called(person: PairingRequest | PairedUser) -> str:
    name = f"“{person.user_name}” " if person.user_name else ""
    return f"{name}({person.platform} {person.user_id})"


def _tell(consent: Consent, item: dict[str, Any], words: str) -> None:
    if consent.as_json:
        output.write_json([item])
    elif not consent.dry_run:
        output.write(output.one_line(words) + "\n")


def _waiting_row(each: PairingRequest) -> tuple[str, ...]:
    since = f"{age(each.created_at, time.time())} ago"
    return ("waiting", each.platform, each.user_id, since, each.entry_id, each.user_name)


def _approved_row(each: PairedUser) -> tuple[str, ...]:
    when = moment(each.approved_at or None)
    return ("approved", each.platform, each.user_id, when, "", each.user_name)


def _waiting_object(each: PairingRequest) -> dict[str, Any]:
    return {
        "standing": "waiting",
        "platform": each.platform,
        "user_id": each.user_id,
        "user_name": each.user_name,
        "request": each.entry_id,
        "created_at": each.created_at,
        "approved_at": None,
    }


def _approved_object(each: PairedUser) -> dict[str, Any]:
    return {
        "standing": "approved",
        "platform": each.platform,
        "user_id": each.user_id,
        "user_name": each.user_name,
        "request": None,
        "created_at": None,
        "approved_at": each.approved_at or None,
    }
