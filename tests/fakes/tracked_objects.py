"""What the garbage collector tracks, listed while other threads run.

``gc.get_objects()`` includes tuples that another thread is still building. Whoever holds its list
while that thread continues makes ``tuple()`` fail there with a SystemError, because a tuple can
only grow while nothing else refers to it. So the list never reaches a name here: it is made, read
and dropped within one call of a C function, during which the interpreter switches to no thread.
"""

import gc
from collections import Counter
from itertools import chain
from typing import TypeVar

_Kind = TypeVar("_Kind")


def tracked_count() -> int:
    """Return the number of tracked objects."""
    return sum(map(len, map(gc.get_objects, (None,))))


def tracked_kinds() -> Counter[type]:
    """Return the number of tracked objects of each type."""
    return Counter(map(type, chain.from_iterable(map(gc.get_objects, (None,)))))


def tracked_of(kind: type[_Kind]) -> list[_Kind]:
    """Return the tracked objects of a type or of a subclass of it; not tuples."""
    everything = chain.from_iterable(map(gc.get_objects, (None,)))
    return list(filter(kind.__instancecheck__, everything))
