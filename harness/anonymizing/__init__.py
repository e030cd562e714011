"""Scenarios without what their texts say: the same structure, lengths and kinds of characters, other words and ids."""
