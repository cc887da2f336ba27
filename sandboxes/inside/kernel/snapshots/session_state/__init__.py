"""What holds for the whole session beside its variables: settings, random states, hooks of the interpreter."""
