"""The user's own words to keep or to mask: files with one a line."""

from __future__ import annotations

from pathlib import Path

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.formats.registry import input_errors


def listed_words(path: Path | None, *, phrases: bool) -> frozenset[str]:
    """The words (or phrases) of a file, one a line; blank lines and lines that begin with # are skipped.

    Raises:
        UnreadableInputError: The file cannot be read or is not UTF-8.
        ConfigurationError: A line is no word or, where no phrases are allowed, several.
    """
    from inverse_deid.text.tokenizer import tokenize

    if path is None:
        return frozenset()
    text = None
    try:
        with input_errors():
            text = path.read_bytes().decode("utf-8-sig")
    except UnicodeError:
        pass
    except UnreadableInputError as error:
        raise UnreadableInputError(f"{path} {error}") from None
    if text is None:
        raise UnreadableInputError(f"{path} is not UTF-8 text; save it as UTF-8, one word a line")
    lines = {number: line.strip() for number, line in enumerate(text.splitlines(), start=1)}
    words = {number: line for number, line in lines.items() if line and not line.startswith("#")}
    for number, line in words.items():
        found = tokenize(line).words
        if not found or (not phrases and found != [line]):
            raise ConfigurationError(
                f"{path} line {number} is not one word of letters and digits; give each part its own line"
            )
    return frozenset(words.values())
