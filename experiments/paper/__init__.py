"""The paper's evidence, made again: every table and figure beside the numbers that were published."""
