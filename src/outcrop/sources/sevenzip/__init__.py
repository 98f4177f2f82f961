"""SEVENZIP: 7z archives, their list of files and what they hold."""
