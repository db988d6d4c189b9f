"""`inverse-deid serve` with a stand-in for the model: words that begin with a capital or a digit are masked.

It takes `SECONDS_PER_WORD` for each word, if the environment has this variable.
"""

import os
import time

from fake_maskers import FakeMasker

import inverse_deid.masking.assemble as real


class CapitalMasker(FakeMasker):
    """Masks the words of the deny list as well, so that the choices of a request can be seen."""

    def __init__(self, settings):
        super().__init__(lambda word: word.islower() and word not in settings.deny)
        self._seconds_per_word = float(os.environ.get("SECONDS_PER_WORD", "0"))

    def mask_many(self, docs):
        time.sleep(self._seconds_per_word * sum(len(doc.text.split()) for doc in docs))
        return super().mask_many(docs)


real.load_parts = lambda settings: None
real.build_deidentifier = lambda settings, parts=None: CapitalMasker(settings)

if __name__ == "__main__":
    from inverse_deid.cli.main import main

    main()
