"""A test harness that drives PowerContext's prepare path on SQLite and OceanBase and judges every answer."""
