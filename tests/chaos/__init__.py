"""Disturbs analyses at random moments and resumes them, until they end as undisturbed ones do: `make chaos`."""
