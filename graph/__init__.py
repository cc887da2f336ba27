"""What is remembered, and what follows what."""
