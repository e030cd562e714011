"""Wrong ways to choose: turns, ranks, repeats, pools, references, families (SPEC.md 3)."""

from __future__ import annotations

from harness.explore.mutants.model import Edit, Mutant, mutant

ROOM = "selection"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        ROOM,
        "one Scope after another",
        "All hits of a Scope come before those of the next one, instead of one of each in turn.",
        Edit("recall.py", "chain.from_iterable(zip_longest(*lists))", "chain.from_iterable(lists)"),
        killers=("grouping/memory_scopes_take_turns_in_reference_order",),
    ),
    mutant(
        ROOM,
        "references before the current Scope",
        "The turns begin with the last reference and end with the current Scope.",
        Edit("recall.py", "zip_longest(*lists)", "zip_longest(*reversed(list(lists)))"),
        killers=("grouping/memory_scopes_take_turns_in_reference_order",),
    ),
    mutant(
        ROOM,
        "references sorted by id",
        "References are read in the order of their ids instead of the stored one.",
        Edit(
            "storage/reads.py",
            'label("granted")).order_by(concerned.c.position)',
            'label("granted")).order_by(concerned.c.position > 0, concerned.c.scope_id)',
        ),
        killers=("grouping/memory_scopes_take_turns_in_reference_order", "profile/profiles_follow_the_references"),
    ),
    mutant(
        ROOM,
        "rank counted after skipping",
        "The recall rank is the number of the placed item, so that no gap is seen.",
        Edit("builder.py", "recall_rank=ranked.rank if", "recall_rank=placed + 1 if"),
        killers=("grouping/a_skipped_item_leaves_a_gap_in_the_ranks",),
    ),
    mutant(
        ROOM,
        "rank counted before blank bodies are dropped",
        "A blank candidate takes a rank although it is dropped.",
        Edit(
            "builder.py",
            "enumerate(kept.values(), start=1)]",
            "enumerate(candidates, start=1) if not candidate.blank]",
        ),
        killers=("empty/blank_profile", "profile/a_blank_profile_is_no_candidate"),
    ),
    mutant(
        ROOM,
        "blank bodies kept",
        "Candidates whose body is blank are delivered.",
        Edit("builder.py", "if not candidate.blank:", "if True:"),
        killers=("empty/blank_profile_alone",),
    ),
    mutant(
        ROOM,
        "repeats told by text",
        "An item whose text another one has is dropped, although its identity is its own.",
        Edit(
            "builder.py",
            "if not candidate.blank:",
            "if not candidate.blank and all(candidate.body != one.body for one in kept.values()):",
        ),
        killers=("grouping/equal_text_under_two_ids_stays_twice",),
    ),
    mutant(
        ROOM,
        "repeats told by entry id",
        "An entry is dropped when one of another Scope has the same entry id.",
        Edit(
            "builder.py",
            "kept.setdefault(candidate.citation, candidate)",
            'kept.setdefault(getattr(candidate.citation, "entry_id", candidate.citation), candidate)',
        ),
        killers=("bugs/one_entry_once_and_equal_texts_twice",),
    ),
    mutant(
        ROOM,
        "a limit cuts the pool",
        "Only so many candidates are tried as the limit allows to place.",
        Edit(
            "builder.py",
            "rank(candidates.get(section.family, ()))",
            "rank(candidates.get(section.family, ())[: section.limit])",
        ),
        killers=("budgets/limit_counts_placed_items",),
    ),
    mutant(
        ROOM,
        "a limit counts one too few",
        "One item more than the limit is placed.",
        Edit("builder.py", "if placed == section.limit:", "if placed > section.limit:"),
        killers=("grouping/memory_limit_is_a_ceiling",),
    ),
    mutant(
        ROOM,
        "sections in a fixed order",
        "Sections come in the order of their families' names, not in the caller's.",
        Edit(
            "builder.py",
            "for section in assembly.sections:",
            'for section in sorted(assembly.sections, key=lambda one: one.family != "memory"):',
        ),
        killers=("grouping/experience_goes_first_when_the_caller_asks",),
    ),
    mutant(
        ROOM,
        "Memory pool of 17",
        "A Scope offers 17 Memory hits, and the merged list keeps as many.",
        Edit("recall.py", "MEMORY_DEPTH = 16", "MEMORY_DEPTH = 17"),
        killers=("grouping/a_scope_offers_sixteen_memories", "grouping/merged_memory_is_cut_to_sixteen"),
    ),
    mutant(
        ROOM,
        "merged Memory not cut",
        "The merged list of all Scopes keeps more than 16 Memory hits.",
        Edit("recall.py", "merged = take_turns(pools, at_most=MEMORY_DEPTH)", "merged = take_turns(pools, at_most=99)"),
        killers=("grouping/merged_memory_is_cut_to_sixteen",),
    ),
    mutant(
        ROOM,
        "Experience pool of 9",
        "Nine Experiences are tried instead of eight.",
        Edit("recall.py", "EXPERIENCE_DEPTH = 8", "EXPERIENCE_DEPTH = 9"),
        killers=("grouping/merged_experience_is_cut_to_eight",),
    ),
    mutant(
        ROOM,
        "topic pool of 9",
        "Nine topics are tried instead of eight.",
        Edit("recall.py", "TOPIC_DEPTH = 8", "TOPIC_DEPTH = 9"),
        killers=("topic_memory/at_most_eight_topics_are_tried",),
    ),
    mutant(
        ROOM,
        "a limit widens the pool",
        "The merged list holds twice the sum of the limits where that is more than the pool.",
        Edit("recall.py", "    older: bool = False\n", "    older: bool = False\n    total: int = 0\n"),
        Edit(
            "application.py",
            "older=request.assembly is None)",
            "older=request.assembly is None, total=request.assembly.total if request.assembly else 0)",
        ),
        Edit(
            "recall.py",
            "self.embedder, depth=EXPERIENCE_DEPTH)",
            "self.embedder, depth=max(EXPERIENCE_DEPTH, 5 * request.total))",
        ),
        Edit(
            "recall.py",
            "merged = take_turns(pools, at_most=EXPERIENCE_DEPTH)",
            "merged = take_turns(pools, at_most=max(EXPERIENCE_DEPTH, 5 * request.total))",
        ),
        killers=("grouping/merged_experience_is_cut_to_eight",),
    ),
    mutant(
        ROOM,
        "reranked hits sorted again",
        "The reranker's order is sorted back to the order of the search.",
        Edit(
            "recall.py",
            "self.reranker.order(request.query, seen)]",
            "sorted(self.reranker.order(request.query, seen))]",
        ),
        killers=("grouping/reranker_order_stands",),
    ),
    mutant(
        ROOM,
        "references followed transitively",
        "The references of a referenced Scope are read as well.",
        Edit(
            "storage/reads.py",
            "    referenced = select(references.c.target_id, references.c.position)"
            ".where(references.c.scope_id == scope_id)\n",
            "    direct = references.alias()\n"
            "    near = select(direct.c.target_id).where(direct.c.scope_id == scope_id)\n"
            "    referenced = select(references.c.target_id, references.c.position).where(\n"
            "        (references.c.scope_id == scope_id) | references.c.scope_id.in_(near)\n"
            "    )\n",
        ),
        killers=("grouping/references_are_not_transitive",),
    ),
    mutant(
        ROOM,
        "references followed backwards",
        "A Scope also reads the Scopes that refer to it.",
        Edit(
            "storage/reads.py",
            "concerned = current.union_all(referenced).subquery()",
            "concerned = current.union_all(\n"
            "        referenced,\n"
            "        select(references.c.scope_id, references.c.position).where(references.c.target_id == scope_id),\n"
            "    ).subquery()",
        ),
        killers=("grouping/references_are_one_way_and_may_form_a_cycle",),
    ),
    mutant(
        ROOM,
        "topics from references",
        "Topic Memory is recalled from referenced Scopes too.",
        Edit("recall.py", "RecallRequest(request.query, (current,), request.older)", "request"),
        Edit(
            "recall.py",
            "keys = [(current, hit.artifact_id) for hit in hits.get(current, ())]",
            "keys = [(scope, hit.artifact_id) for scope in request.scope_ids for hit in hits.get(scope, ())]",
        ),
        killers=("topic_memory/topics_come_from_the_current_scope_alone",),
    ),
    mutant(
        ROOM,
        "Profile of the current Scope alone",
        "The Profiles of referenced Scopes are not read.",
        Edit(
            "recall.py",
            "for scope_id in request.scope_ids]\n        found = reader.documents(PROFILE",
            "for scope_id in request.scope_ids[:1]]\n        found = reader.documents(PROFILE",
        ),
        killers=("profile/profiles_follow_the_references",),
    ),
    mutant(
        ROOM,
        "Profile searched for",
        "A Profile is delivered only when it holds a word of the query.",
        Edit(
            "recall.py",
            "for key in keys if key in found]",
            "for key in keys if key in found and request.tokens & tokens(found[key].fields[0].text)]",
        ),
        killers=("profile/a_profile_does_not_depend_on_the_query",),
    ),
)
