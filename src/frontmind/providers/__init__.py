"""Models: the protocol, the encoders, the clients, and the fakes that are public on purpose."""
