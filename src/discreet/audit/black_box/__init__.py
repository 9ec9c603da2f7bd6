"""Lower bounds on ε from outputs on neighbouring inputs."""
