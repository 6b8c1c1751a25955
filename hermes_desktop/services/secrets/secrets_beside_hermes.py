"""What `hermes` finds of a secret stored by this program, where both use the same home."""

from pathlib import Path

from hermes_desktop.services.secrets.secrets_book import SecretView

_MADE_BY_HERMES = ("cron", "sandboxes", "auth.lock", ".update_check")
"""Folders and files that `hermes` creates in its home when it runs, and that we never create."""

_READ_BY_HERMES = frozenset({"environment", ".env"})


def hermes_uses(home: Path) -> bool:
    """Return whether `hermes` has run on this home. Blocking: reads the folder."""
    return any((home / name).exists() for name in _MADE_BY_HERMES)


def note_on_hermes(view: SecretView, home: Path) -> str:
    """Return a note on how `hermes` sees a secret that was just stored here; "" for nothing.

    Where both programs find a value but not the same one, ``view.differ`` indicates it.
    """
    if view.differ or not hermes_uses(home):
        return ""
    places = [place.where for place in view.places]
    read = [where for where in places if where in _READ_BY_HERMES]
    if read:
        where = "the environment" if read[0] == "environment" else read[0]
        return f"`hermes`, which uses this home, too, reads {view.name} from {where}."
    kept = "keyring" if "keyring" in places else "file"
    return (
        f"`hermes`, which uses this home, too, does not look into that {kept}: it reads the "
        f"environment and .env only. `hermes-desktop secrets move --back {view.name}` puts the "
        "secret into .env, where both programs find it."
    )
