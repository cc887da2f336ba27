"""What keeps a kernel alive in a sandbox on somebody else's machine, and hands over what it says when it is asked."""
