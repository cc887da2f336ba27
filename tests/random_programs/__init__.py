"""Random programs that are restored at random steps and run on: `python -m tests.random_programs --programs 1000`."""
