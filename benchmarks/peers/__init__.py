"""What other search engines need for the same work."""
