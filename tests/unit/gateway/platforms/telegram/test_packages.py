"""How the missing package is named."""

import os
import subprocess
import sys
from pathlib import Path

from hermes_desktop.gateway.platforms.telegram.loading import install_command, lacking


def test_the_command_fits_how_the_program_was_installed() -> None:
    wanted = "'python-telegram-bot>=22.5,<23'"
    pipx = install_command("/home/ann/.local/share/pipx/venvs/hermes-desktop", "/x/python")
    assert pipx == f"pipx inject hermes-desktop {wanted}"
    uv = install_command("/home/ann/.local/share/uv/tools/hermes-desktop", "/x/python")
    assert uv == f"uv tool install --with {wanted} hermes-desktop"
    assert install_command("/venv", "/venv/bin/python") == (
        f"/venv/bin/python -m pip install {wanted}"
    )


def test_whether_it_is_missing_is_looked_for_without_loading_it() -> None:
    code = (
        "import sys; from hermes_desktop.gateway.platforms.shipped import shipped_platforms;"
        "from hermes_desktop.gateway.config.gateway_config import Platform;"
        "assert shipped_platforms().why_not(Platform.TELEGRAM) == '';"
        "assert not {'telegram', 'markdown_it', 'httpx'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert lacking() == ""


def test_a_home_with_a_bot_is_not_hosted_without_the_package(tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, sys; real = u.find_spec;"
        "u.find_spec = lambda name, *more: None if name == 'telegram' else real(name, *more);"
        "sys.argv[1:] = ['gateway', 'run'];"
        "from hermes_desktop.__main__ import main; sys.exit(main())"
    )
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    home.joinpath("config.yaml").write_text(
        "platforms: {telegram: {enabled: true, token: '123456:AAxx'}}\n"
    )
    environment = {"HERMES_HOME": str(home), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | {"PYTHONPATH": str(Path(__file__).parents[5])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert (
        "Messages from Telegram. The package python-telegram-bot is not installed." in done.stderr
    )
    assert "pip install 'python-telegram-bot" in done.stderr
