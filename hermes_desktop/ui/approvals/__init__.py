"""Asking a person before something that may do harm: the sheet, the dialog, who shows which."""
