"""Where files come from, and where finished files go."""
