"""What a sandbox may reach of the network, and the one way there: a proxy of the host's."""
