"""How a value is declared, stored and kept secret; not which values exist."""
