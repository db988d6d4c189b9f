"""The examples of docs/python.md do what the page says."""

import doctest
import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_examples_run_and_print_what_the_page_says():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "docs/python.md", None, 0)
    assert len(blocks) >= 6
    assert doctest.DocTestRunner().run(examples) == (0, len(examples.examples))
