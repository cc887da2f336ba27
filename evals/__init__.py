"""Evaluations: how good the answers are, measured on suites of tasks whose answers are known."""
