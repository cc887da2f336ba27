#!/bin/sh
# Analyse the sample data with the built-in playbook. Everything stays in .demo/ of this checkout.
set -eu
cd "$(dirname "$0")/.."
export STEPWELL_HOME="$PWD/.demo/home" STEPWELL_MODEL=playbook
mkdir -p .demo
exec .venv/bin/stepwell run "What do the records of wildlife strikes show?" examples/birdstrikes.csv --artifacts .demo/artifacts "$@"
