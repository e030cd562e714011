"""One writer per form of report."""
