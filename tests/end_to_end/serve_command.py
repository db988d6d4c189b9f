"""`inverse-deid serve` with a stand-in for the model: words that begin with a capital or a digit are masked."""

from fake_maskers import FakeMasker

import inverse_deid.masking.assemble as real


class CapitalMasker(FakeMasker):
    """Masks the words of the deny list as well, so that the choices of a request can be seen."""

    def __init__(self, settings):
        super().__init__(lambda word: word.islower() and word not in settings.deny)


real.load_parts = lambda settings: None
real.build_deidentifier = lambda settings, parts=None: CapitalMasker(settings)

if __name__ == "__main__":
    from inverse_deid.cli.main import main

    main()
