"""One page of a run: originals beside masked texts, with the reasons. Confidential."""

PAGE_MARK = 'content="inverse-deid explanation"'
"""Part of the beginning of every such page."""
