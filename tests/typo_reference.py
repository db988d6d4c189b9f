"""An independent count of typos, to hold `NearNames` to."""


def is_within(first, second, limit):
    """Return whether at most `limit` typos lead from one word to the other (optimal string alignment)."""
    before, last = [], list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        row = [i]
        for j, b in enumerate(second, start=1):
            best = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, last = last, row
    return last[-1] <= limit
