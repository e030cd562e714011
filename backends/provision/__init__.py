"""Ways to get an OceanBase engine."""
