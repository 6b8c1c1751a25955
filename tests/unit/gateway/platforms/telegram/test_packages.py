"""How the missing package is named."""

from hermes_desktop.gateway.platforms.telegram.packages import install_command


def test_the_command_fits_how_the_program_was_installed() -> None:
    wanted = "'python-telegram-bot>=22.5,<23'"
    pipx = install_command("/home/ann/.local/share/pipx/venvs/hermes-desktop", "/x/python")
    assert pipx == f"pipx inject hermes-desktop {wanted}"
    uv = install_command("/home/ann/.local/share/uv/tools/hermes-desktop", "/x/python")
    assert uv == f"uv tool install --with {wanted} hermes-desktop"
    assert install_command("/venv", "/venv/bin/python") == (
        f"/venv/bin/python -m pip install {wanted}"
    )
