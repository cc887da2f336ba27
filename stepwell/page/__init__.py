"""The page: threads, questions, steps and files in a browser, rendered on the server."""
