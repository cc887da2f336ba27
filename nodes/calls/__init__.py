"""Calls of host functions: answered from the record, held for approval, shown to whoever approves."""
