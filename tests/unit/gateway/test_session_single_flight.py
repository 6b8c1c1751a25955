"""Concurrent calls of one name do the work once and share what comes of it."""

import threading

import pytest

from hermes_desktop.gateway.session import SingleFlight


def test_who_comes_meanwhile_shares_the_result_or_the_error() -> None:
    flights: SingleFlight[int] = SingleFlight()
    begun, go_on = threading.Event(), threading.Event()
    errors: list[Exception] = []

    def work() -> int:
        begun.set()
        go_on.wait()
        raise OSError("no")

    def ask() -> None:
        try:
            flights.run("a", work)
        except OSError as error:
            errors.append(error)

    first = threading.Thread(target=ask)
    first.start()
    begun.wait()
    assert flights.run("b", lambda: 2) == 2  # another name does not wait
    second = threading.Thread(target=ask)
    second.start()
    go_on.set()
    first.join()
    second.join()
    assert len(errors) == 2
    assert flights.run("a", lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        flights.run("a", lambda: 1 // 0)
