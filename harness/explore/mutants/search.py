"""Wrong ways to search: tokens, order, ties, fusion, snippets (SPEC.md 10)."""

from __future__ import annotations

from harness.explore.mutants.model import Edit, Mutant, mutant

ROOM = "search"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        ROOM,
        "number of matched words ignored",
        "The shortest candidate goes first, however few words of the query it holds.",
        Edit("storage/search.py", "order_by=(func.count().desc(), postings", "order_by=(postings"),
        killers=("grouping/more_query_words_go_first",),
    ),
    mutant(
        ROOM,
        "long candidates first",
        "Of candidates with as many matched words the one with more distinct words goes first.",
        Edit("storage/search.py", "desc(), postings.c.distinct_tokens,", "desc(), postings.c.distinct_tokens.desc(),"),
        killers=("grouping/more_query_words_go_first", "grouping/a_scope_offers_sixteen_memories"),
    ),
    mutant(
        ROOM,
        "ties by insertion",
        "Equal matches come in the order in which their entries were written.",
        Edit("storage/search.py", "tables import postings", "tables import entries, postings"),
        Edit(
            "storage/search.py",
            "postings.c.distinct_tokens, postings.c.artifact_id, postings.c.entry_id),\n        )",
            "postings.c.distinct_tokens, postings.c.artifact_id, entries.c.position),\n        )",
        ),
        Edit(
            "storage/search.py",
            "    .where(\n        postings.c.scope_id.in_(",
            "    .select_from(\n"
            "        postings.outerjoin(\n"
            "            entries,\n"
            "            (entries.c.scope_id == postings.c.scope_id) & (entries.c.entry_id == postings.c.entry_id),\n"
            "        )\n"
            "    )\n"
            "    .where(\n        postings.c.scope_id.in_(",
        ),
        Edit(
            "storage/search.py",
            "postings.c.artifact_id, postings.c.entry_id)\n    .subquery()",
            "postings.c.artifact_id, postings.c.entry_id, entries.c.position)\n    .subquery()",
        ),
        killers=("bugs/twenty_equal_texts", "grouping/memory_limit_is_a_ceiling"),
    ),
    mutant(
        ROOM,
        "ties by the greatest id",
        "Equal matches come in falling order of their ids.",
        Edit(
            "storage/search.py",
            "postings.c.artifact_id, postings.c.entry_id),\n        )",
            "postings.c.artifact_id.desc(), postings.c.entry_id.desc()),\n        )",
        ),
        killers=("grouping/memory_limit_is_a_ceiling",),
    ),
    mutant(
        ROOM,
        "words not folded",
        "A word of the query finds only its own upper and lower case.",
        Edit("storage/tokenizer.py", ".casefold()", ""),
        killers=("grouping/words_are_compared_folded",),
    ),
    mutant(
        ROOM,
        "words folded by lower",
        "Case is folded by lower(), which keeps a sharp s and a final sigma apart from their capitals.",
        Edit("storage/tokenizer.py", ".casefold()", ".lower()"),
        killers=("grouping/words_are_compared_folded",),
    ),
    mutant(
        ROOM,
        "words without normal form",
        "Full-width and decomposed letters are other words than their plain forms.",
        Edit("storage/tokenizer.py", 'unicodedata.normalize("NFKC", string)', "string"),
        killers=("grouping/words_are_compared_folded",),
    ),
    mutant(
        ROOM,
        "Chinese without pairs",
        "A run of Chinese characters gives its characters alone.",
        Edit("storage/tokenizer.py", "if index + 1 < end:", "if False:"),
        killers=("grouping/chinese_is_found_by_characters_and_pairs", "bugs/chinese_beside_latin"),
    ),
    mutant(
        ROOM,
        "61 instead of 60 in the fusion",
        "The two channels are joined by the sum of 1/(61 + rank).",
        Edit("storage/search.py", "FUSION_CONSTANT = 60", "FUSION_CONSTANT = 61"),
        killers=("grouping/the_constant_of_the_sum_is_sixty",),
    ),
    mutant(
        ROOM,
        "59 instead of 60 in the fusion",
        "The two channels are joined by the sum of 1/(59 + rank), as ranks counted from 0 would be.",
        Edit("storage/search.py", "FUSION_CONSTANT = 60", "FUSION_CONSTANT = 59"),
        killers=("grouping/the_constant_of_the_sum_is_sixty",),
    ),
    mutant(
        ROOM,
        "equal sums by id",
        "Equal sums of both channels go by the ids instead of the rank of the words.",
        Edit("storage/search.py", '(-score, lexical_ranks.get(hit, float("inf")), hit)', "(-score, 0, hit)"),
        killers=("grouping/words_and_vectors_are_joined_by_rank",),
    ),
    mutant(
        ROOM,
        "vectors of words' hits only",
        "The vector channel adds no candidate that the words did not find.",
        Edit("storage/search.py", "sorted({*lexical, *nearest}, key=key)", "sorted(lexical or nearest, key=key)"),
        killers=("grouping/words_and_vectors_are_joined_by_rank",),
    ),
    mutant(
        ROOM,
        "a failed recall is empty",
        "A family whose recall fails has no candidates, instead of failing the request.",
        Edit(
            "application.py",
            "            raise ServiceUnavailable from error\n\n\nclass Session:",
            "            return ()\n\n\nclass Session:",
        ),
        killers=("empty/a_failed_recall_is_no_empty_answer",),
    ),
    mutant(
        ROOM,
        "an exceeded time-out is empty",
        "A family whose recall takes too long has no candidates, instead of failing the request.",
        Edit("application.py", "            raise ServiceUnavailable from None\n", "            return ()\n"),
        killers=("faults/a_family_that_hangs_is_given_up",),
    ),
    mutant(
        ROOM,
        "time-out of a hundredth",
        "A recall that is slow, and within its time-out, is given up.",
        Edit("application.py", "timeout=self._recall_timeout)", "timeout=self._recall_timeout / 100)"),
        killers=("faults/a_slow_family_is_waited_for",),
    ),
    mutant(
        ROOM,
        "every family is recalled",
        "Families that the request does not select are recalled too, and fail it.",
        Edit(
            "application.py",
            "        return {family: self._application._recall(",
            '        for family in ("memory", "experience", "profile", "topic-memory"):\n'
            "            self._application._recall(self._reader, family, recall)\n"
            "        return {family: self._application._recall(",
        ),
        killers=("empty/a_failed_recall_is_no_empty_answer",),
    ),
    mutant(
        ROOM,
        "retired entries recalled",
        "A retired entry stays in the index.",
        Edit(
            "storage/entries.py",
            "for entry_id in before])",
            "for entry_id in before if entry_id in written])",
        ),
        killers=("exact_reads/a_retired_entry_is_read_but_not_recalled",),
    ),
    mutant(
        ROOM,
        "superseded Experiences keep their words",
        "A new revision of an Experience or a topic leaves the former words in the index.",
        Edit("storage/writes.py", "known=revision > 1", "known=False"),
        killers=("consistency/new_revisions_of_three_families_change_at_once",),
    ),
    mutant(
        ROOM,
        "snippet begins a character early",
        "The window of a long line begins 121 characters before the match.",
        Edit("snippet.py", "BEFORE_MATCH = 120", "BEFORE_MATCH = 121"),
        killers=("topic_memory/a_long_line_is_shown_in_a_window_of_240",),
    ),
    mutant(
        ROOM,
        "snippet of 241 characters",
        "A line of 241 characters is shown whole.",
        Edit("snippet.py", "MAX_CHARACTERS = 240", "MAX_CHARACTERS = 241"),
        killers=("topic_memory/a_long_line_is_shown_in_a_window_of_240",),
    ),
    mutant(
        ROOM,
        "snippet window not moved back",
        "Near a line's end the window holds fewer than 240 characters.",
        Edit(
            "snippet.py",
            "min(max(match - BEFORE_MATCH, 0), len(best) - MAX_CHARACTERS)",
            "max(match - BEFORE_MATCH, 0)",
        ),
        killers=("topic_memory/a_long_line_is_shown_in_a_window_of_240",),
    ),
    mutant(
        ROOM,
        "last of equal lines",
        "Of lines with as many matched words the last one is the snippet.",
        Edit("snippet.py", "if found > most:", "if found >= most:"),
        killers=("topic_memory/the_snippet_is_the_best_line",),
    ),
    mutant(
        ROOM,
        "small kana make words",
        "The phonetic extensions of Katakana (U+31F0-31FF) are letters of words instead of single characters.",
        Edit("storage/tokenizer.py", "    (0x31F0, 0x31FF),\n", ""),
        killers=("grouping/each_range_of_characters_gives_single_tokens",),
    ),
    mutant(
        ROOM,
        "written and retired at once is recalled",
        "An entry that one revision writes and retires stays in the index.",
        Edit("storage/entries.py", "            written.pop(change.entry_id, None)\n", ""),
        killers=("consistency/written_and_retired_in_one_revision",),
    ),
    mutant(
        ROOM,
        "equal sums without a word first",
        "Of equal sums the hit that no word found goes first.",
        Edit("storage/search.py", 'lexical_ranks.get(hit, float("inf"))', "lexical_ranks.get(hit, 0.0)"),
        killers=("grouping/equal_sums_without_a_word_go_last",),
    ),
    mutant(
        ROOM,
        "a paragraph separator ends no snippet line",
        "U+2029 is part of a snippet's line.",
        Edit("snippet.py", "[\\r\\n\\u2028\\u2029]", "[\\r\\n\\u2028]"),
        killers=("topic_memory/each_line_break_ends_a_snippet_line",),
    ),
    mutant(
        ROOM,
        "a line separator ends no snippet line",
        "U+2028 is part of a snippet's line.",
        Edit("snippet.py", "[\\r\\n\\u2028\\u2029]", "[\\r\\n\\u2029]"),
        killers=("topic_memory/each_line_break_ends_a_snippet_line",),
    ),
)
