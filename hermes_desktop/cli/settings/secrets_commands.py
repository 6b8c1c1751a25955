"""``secrets``: where tokens and keys are stored, and how to put them into the keyring."""

import sys
from typing import TYPE_CHECKING, Any

import click

from hermes_desktop.cli import output
from hermes_desktop.cli.command_setup import with_home
from hermes_desktop.cli.consent import Consent, with_consent
from hermes_desktop.cli.output import Column, as_text
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.core.errors import CancelledError, UsageError

if TYPE_CHECKING:
    from hermes_desktop.core.paths import HermesPaths
    from hermes_desktop.services.secrets.secrets_repository import (
        SecretPlace,
        SecretsRepository,
        SecretView,
    )

# ------------------------------------------------------------------------------
# Terminal input that is not shown while it is typed.


def read_hidden(question: str) -> str:
    """Prompt on the terminal without echo.

    Raises:
        CancelledError: The input ended without a line.
    """
    line = _without_echo(question)
    if not line:
        raise CancelledError("Cancelled.", "Nothing was changed.")
    return line.rstrip("\r\n")


if sys.platform == "win32":
    import getpass

    def _without_echo(question: str) -> str:
        return getpass.getpass(question) + "\n"
else:
    import termios

    def _without_echo(question: str) -> str:
        # Not getpass: it prompts on the terminal of the session, which may differ from the one
        # behind standard input, and discards input typed before.
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
        hidden = [*before]
        hidden[3] &= ~termios.ECHO
        try:
            termios.tcsetattr(terminal, termios.TCSADRAIN, hidden)
            output.ask(question)
            return sys.stdin.readline()
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
            output.say("")


_COLUMNS = (Column("Secret"), Column("State"), Column("Description", gives_way=True))
_MOST_READ = 1_000_000
"""Bytes of standard input; no secret is longer."""
_OURS = frozenset({"keyring", "plain file"})
_MOVED = frozenset({".env", "config.yaml", "plain file"})
_WAITING = "Waiting for the keyring; it may ask for its password…"


@click.group("secrets")
def secrets() -> None:
    """Manage tokens and keys in the system keyring.

    The first place that has a secret takes precedence: environment, keyring, plain file (`set
    --plain`), .env, config.yaml, gateway.json. `hermes` itself does not use the keyring; its own
    commands read the environment and .env.
    """


@secrets.command("list")
@click.option("--all", "everything", is_flag=True, help="Include secrets that are not set.")
@click.option("--show-end", is_flag=True, help="Show the last four characters of each.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of flat objects.")
@with_home
def list_secrets(*, everything: bool, show_end: bool, as_json: bool, paths: "HermesPaths") -> None:
    """List secrets and where they are stored, never their values."""
    views = [view for view in _repository(paths).look() if view.places or everything]
    if as_json:
        output.write_json([_object(view, show_end=show_end) for view in views])
        return
    if not views:
        output.say("No secrets are set in this home. To see all possible ones, add --all.")
        return
    rows = [(view.name, _standing(view, show_end=show_end), view.label) for view in views]
    output.write(as_text(_COLUMNS, rows))
    for view in views:
        if view.differ:
            output.say(_difference(view))


@secrets.command("set")
@click.argument("name")
@click.argument("values", nargs=-1, metavar="")
@click.option("--plain", is_flag=True, help="Store it in a file that only you can read (0600).")
@click.option(
    "--no-check", "unchecked", is_flag=True, help="Do not check it with the platform first."
)
@with_home
def set_secret(
    *, name: str, values: tuple[str, ...], plain: bool, unchecked: bool, paths: "HermesPaths"
) -> None:
    """Store a secret in the keyring.

    You are prompted for the value without echo, or it is read from standard input; it is never
    passed on the command line, where all your programs could see it. A token that its platform
    rejects is not stored, and the previous one stays. If the keyring does not work, the value is
    not stored anywhere else.
    """
    from hermes_desktop.services.secrets.secret_checks import checked_name
    from hermes_desktop.services.secrets.secrets_repository import note_on_hermes
    from hermes_desktop.services.settings.pasted_secret import validate_argument

    if values or "=" in name:
        raise UsageError(
            "Secrets cannot be given on the command line.",
            "Other programs could see them, and the shell would store them in its history.",
            "Enter only the name. You are asked for the value, or it is read from standard input.",
        )
    name = checked_name(output.without_surrogates(name))
    given = validate_argument(name, _ask_for(name))
    if not unchecked:
        _verify_with_platform(paths, name, given.value)
    repository = _repository(paths)
    if not plain:
        _say_that_it_waits()
    repository.keep(name, given.value, plain=plain)
    where = "in a plain file that only you can read" if plain else "in the keyring"
    output.write(f"{name} is stored {where}.\n")
    if given.note:
        output.say(given.note)
    view = repository.find(name)
    if view.differ:
        output.say(_difference(view))
    note = note_on_hermes(view, paths.home)
    if note:
        output.say(note)
    output.say(_takes_effect(view))


@secrets.command("move")
@click.argument("name")
@click.option("--back", is_flag=True, help="Move it from the keyring to .env.")
@with_consent
@with_home
def move(*, name: str, back: bool, consent: Consent, paths: "HermesPaths") -> None:
    """Move a secret to the keyring, or back.

    From .env or config.yaml into the keyring; with --back from the keyring into .env. It is read
    back from its new place before it is removed from the old one and from the stored versions of
    config.yaml.
    """
    from hermes_desktop.services.secrets.secrets_repository import NOT_FOUND_BY_HERMES

    repository = _repository(paths)
    view = repository.find(output.without_surrogates(name))
    note = NOT_FOUND_BY_HERMES.format(name=view.name)
    act, froms = (repository.move_back, _OURS) if back else (repository.move, _MOVED)
    if not any(place.where in froms for place in view.places):
        act(view.name)  # raises an error: it is not stored there
    if back:
        preview = (
            f"{view.name} will be moved from the keyring to .env, where programs can read it.\n"
        )
    else:
        preview = f"{view.name} will be moved to the keyring. {note}\n"
    if not consent.obtain(preview, "Move it?"):
        return
    _say_that_it_waits()
    if back:
        repository.move_back(view.name)
        words = f"{view.name} is in .env again.\n"
    else:
        places = repository.move(view.name)
        words = f"{view.name} is in the keyring, and no longer in {' and '.join(places)}.\n"
    after = repository.find(view.name)
    if consent.as_json:
        output.write_json([_object(after, show_end=False)])
    else:
        output.write(words)
    if not back:
        output.say(note)


@secrets.command("remove")
@click.argument("name")
@with_consent
@with_home
def remove(*, name: str, consent: Consent, paths: "HermesPaths") -> None:
    """Permanently remove a secret from the keyring.

    A secret that was stored with `secrets set --plain` is removed from that file. Values in .env
    and config.yaml stay.
    """
    repository = _repository(paths)
    view = repository.find(output.without_surrogates(name))
    left = [place for place in view.places if place.where not in _OURS]
    if len(left) == len(view.places):
        repository.remove(view.name)  # raises an error: it is not stored here
    then = (
        f"{_words(left[0], show_end=False)} is then used" if left else "it is then stored nowhere"
    )
    kept = " and ".join(place.where for place in view.places if place not in left)
    if consent.obtain(f"{view.name} will be removed from the {kept}; {then}.\n", "Remove it?"):
        _say_that_it_waits()
        repository.remove(view.name)
        if consent.as_json:
            output.write_json([_object(repository.find(view.name), show_end=False)])
        else:
            output.write(f"{view.name} is no longer in the {kept}.\n")


@secrets.command("check")
@with_home
def check(*, paths: "HermesPaths") -> None:
    """Check whether the keyring works.

    Stores a value in it, reads it back and removes it.
    """
    from hermes_desktop.settings.secrets import SecretStoreError

    _say_that_it_waits()
    reading = _repository(paths).check()
    if reading.state != "stored" or not reading.detail:
        raise SecretStoreError(reading.state, reading.detail)
    output.write(output.one_line(f"The keyring works: {reading.detail}.") + "\n")


def _repository(paths: "HermesPaths") -> "SecretsRepository":
    import os

    from hermes_desktop.services.secrets.secret_access import open_secrets
    from hermes_desktop.services.secrets.secrets_repository import SecretsRepository

    clock = SystemClock()
    return SecretsRepository(paths, os.environ, open_secrets(paths, clock), clock)


def _verify_with_platform(paths: "HermesPaths", name: str, value: str) -> None:
    """Verify a secret with its platform; if that cannot be reached, nothing is refused."""
    import os

    from hermes_desktop.services.secrets.platform_facts import PLATFORMS
    from hermes_desktop.services.settings.platform_checks import check_secret, checking_platform

    platform = checking_platform(name)
    if not platform:
        return
    title = PLATFORMS[platform].title
    output.say(f"Checking it with {title}…")
    answer = check_secret(
        paths, os.environ, SystemClock(), platform=platform, name=name, value=value
    )
    if answer.kind == "ok":
        output.say(f"{title} accepts it" + (f": {answer.name}." if answer.name else "."))
    else:
        output.say(f"{title} could not be reached. {answer.words}")


def _ask_for(name: str) -> str:
    if not output.is_input_terminal():
        # Not all of it: it may be an endless device. What is not text is rejected later.
        text = sys.stdin.buffer.read(_MOST_READ).decode("utf-8-sig", "surrogateescape")
        return text.removesuffix("\n").removesuffix("\r")  # the end of a line, not a paste
    return read_hidden(f"{name}: ")


def _say_that_it_waits() -> None:
    if output.is_error_terminal():
        output.say(_WAITING)


def _standing(view: "SecretView", *, show_end: bool) -> str:
    if not view.places:
        return "nowhere"
    counts = view.counts
    words = [_words(place, show_end=show_end) for place in view.places]
    first = _words(counts, show_end=show_end) if counts else words[0]
    others = [word for word in words if word != first]
    return f"{first}; also {', '.join(others)}" if others else first


def _words(place: "SecretPlace", *, show_end: bool) -> str:
    """Describe a place of a secret.

    Such as ``keyring``, ``keyring (locked)``, ``config.yaml (platforms.telegram.token)``.
    """
    inside: list[str] = []
    if place.state != "stored":
        inside.append(place.state)
    if place.where in {"config.yaml", "gateway.json"}:
        inside.append(place.place)
    if show_end and place.end:
        inside.append(f"…{place.end}")
    return f"{place.where} ({', '.join(inside)})" if inside else place.where


def _difference(view: "SecretView") -> str:
    counts = view.counts
    here = counts.where if counts else "none"
    hermes = next((p.where for p in view.places if p.where == ".env"), "")
    beside = f", while `hermes` uses {hermes}" if hermes and hermes != here else ""
    return f"{view.name} has different values; {here} is used here{beside}."


def _takes_effect(view: "SecretView") -> str:
    if view.platform:
        return (
            "Takes effect immediately: a running gateway reconnects the platform, or "
            "disconnects it."
        )
    return "Takes effect immediately."


def _object(view: "SecretView", *, show_end: bool) -> dict[str, Any]:
    counts = view.counts
    return {
        "name": view.name,
        "label": view.label,
        "platform": view.platform,
        "counts": counts.where if counts else "",
        "places": [place.where for place in view.places],
        "states": [place.state for place in view.places],
        "ends": [place.end for place in view.places] if show_end else [],
        "differ": view.differ,
    }
