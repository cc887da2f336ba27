"""Tries, from inside a sandbox, what a sandbox must not let happen: standard library only, harmless where it works."""
