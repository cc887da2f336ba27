"""What compares two sessions; it runs in the sandbox, where the values of both are, and is sent there as text."""
