"""The files that the parts mask, written when they are first asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from benchmarks.in_process import NARRATIVE_TOKENS
from benchmarks.narratives import Sample, endless, first_texts, of_length, pieces, write_sample
from benchmarks.peer import N_FIRST
from inverse_deid.text.tokenizer import TOKEN_PATTERN
from inverse_deid.training.documents import corpus_sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which documents are masked.

    Args:
        files: JSON Lines files; none = invented documents.
        n_documents: Of the parts that mask once.
        n_few: Of the parts that are slow: peers, and what runs on one core. A few more are masked first.
        n_invented: So many are invented if there are no files; more are made of them.
        seed: Decides what is invented, and the order of the documents of files.
    """

    files: Sequence[Path] = ()
    n_documents: int = 10_000
    n_few: int = 1_000
    n_invented: int = 1_000
    seed: int = 20260101


class Material:
    """Files in a folder.

    Args:
        wanted: Which documents.
        folder: Is emptied by the caller.
    """

    def __init__(self, wanted: Wanted, folder: Path) -> None:
        self.wanted = wanted
        self._folder = folder
        self._written: dict[str, Sample] = {}

    @cached_property
    def _texts(self) -> list[str]:
        return first_texts(self.wanted.files, self.wanted.n_invented, self.wanted.seed)

    def documents(self) -> Sample:
        """Whole documents."""
        n = self.wanted.n_documents
        return self._sample("documents", lambda: islice(self._stream(), n))

    def few(self) -> Sample:
        """The first of them, those before the clock starts included."""
        n = self.wanted.n_few + N_FIRST
        return self._sample("few", lambda: islice(self._stream(), n))

    def few_measured_tokens(self) -> int:
        """Tokens of the few documents that are masked while the clock runs."""
        with self.few().path.open(encoding="utf-8") as stream:
            texts = [json.loads(line)["text"] for line in islice(stream, N_FIRST, None)]
        return sum(len(TOKEN_PATTERN.findall(text)) for text in texts)

    def short(self, n_documents: int) -> Sample:
        """Narratives of some thirty tokens."""
        return self._sample(f"short-{n_documents}", lambda: islice(self._short(), n_documents))

    def of_length(self, n_documents: int, n_tokens: int) -> Sample:
        """Documents of one length."""
        stream = self._short()
        texts = (of_length(stream, n_tokens) for _ in range(n_documents))
        return self._sample(f"{n_documents}-of-{n_tokens}", lambda: texts)

    def described(self) -> dict[str, object]:
        """Describe the documents for the report, by numbers and hashes."""
        files = {file.name: corpus_sha256(file) for file in self.wanted.files}
        samples = {
            name: {"documents": one.n_documents, "tokens": one.n_tokens}
            for name, one in (("documents", self.documents()), ("few", self.few()))
        }
        return {"files": files, "seed": self.wanted.seed, **samples}

    def _stream(self) -> Iterator[str]:
        return endless(self._texts, self.wanted.seed)

    @cached_property
    def _pieces(self) -> list[str]:
        return list(pieces(self._texts, NARRATIVE_TOKENS))

    def _short(self) -> Iterator[str]:
        return endless(self._pieces, self.wanted.seed)

    def _sample(self, name: str, texts: Callable[[], Iterator[str]]) -> Sample:
        if name not in self._written:
            self._written[name] = write_sample(self._folder / f"{name}.jsonl", texts())
        return self._written[name]
