"""Helpers around the compiler: temporary folders, C compilers, worker processes."""
