"""Prompts, and what of a thread stands in them."""
