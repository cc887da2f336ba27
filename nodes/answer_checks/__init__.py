"""Checks of an answer that need no model."""
