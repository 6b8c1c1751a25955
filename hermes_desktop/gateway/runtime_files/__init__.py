"""Files in which a gateway records that it runs and how it ended."""
