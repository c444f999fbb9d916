"""The normal variates behind the noise, for oracles that add them up themselves."""

import numpy as np

from dpsu.noise import HALF_RANGE, _noisy_cells


def computed_normals(words):
    """The normal quantile of each uniform that begins with one of these words, and how far its other bits can move it."""
    words = np.asarray(words, np.uint64)
    normals, widths, totals = np.zeros((3, words.size))
    cells, decided = np.zeros(words.size, np.int64), np.zeros(words.size, np.bool_)
    centred = (words ^ HALF_RANGE).view(np.int64)
    _noisy_cells(centred, totals, 1.0, 0.0, 1.0, 0.0, normals, widths, cells, decided)
    return normals, widths
