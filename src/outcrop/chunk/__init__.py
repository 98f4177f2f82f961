"""Documents to Chunks, with exact offsets."""
