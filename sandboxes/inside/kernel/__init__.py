"""The program that runs inside every sandbox; standard library only."""
