"""What an entry is called where a person looks through the keyring."""

import contextlib


def put_label(keyring: object, service: str, name: str, label: str) -> None:
    """Call an entry so. Keyrings without labels show ``service`` and ``name`` as they are.

    Blocks as the keyring does; on its thread only. Raises nothing: the secret is kept, whatever
    it is called. The library ``keyring`` gives an entry a label of its own with each new value.

    Args:
        keyring: A backend of that library, or several in one.
        service: Names the home.
        name: The variable.
        label: For the person.
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
