"""Fits as tables for papers, web pages and other programs. Every name is escaped for its format."""
