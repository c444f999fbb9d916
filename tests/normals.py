"""The normal variates behind the noise, for oracles that add them up themselves."""

import numpy as np

from dpsu.noise import _noisy_cells, centred


def computed_normals(words):
    """The normal quantile of each uniform that begins with one of these words, and how far its other bits can move it."""
    words = np.asarray(words, np.uint64)
    normals, widths, totals = np.zeros((3, words.size))
    cells, decided = np.zeros(words.size, np.int64), np.zeros(words.size, np.bool_)
    _noisy_cells(*centred(words), totals, 1.0, 0.0, 1.0, 0.0, normals, widths, cells, decided)
    return normals, widths
