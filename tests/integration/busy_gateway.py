"""A gateway that is at a turn until it is killed. A program.

    python busy_gateway.py HOME MOMENT

Prints MOMENT and waits as soon as the turn is there: ``made`` (its agent is being made) or
``asked`` (its message is stored and the model was asked).
"""

import asyncio
import sys
from pathlib import Path

from tests.fakes.gateway import running_gateway
from tests.support.waiting import until


async def main(home: Path, moment: str) -> None:
    async with running_gateway(home / "state.db", hosted=True) as gateway:
        reached: list[object] = []
        hold = asyncio.Event()

        def stop_here(_request: object) -> None:
            print(moment, flush=True)
            reached.append(None)
            sys.stdin.read(1)

        if moment == "made":
            gateway.factory.on_make = stop_here
        else:
            gateway.model.on_ask = stop_here
        gateway.telegram.receive("long")
        await until(lambda: bool(reached))
        await hold.wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
