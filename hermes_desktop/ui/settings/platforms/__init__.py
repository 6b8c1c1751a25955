"""The page of platforms in the settings: what each one needs, whether it works, who may write."""
