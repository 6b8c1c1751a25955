"""Both programs let the same people in, and treat strangers alike."""

import dataclasses
import json

from hermes_desktop.gateway.commands.gateway_commands import write_home
from hermes_desktop.gateway.config.gateway_config import Platform
from hermes_desktop.gateway.session import SessionSource
from hermes_desktop.settings.env_file import read_env_file
from tests.fakes.senders import CASES
from tests.interop.conftest import RealHermes


def test_the_table_of_senders_is_what_hermes_decides(hermes: RealHermes) -> None:
    cases = json.dumps([dataclasses.asdict(case) for case in CASES])
    answers = hermes.script("judge_senders.py", cases)
    differing = [
        (case, answer)
        for case, answer in zip(CASES, answers, strict=True)
        if answer != [case.allowed, case.treatment]
    ]
    assert not differing


def test_the_home_that_a_chat_was_made_is_its_home_for_hermes(hermes: RealHermes) -> None:
    env = hermes.home / ".env"
    env.write_text("TELEGRAM_BOT_TOKEN=123456:abcdef\nTELEGRAM_HOME_CHANNEL=1 # old\n")
    write_home(env, SessionSource(Platform.TELEGRAM, "-100", thread_id="7"))
    variables = json.dumps(read_env_file(env))
    home = hermes.script("show_gateway_config.py", variables)["platforms"]["telegram"]
    assert home["home_channel"]["chat_id"] == "-100"
    assert home["home_channel"]["thread_id"] == "7"
