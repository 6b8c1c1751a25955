"""Shortens a conversation as a program of its own: ``compressing_programs.py DB URL MODE``.

Says ``ready``, waits for a line, shortens, and prints what came of it as JSON.
"""

import json
import sys
import threading

from hermes_desktop.agent.compression.compression_settings import CompressionSettings
from hermes_desktop.agent.compression.context_compression import CompactionRequest, Compactor
from hermes_desktop.agent.context_length import ContextWindows
from hermes_desktop.agent.providers.openai_compatible import OpenAICompatibleProvider
from hermes_desktop.agent.types import ModelChoice
from hermes_desktop.core.clock import SystemClock
from hermes_desktop.state import SessionDB
from tests.fakes.prompts import prompts_beside


def main() -> None:
    path, base_url, mode = sys.argv[1:4]
    db = SessionDB(path)
    choice = ModelChoice("narrow", base_url, None, "custom", "a test")
    care = Compactor(
        store=db,
        prompts=prompts_beside(db),
        provider=OpenAICompatibleProvider(choice),
        windows=ContextWindows(),
        settings=CompressionSettings(in_place=mode == "in_place"),
        clock=SystemClock(),
    )
    print("ready", flush=True)
    sys.stdin.readline()
    done = care.shorten("20260304_120000_abcdef", CompactionRequest("threshold"), threading.Event())
    print(json.dumps([done.kind, done.session_id, str(done.error or "")]), flush=True)
    care.close()
    db.close()


if __name__ == "__main__":
    main()
