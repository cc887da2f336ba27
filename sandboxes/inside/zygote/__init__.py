"""The zygote of local sandboxes: standard library only, started by file path, it forks each one and isolates it."""
