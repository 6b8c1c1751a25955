"""The command line: ``hermes-desktop`` with its subcommands."""
