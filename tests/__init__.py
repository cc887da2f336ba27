"""The tests; checkpoints are read as strictly as with `make test`, also where somebody calls pytest by hand."""

import os

os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")  # read once, when LangGraph is first imported

RUN_FOLDER = "TESTS_RUN_FOLDER"
"""The variable that names the folder of a run of tests: its place for temporary files, which is removed after it."""
