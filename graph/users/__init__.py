"""Users: who asks, and what they may do and use."""
