"""Tables, releases, distributions and oracles that several tests share."""
