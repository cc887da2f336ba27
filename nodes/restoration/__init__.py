"""Bringing a sandbox to the step that State names."""
