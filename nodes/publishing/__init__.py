"""What is published: its names, and texts that are written for people."""
