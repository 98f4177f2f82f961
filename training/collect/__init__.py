"""Sources from package registries: found, judged by their licences, compared with what is measured, unpacked."""
