"""The entry point of every way to start: ``python -m``, the scripts, a frozen executable.

A frozen program starts itself a second time as the process that other Hermes programs see as the
gateway (:mod:`hermes_desktop.gateway.identity.identity`). Its first argument is checked before
anything is imported, so that this process stays small and starts immediately.
"""

import sys


def main() -> int:
    """Run what the command line requests and return the exit code."""
    if sys.argv[1:2] == ["hermes-gateway"]:
        from hermes_desktop.gateway.identity.identity import main as hold_home

        return hold_home(sys.argv[1:])
    from hermes_desktop.cli.main import main as run_program

    return run_program()


if __name__ == "__main__":
    raise SystemExit(main())
