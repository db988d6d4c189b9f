"""What the README shows is what the tool does."""

import re
from pathlib import Path

from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def quotes():
    """The quoted paragraphs of the README, each as one line."""
    blocks = re.findall(r"(?:^> .*\n)+", README, re.MULTILINE)
    return [" ".join(line.removeprefix("> ") for line in block.splitlines()) for block in blocks]


def test_the_example_is_what_the_packaged_model_makes_of_it():
    before, after = quotes()
    assert (
        build_deidentifier(MaskingSettings(reading="careful")).mask(Document("readme", before)).text == after
    )


def test_the_python_example_runs(capsys):
    exec(re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1), {})
    assert capsys.readouterr().out == "Mr. PHI had a rash.\n"
