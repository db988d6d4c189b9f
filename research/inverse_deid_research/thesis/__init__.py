"""The thesis's experiments on two other corpora: variants, thresholds, fine-tuning."""
