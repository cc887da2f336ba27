"""Files of a session: those of the workspace and outside of it, and files that are open."""
