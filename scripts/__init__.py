"""What the project needs around its code: the demonstration, builds, releases, the audit of dependencies."""
