"""Where every way to start the program begins: ``python -m``, the scripts, a frozen executable.

A frozen program starts itself once more as the process that other Hermes programs see as the
gateway (:mod:`hermes_desktop.gateway.identity.identity`). Its first argument is looked at before
anything is imported, so that it is small and starts at once.
"""

import sys


def main() -> int:
    """Run whatever the command line asks for; returns the exit code."""
    if sys.argv[1:2] == ["hermes-gateway"]:
        from hermes_desktop.gateway.identity.identity import main as hold_home

        return hold_home(sys.argv[1:])
    from hermes_desktop.cli.main import main as run_program

    return run_program()


if __name__ == "__main__":
    raise SystemExit(main())
