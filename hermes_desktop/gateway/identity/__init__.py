"""The gateway identity of a home: claiming, holding, watching and handing it over."""
