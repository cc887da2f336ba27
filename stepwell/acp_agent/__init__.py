"""Stepwell in editors: the agent's side of the Agent Client Protocol."""
