"""The gateway through hours of a chat's life, in minutes. Run with ``pytest tests/benchmarks``.

    HERMES_SOAK_CHATS=1000 HERMES_SOAK_LIVES=20 HERMES_SOAK_MINUTES=5 \\
        pytest tests/benchmarks/test_soak.py --benchmark-only -s \\
        -o faulthandler_timeout=0

First short lives that end in every way, then a long one that is measured. Nothing fails on a slow
machine but what must never happen: a reply that is lost, brought twice without a word, or brought
to somebody else; wrong counters; chats that are elsewhere than the files say; what piles up.
"""

import asyncio
import json
import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.fakes.soak_crowd import Crowd, conversations, everybody
from tests.fakes.soak_figures import Series, table
from tests.fakes.soak_process import ForeignWriter, SoakHome
from tests.fakes.soak_verdict import judge_answers, judge_home, unseen_notes
from tests.fakes.soak_words import TellingModel
from tests.fakes.socket_chat import chat_server

CHATS = int(os.environ.get("HERMES_SOAK_CHATS", "1000"))
LIVES = int(os.environ.get("HERMES_SOAK_LIVES", "20"))
MINUTES = float(os.environ.get("HERMES_SOAK_MINUTES", "5"))
SEED = int(os.environ.get("HERMES_SOAK_SEED", "1"))
REAL_PYTHON = os.environ.get("HERMES_AGENT_PYTHON", "")
IDLE_S = 30.0


@pytest.mark.timeout(7200)
def test_months(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    benchmark.pedantic(lambda: asyncio.run(soak(tmp_path)), rounds=1)


async def soak(folder: Path) -> None:
    home = folder / "home"
    home.mkdir(mode=0o700)
    async with chat_server(tick_s=1.0) as chat:
        with TellingModel() as model:
            people = conversations(CHATS)
            gateway = SoakHome(home, model.base_url, chat.port, everybody(people))
            crowd = Crowd(chat, gateway, people, seed=SEED)
            try:
                await short_lives(crowd, random.Random(SEED))
                judge(crowd, model, f"{LIVES} short lives")
                census = await long_life(crowd)
                judge(crowd, model, "and a long one")
            finally:
                if crowd.writer is not None:
                    crowd.writer.close()
                await gateway.close()
    assert len(census["after"]["tasks"]) <= len(census["before"]["tasks"]) + 1


# ------------------------------------------------------------------------------------ short lives


async def short_lives(crowd: Crowd, chance: random.Random) -> None:
    gateway = crowd.gateway
    hermes = Path(REAL_PYTHON).with_name("hermes") if REAL_PYTHON else None
    for number in range(LIVES):
        gateway.busy_mode = chance.choice(("queue", "queue", "interrupt"))
        await crowd.serve(later_s=chance.choice((70.0, 70.0, 700.0)))
        if crowd.writer is None:
            await crowd.storm(3.0, quiet=True)
            python = Path(REAL_PYTHON) if REAL_PYTHON else None
            crowd.writer = ForeignWriter(gateway.home / "state.db", python)
        await crowd.storm(chance.uniform(2.0, 10.0))
        if number % 4 == 3:
            gateway.restart_inside()
            await crowd.storm(6.0)
        end = ("kill", "kill both", "terminate", "stop", "hermes stop")[number % 5]
        crowd.faults[end] = crowd.faults.get(end, 0) + 1
        match end:
            case "kill" | "kill both":
                gateway.kill(identity_too=end == "kill both")
            case "terminate":
                gateway.terminate()
            case _:
                await gateway.ask_to_stop(hermes if end == "hermes stop" else None)
        await gateway.ended()
    gateway.busy_mode = "queue"
    await crowd.serve()
    await crowd.settle()
    gateway.terminate()
    assert await gateway.ended() == 0
    assert set(gateway.codes) <= {0, -9}, gateway.codes


# ----------------------------------------------------------------------------------- the long life


async def long_life(crowd: Crowd) -> dict[str, Any]:
    gateway = crowd.gateway
    await crowd.serve()
    began = time.monotonic()
    await crowd.ask_everybody()
    await crowd.settle()
    first_round = time.monotonic() - began
    series = Series()
    sampling = asyncio.create_task(series.follow(gateway))
    await crowd.storm(30.0)  # warm: caches are full, every way was gone once
    await crowd.settle()
    before = await gateway.census()
    series.mark("warm")
    said = len(crowd.said)
    await crowd.storm(MINUTES * 60)
    answered = len(crowd.said) - said
    await crowd.settle()
    after = await gateway.census()
    series.mark("end")
    await asyncio.sleep(5.0)
    idle = await series.idle(gateway, IDLE_S)
    sampling.cancel()
    rate = f"{answered / (MINUTES * 60):.1f}"
    print(f"\nfirst questions of {CHATS} chats: {first_round:.1f} s; then {rate} a second")
    print(series.chart("memory, MiB", lambda each: each.rss_mib))
    print(table(("", "warm", "end"), series.compared(before, after)))
    print(table(("idle", ""), idle))
    print(table(("objects", "more"), more_objects(before, after)))
    gateway.terminate()
    assert await gateway.ended() == 0
    return {"before": before, "after": after}


def more_objects(before: dict[str, Any], after: dict[str, Any]) -> Sequence[Sequence[str]]:
    grown = {kind: count - before["kinds"].get(kind, 0) for kind, count in after["kinds"].items()}
    return [(kind, str(more)) for kind, more in sorted(grown.items(), key=lambda e: -e[1])[:8]]


# ------------------------------------------------------------------------------------- the verdict


def judge(crowd: Crowd, model: TellingModel, title: str) -> None:
    ends, wrong = judge_answers(crowd)
    figures, wrong_files = judge_home(crowd.gateway.home)
    seen, unseen = unseen_notes(crowd.gateway.home, crowd.notes)
    wrong += wrong_files + unseen + model.mixed
    rows = [(name, str(count)) for name, count in sorted(ends.items())]
    rows += [(name, str(value)) for name, value in figures.items()]
    rows += [("what happened", str(crowd.faults)), ("commands", str(len(crowd.commands)))]
    rows += [("notes of another program", str(len(crowd.notes))), ("seen by answers", str(seen))]
    rows += [("notes not stored", str(crowd.writer.failed if crowd.writer else ""))]
    print("\n" + table((title, ""), rows))
    sent = json.dumps([*crowd.chat.sent_texts(), *crowd.told_of()], indent=1)
    crowd.gateway.home.with_name("chat.json").write_text(sent, encoding="utf-8")
    assert not wrong, "\n".join([*wrong[:30], *crowd.where_to_look()])
