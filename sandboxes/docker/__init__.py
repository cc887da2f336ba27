"""Sandboxes in containers of any engine with Docker's command line: Docker, Podman, nerdctl."""
