"""A suite of our own: records made from a seed, the messy files that hold them, and questions with computed answers."""
