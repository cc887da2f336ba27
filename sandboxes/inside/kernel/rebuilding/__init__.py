"""Makes again what a snapshot could not keep, by running only the cells that it needs."""
