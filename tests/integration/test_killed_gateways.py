"""Chats of a gateway that is killed: where they were last said to be, whatever was under way."""

from collections.abc import Callable

import pytest


@pytest.mark.slow
@pytest.mark.two_processes
def test_killed_while_it_keeps_chats(killed: Callable[[str, int], None]) -> None:
    """30 rounds, each ended by SIGKILL; the program checks after each."""
    killed("killed_gateways.py", 30)
