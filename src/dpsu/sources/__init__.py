"""Where the data comes from: files, frames, collections, text."""
