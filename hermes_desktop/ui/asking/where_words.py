"""Display text for the place where a request was answered."""

from PySide6.QtCore import QCoreApplication

from hermes_desktop.ui.words.source_names import source_name


def where_words(by: str) -> str:
    """Return a phrase that follows "Answered"."""
    if by == "terminal":
        return QCoreApplication.translate("where_words", "at a terminal")
    if by == "rpc":
        return QCoreApplication.translate("where_words", "in another program")
    return QCoreApplication.translate("where_words", "in {}").format(source_name(by))
