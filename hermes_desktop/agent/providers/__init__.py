"""Sources of replies: one module per kind of endpoint, behind one narrow interface."""
