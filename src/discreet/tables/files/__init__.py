"""Sub-room tables/files."""
