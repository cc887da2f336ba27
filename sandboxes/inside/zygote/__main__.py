"""Run as a program, the folder is the zygote of local sandboxes: `… FOLDER CONTROL`, CONTROL a descriptor."""

import sys

from .serving import serve

if __name__ == "__main__":
    serve(int(sys.argv[1]))
