"""An analysis as something to hand on: a report, a notebook, an archive."""
