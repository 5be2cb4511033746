"""The only place where a random generator is born."""

import hashlib

import numpy as np

from libero_safety.types import Key


def rng_for(key: Key, stream: str) -> np.random.Generator:
    """Return the generator of one named stream of one episode.

    The same (key, stream) always gives the same sequence, in any process and on any machine, and
    drawing from one stream moves no other: the seed is a hash of both names.
    """
    text = f"{key.suite}\0{key.task}\0{key.level}\0{key.seed}\0{key.index}\0{stream}"
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))
