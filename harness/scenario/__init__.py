"""The YAML format: model, loader, schema, and the writes that a scenario means."""
