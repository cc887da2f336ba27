"""Host functions and MCP tools: what cells can call."""
