"""Holds a kernel in a sandbox elsewhere, and keeps what the kernel sends until the host has received it."""
