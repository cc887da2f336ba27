"""A program of ours, run in a workspace that code has prepared for it."""

import csv
import json
import sys

sys.stdout.write(json.dumps({"ran": "as it should", "csv": csv.QUOTE_ALL}))
