"""Proving a step: what a restore gives is compared with the session as it was when the step was kept."""
