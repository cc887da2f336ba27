"""The built-in playbook: a fixed exploration of data, by a model that is none."""
