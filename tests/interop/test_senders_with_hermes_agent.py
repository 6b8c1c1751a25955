"""Both programs let the same people in, and treat strangers alike."""

import dataclasses
import json

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
