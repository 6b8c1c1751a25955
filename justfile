# The verbs of a day's work; `just` lists them. Needs https://just.systems (`pip install rust-just`).

python := ".venv/bin/python"

[private]
default:
    @just --list --unsorted

# Make the virtual environment and install the program with everything that development needs.
setup:
    python3 -m venv .venv
    {{python}} -m pip install --editable '.[dev]'

# Run the program on a private, temporary home with scripted replies.
demo *arguments:
    .venv/bin/hermes-desktop --demo {{arguments}}

# Lint, check the format, the types, the layers and the dependencies.
check:
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/mypy
    .venv/bin/lint-imports
    .venv/bin/deptry hermes_desktop

# Run the tests, or those that are named.
test *arguments:
    {{python}} -m pytest -n 4 {{arguments}}

# Print the benchmark figures.
bench *arguments="tests/benchmarks":
    {{python}} -m pytest --benchmark-only -s {{arguments}}

# Run everything that must hold before a change lands.
ci *arguments:
    .ci/run {{arguments}}
