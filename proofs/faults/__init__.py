"""Full, broken and read-only disks, and damaged files: nothing is lost, and errors say what to do."""
