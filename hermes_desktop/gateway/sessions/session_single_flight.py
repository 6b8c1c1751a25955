"""Single flight: concurrent calls of the same name share one execution and its result."""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Merges concurrent calls of the same name. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, Future[T]] = {}

    def run(self, name: Hashable, call: Callable[[], T]) -> T:
        """Execute the call, or wait for a running call of the same name and share its result."""
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
