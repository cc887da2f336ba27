"""What sandboxes of every kind share on the host."""
