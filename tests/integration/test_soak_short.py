"""A gateway through a short life of everything at once; the long one is among the benchmarks."""

import secrets
from pathlib import Path

import pytest

from tests.fakes.soak_crowd import Crowd, conversations, everybody
from tests.fakes.soak_process import ForeignWriter, SoakHome
from tests.fakes.soak_verdict import judge_answers, judge_home, unseen_notes
from tests.fakes.soak_words import TellingModel
from tests.fakes.socket_chat import chat_server

pytestmark = [pytest.mark.slow, pytest.mark.two_processes, pytest.mark.asyncio]


@pytest.mark.timeout(300)
async def test_everything_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    async with chat_server() as chat:
        with TellingModel() as model:
            people = conversations(60)
            gateway = SoakHome(home, model.base_url, chat.port, everybody(people))
            crowd = Crowd(chat, gateway, people, seed=secrets.randbits(16))
            try:
                await live(crowd)
            finally:
                if crowd.writer is not None:
                    crowd.writer.close()
                await gateway.close()
    ends, wrong = judge_answers(crowd)
    figures, wrong_files = judge_home(home)
    _, unseen = unseen_notes(home, crowd.notes)
    wrong += wrong_files + unseen + model.mixed
    assert not wrong, "\n".join([f"{dict(ends)} {figures}", *wrong[:20], *crowd.where_to_look()])
    # How many arrive while a gateway closes depends on how long a slow machine takes to close it.
    accepted = ends.total() - ends["told that the gateway closes"]
    assert ends["answered once"] > accepted / 2, ends
    assert ends["answered once"] >= len(people), ends
    assert crowd.writer is not None
    assert crowd.notes
    assert not crowd.writer.failed


async def live(crowd: Crowd) -> None:
    gateway = crowd.gateway
    await crowd.serve()
    await crowd.storm(3.0, quiet=True)
    crowd.writer = ForeignWriter(gateway.home / "state.db")
    await crowd.storm(3.0)
    gateway.kill()
    await gateway.ended()
    await crowd.serve()
    await crowd.storm(2.0)
    gateway.restart_inside()
    await crowd.storm(4.0)
    await gateway.ask_to_stop()
    assert await gateway.ended() == 0
    await crowd.serve(later_s=900)
    await crowd.storm(3.0)
    gateway.kill(identity_too=True)
    await gateway.ended()
    await crowd.serve()
    await crowd.settle()
    await crowd.write_one_note()
    await crowd.settle()
    gateway.terminate()
    assert await gateway.ended() == 0
