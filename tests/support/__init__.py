"""Tables, releases, laws and oracles that several tests share."""
