"""Sources of data: files, frames, collections, text."""
