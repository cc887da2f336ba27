"""Connections of sqlite: what they are to, what they were told and taught, and what they are in the middle of."""
