"""The warm parent of local sandboxes: standard library only, started by file path, it forks and walls in each one."""
