"""Objects of Python and of its own library, each kind in a file: how they are taken apart, and made again."""
