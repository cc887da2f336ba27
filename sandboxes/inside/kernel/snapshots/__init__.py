"""Takes and restores snapshots: the variables as one graph of objects, and the files of the workspace.

`engine` is what the kernel calls. `save` takes a snapshot: it divides the variables into `units`, which `pickling`
writes with the `reducers` of each type. `load` restores one; `partial_loading` keeps what can be loaded of a unit that
cannot, and `earlier_snapshot` reads single variables of an earlier step. All of them ask `current_session` and
`cell_sources`.

The folders:

- `objects`: kinds of objects of Python, `data`: of libraries, each with its reducers and what makes them again.
- `sqlite`, `duckdb`: connections to databases.
- `files`: those of the session, open ones, and locks on them.
- `modules`: imported ones, and those that cells made.
- `library_state`: what cells have put into libraries, `session_state`: settings of the interpreter and of libraries.
- `storing`: blobs, the manifest, large buffers and what tells that they have not changed.

What is called by name when a stream is loaded (`stepwell_kernel.snapshots.…`) is part of the format: `stored_names`
says where names of earlier versions are now.
"""
