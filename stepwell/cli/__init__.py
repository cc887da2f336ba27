"""The command: its options, its views, and how it ends."""
