# Everyday commands; `just` lists them. Needs https://just.systems (`pip install rust-just`).

# So that `just test -k "this or that"` passes on two arguments, not four.
set positional-arguments

python := ".venv/bin/python"

[private]
default:
    @just --list --unsorted

# Make the virtual environment and install the program with everything that development needs.
setup:
    python3 -m venv .venv
    {{ python }} -m pip install --editable '.[dev]'

# Run the program on a private, temporary home with scripted replies.
demo *arguments:
    .venv/bin/hermes-desktop --demo "$@"

# Fix what ruff can fix, and format.
format:
    .venv/bin/ruff check --fix .
    .venv/bin/ruff format .

# Lint, look for unused code, check the format, the types, the layers and the dependencies.
check:
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/vulture
    .venv/bin/mypy
    .venv/bin/lint-imports
    .venv/bin/deptry hermes_desktop

# Run the tests, or those that are named.
test *arguments:
    {{ python }} -m pytest -n 4 "$@"

# Measure how much of each package the unit tests run, and compare it with the minimums.
coverage:
    {{ python }} -m tests.ci.package_coverage

# Print the benchmark figures.
bench *arguments="tests/benchmarks":
    {{ python }} -m pytest --benchmark-only -s "$@"

# Run everything that must hold before a change lands.
ci *arguments:
    .ci/run "$@"
