"""Connections of duckdb and the databases in memory that they have."""
