"""What proves that nothing is lost and nothing crashes: kills, faults, random operations and inputs, mutants."""
