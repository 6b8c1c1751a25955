"""One piece of work per name at a time; who asks meanwhile gets the same result."""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Joins concurrent calls of the same name. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, Future[T]] = {}

    def run(self, name: Hashable, call: Callable[[], T]) -> T:
        """Do the work, or wait for who does it already and share what comes of it."""
        with self._lock:
            under_way = self._flights.get(name)
            flight = self._flights.setdefault(name, Future())
        if under_way is not None:
            return under_way.result()
        try:
            result = call()
        except BaseException as error:
            flight.set_exception(error)
            raise
        else:
            flight.set_result(result)
            return result
        finally:
            with self._lock:
                del self._flights[name]
