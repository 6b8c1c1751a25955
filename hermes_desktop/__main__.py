"""``python -m hermes_desktop``: the same as the console program."""

from hermes_desktop.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
