"""Where replies come from: one module per kind of endpoint, behind one narrow seam."""
