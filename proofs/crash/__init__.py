"""Everything acknowledged survives a kill at any moment."""
