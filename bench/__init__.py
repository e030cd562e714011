"""What the prepare path and the harness cost, beside the bounds that they are held to."""
