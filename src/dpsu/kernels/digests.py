"""The compiled loop of digests."""

from dpsu.kernels.arrays import Bytes, Ints
from dpsu.kernels.compiled import kernel


@kernel
def mix_in(starts: Ints, sizes: Ints, data: Bytes, column: int, blocks: Bytes) -> None:
    """Add bytes of each string to a block, from the given column on, bit by bit without carry."""
    for row in range(starts.size):
        for k in range(sizes[row]):
            blocks[row, column + k] ^= data[starts[row] + k]
