"""Labels of keyring entries, which the user sees when browsing the keyring."""

import contextlib


def put_label(keyring: object, service: str, name: str, label: str) -> None:
    """Set the label of an entry. Keyrings without labels show ``service`` and ``name`` unchanged.

    Blocks as the keyring does; on its thread only. Raises nothing: the secret is stored regardless
    of its label. The library ``keyring`` sets a label of its own with each new value of an entry.

    Args:
        keyring: A backend of that library, or several in one.
        service: Names the home.
        name: The variable.
        label: The label for the user.
    """
    for backend in getattr(keyring, "backends", (keyring,)):
        collection_of = getattr(backend, "get_preferred_collection", None)
        if collection_of is None:  # no Secret Service
            continue
        with contextlib.suppress(Exception):
            collection = collection_of()
            with contextlib.closing(collection.connection):
                for item in collection.search_items({"service": service, "username": name}):
                    item.set_label(label)
