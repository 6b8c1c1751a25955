from pathlib import Path

import pytest


@pytest.fixture
def self_signed() -> Path:
    """Certificate and key for 127.0.0.1 in one file, good until 2126; of no use to anybody else."""
    return Path(__file__).parent / "self_signed.pem"
