"""`python -m stepwell`: the command, for who names an interpreter and not a script."""

from stepwell.command import main

if __name__ == "__main__":
    main()
