"""Where content comes from: folders, git repositories, URLs, raw text."""
