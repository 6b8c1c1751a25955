"""What the assistant asks a person: the sheet, the dialog, who shows which."""
