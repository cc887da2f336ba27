"""The program that looks at input files, inside the sandbox, and describes them."""
