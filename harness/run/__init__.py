"""One scenario on one backend, the comparison of backends, and the session that holds them."""
