"""Replaces masked words: markers, categories, surrogates, dates and ages, and their reversal."""
