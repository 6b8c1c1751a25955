"""Messages of the program to the assistant about ended background processes."""

from hermes_desktop.agent.tools.processes.process_records import LostProcess
from hermes_desktop.agent.tools.processes.process_table import ProcessInfo


def ended_words(info: ProcessInfo, output: str) -> str:
    """Return the message about an ended process."""
    how = f"exit code {info.code}" if info.code is not None else "exit code unknown"
    shown = output.strip() or "(nothing)"
    return (
        f"[From the program, not the user: the background process {info.id} has ended ({how}).\n"
        f"Command: {info.command}\nThe end of its output:\n{shown}\n]"
    )


def lost_words(lost: LostProcess) -> str:
    """Return the message about a process of an earlier run."""
    return (
        f"[From the program, not the user: the background process {lost.id} was ended because the "
        f"program did.\nCommand: {lost.command}\n]"
    )
