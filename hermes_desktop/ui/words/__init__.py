"""Values in words for a person. No widgets."""
