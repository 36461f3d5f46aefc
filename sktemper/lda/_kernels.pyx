"""Kernels of latent Dirichlet allocation: loops over documents and words.

All functions take and return arrays, and do not depend on policies.  The loops are C,
in ``_loops.h``, and are compiled for each instruction set.
"""

import os
from functools import partial

import numpy as np

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cython cimport floating
from libc.stdint cimport INT32_MAX, uintptr_t

from sktemper._simd.special import aligned, padded
from sktemper._utils._tasks import run_shared

include "_loops.pxi"

#: Algorithms of the local step.  Documents are optimised "abreast" (several side by
#: side in lanes of vectors) or "alone", and sampled in "lanes" (side by side) or in
#: "chains" (one by one).  By default the sizes of a document determine its algorithm.
ROUTES = ("abreast", "alone", "lanes", "chains")
#: Environment variable that forces algorithms; their names are separated by commas.
FORCE_ROUTES = "SKTEMPER_LDA_ROUTES"

#: Least number of entries times topics of a section of a block, largest number of
#: sections, and factor of the numbers of words that a section processes.
cdef enum:
    LEAST_SECTION = 100000
    MOST_SECTIONS = 8
    WORDS_TOGETHER = 16

# A document is sampled in a lane (one of several documents side by side in SIMD vectors)
# if a row has at most MOST_LANE_BYTES bytes, and the number of tokens times the number
# of topics is at most MOST_LANE_PLACES.  Other documents are sampled one after the
# other, in chains.  There are LANE_GROUPS groups of lanes, or half of this number with
# more than FEW_LANE_TOPICS topics, or one group with more than SOME_LANE_TOPICS topics,
# so that the memory of the groups fits into the nearest caches.
cdef enum:
    MOST_LANE_BYTES = 1024
    MOST_LANE_PLACES = 65536
    FEW_LANE_TOPICS = 48
    SOME_LANE_TOPICS = 128

#: Phases of the local step.
cdef enum:
    MEAN_ROWS
    SAMPLING
    ROWS
    FITS
    STATISTICS

ctypedef fused index:
    int32_t
    int64_t


def distinct_words(const index[::1] indices, intptr_t n_features):
    """Return the sorted distinct ``indices``, and the position of each index in them.

    Raises ValueError if an index is not that of a column, which sparse matrices do not
    check.
    """
    cdef intptr_t i, v, n = 0, n_entries = indices.shape[0]
    cdef index least = 0, largest = -1
    cdef int32_t found
    cdef bint increasing = True
    with nogil:
        for i in range(n_entries):
            least = min(least, indices[i])
            largest = max(largest, indices[i])
        for i in range(1, n_entries):
            if indices[i - 1] >= indices[i]:
                increasing = False
                break
    if least < 0 or largest >= n_features:
        raise ValueError(
            f"X has column indices outside of its {n_features} columns: it was built "
            "with a wrong shape."
        )
    if increasing:  # the indices of one document are sorted and distinct already
        ordered = np.array(indices, dtype=np.intp)
        return ordered, np.arange(ordered.shape[0])
    if n_features > 16 * n_entries or n_features > INT32_MAX:
        return np.unique(np.asarray(indices, dtype=np.intp), return_inverse=True)
    words = np.empty(min(n_features, n_entries) + 1, dtype=np.intp)
    slots = np.empty(n_entries, dtype=np.intp)
    cdef int32_t[::1] place = np.zeros(n_features, dtype=np.int32)
    cdef intptr_t[::1] word = words, slot = slots
    with nogil:
        for i in range(n_entries):
            place[indices[i]] = 1
        for v in range(n_features):  # without a branch that is mostly mispredicted
            found, place[v], word[n] = place[v], <int32_t>n, v
            n += found
        for i in range(n_entries):
            slot[i] = place[indices[i]]
    return words[:n], slots


cdef void *address(floating[:, ::1] array) noexcept:
    return &array[0, 0] if array.size else NULL


cdef void describe(
    lda_block *block, documents, topics, floating[:, ::1] gamma
) except *:
    """Set the documents and topics of a block; the caller keeps references to them.

    The struct ``lda_block`` in ``_blocks.h`` describes the arguments: ``documents`` are
    the counts, starts, words and slots, and ``topics`` are u, prior, decay, prior_share
    and base_share.
    """
    cdef const floating[::1] counts
    cdef const intptr_t[::1] starts, slots, words
    cdef const double[:, ::1] u
    cdef const double[:, :] prior
    counts, starts, words, slots = documents
    u, prior, block.decay, block.prior_share, block.base_share = topics
    block.counts = &counts[0] if counts.shape[0] else NULL
    block.gamma = address(gamma)
    block.n_documents = starts.shape[0] - 1
    block.n_words = words.shape[0]
    block.n_topics = u.shape[1]
    dtype = np.float32 if floating is float else np.float64
    block.width = padded(block.n_topics, dtype)
    block.starts = &starts[0]
    block.slots = &slots[0] if slots.shape[0] else NULL
    block.words = &words[0] if words.shape[0] else NULL
    block.u = &u[0, 0]
    block.prior = &prior[0, 0]
    block.prior_word_stride = prior.strides[0] // <intptr_t>sizeof(double)
    block.prior_topic_stride = prior.strides[1] // <intptr_t>sizeof(double)


def forced_routes():
    """Return the `ROUTES` that the environment forces, for tests and debugging.

    Raises ValueError if a name is unknown, or if two names exclude each other.
    """
    forced = {name for name in os.environ.get(FORCE_ROUTES, "").split(",") if name}
    if not forced <= set(ROUTES) or forced >= {"abreast", "alone"} or (
        forced >= {"lanes", "chains"}
    ):
        raise ValueError(
            f"{FORCE_ROUTES} is {','.join(sorted(forced))!r}. Set it to abreast or "
            "alone, and lanes or chains, separated by a comma."
        )
    return forced


cdef intptr_t _n_sections(const lda_block *block):
    """Return the number of sections of a block, which depends on sizes only."""
    cdef intptr_t n_entries = block.starts[block.n_documents]
    cdef intptr_t n = n_entries * block.n_topics // LEAST_SECTION
    if block.temperature_per_document:  # documents are added to the same statistics
        return 1
    n = min(n, MOST_SECTIONS, block.n_documents)
    return max(1, n - n % 2)


cdef intptr_t _cut(intptr_t n, intptr_t i, intptr_t n_sections, intptr_t together):
    """Return where section i of n items begins; sections have multiples of a number."""
    cdef intptr_t n_wholes = (n + together - 1) // together
    return min(n, n_wholes * i // n_sections * together)


cdef class _Phases:
    """The phases of the local step of a block, each shared by threads.

    Threads share the sections of a block, see ``_blocks.h``, its words, or the
    documents that are sampled.  The caller keeps references to the arrays of the block.
    """

    cdef lda_block block
    cdef bint is_float
    cdef bint notes  # whether documents are noted, see `note_statistics`
    cdef list kept  # references to arrays
    cdef intptr_t[::1] cuts  # the first document of each section, and the last one's end
    cdef intptr_t[::1] n_iterations  # of each section

    def __cinit__(self, bint is_float):
        self.is_float, self.kept = is_float, []

    cdef void choose_routes(self, counts, starts, sampled, forced) except *:
        """Set the documents that are sampled in lanes and in chains.

        Those with few tokens are sampled in lanes, in the order of their numbers of
        tokens.
        """
        cdef lda_block *block = &self.block
        cdef const intptr_t[::1] in_lanes, in_chains, first_tokens
        most = -1
        if block.n_topics * counts.itemsize <= MOST_LANE_BYTES:
            most = MOST_LANE_PLACES // block.n_topics
        if forced & {"lanes", "chains"}:
            most = np.iinfo(np.intp).max if "lanes" in forced else -1
        is_sampled = np.asarray(sampled).view(bool)
        tokens = np.where(np.repeat(is_sampled, np.diff(starts)), counts, 0)
        before = np.append(0, np.cumsum(tokens, dtype=np.intp))
        tokens = np.diff(before[starts])
        chains = np.flatnonzero(is_sampled & (tokens > most))
        lanes = np.flatnonzero(is_sampled & (tokens <= most))
        lanes = lanes[np.argsort(tokens[lanes], kind="stable")]
        in_lanes, in_chains, first_tokens = lanes, chains, before
        self.kept += [lanes, chains, before]
        block.longest_in_lanes = int(tokens[lanes].max(initial=0))
        block.longest_in_chains = int(tokens[chains].max(initial=0))
        block.n_tokens = first_tokens[first_tokens.shape[0] - 1]
        block.first_tokens = &first_tokens[0]
        block.n_in_lanes, block.n_in_chains = len(lanes), len(chains)
        block.in_lanes = &in_lanes[0] if block.n_in_lanes else NULL
        block.in_chains = &in_chains[0] if block.n_in_chains else NULL
        block.n_lane_groups = 1
        if block.n_topics <= SOME_LANE_TOPICS:
            few = block.n_topics <= FEW_LANE_TOPICS
            block.n_lane_groups = LANE_GROUPS if few else LANE_GROUPS // 2

    cdef object allocate(self, lda_block *one, bint of_block):
        """Allocate the scratch memory of the block, or of a thread, and return it."""
        cdef intptr_t n_bytes = call_lda_scratch(self.is_float, one, of_block, NULL)
        memory = PyByteArray_FromStringAndSize(NULL, n_bytes + SIMD_BYTES)
        cdef char *start = PyByteArray_AS_STRING(memory)
        start += SIMD_BYTES - <uintptr_t>start % SIMD_BYTES
        call_lda_scratch(self.is_float, one, of_block, start)
        return memory

    def local_step(self, documents, sampled, forced):
        """Run all phases; return the number of iterations, or -1 if stopped."""
        cdef lda_block *block = &self.block
        cdef intptr_t n_iterations = 0, n_sampled = 0
        starts = documents[1]
        if block.sampled:
            self.choose_routes(documents[0], starts, sampled, forced)
            n_sampled = block.n_in_lanes + block.n_in_chains
            n_iterations = n_sampled * (block.n_burn_in + block.n_kept)
        self.kept.append(self.allocate(block, True))
        # sections have about the same number of entries
        cuts = starts[block.n_documents] * np.arange(block.n_sections + 1) // block.n_sections
        self.cuts = np.searchsorted(starts, cuts)
        self.cuts[block.n_sections] = block.n_documents
        self.n_iterations = np.zeros(block.n_sections, dtype=np.intp)
        if block.sampled and (self.run(MEAN_ROWS) or self.run(SAMPLING)):
            return -1
        self.notes = (
            block.statistics
            and not block.temperature_per_document
            and n_sampled < block.n_documents
        )
        if self.run(ROWS):
            return -1
        if self.notes:
            call_lda_find_places(self.is_float, block)
        if self.run(FITS):
            return -1
        if self.notes:
            self.run(STATISTICS)
        return n_iterations + int(np.sum(self.n_iterations))

    cdef bint run(self, int phase) except -1:
        """Run a phase for all sections; return whether it was stopped."""
        cdef intptr_t n = self.block.n_sections
        if n == 1:
            return self.run_section(phase, 0)
        return any(run_shared([partial(self.run_section, phase, i) for i in range(n)]))

    def run_section(self, int phase, intptr_t i):
        """Run a phase for section i of the documents or words; return if stopped."""
        cdef intptr_t n = self.block.n_sections, n_words = self.block.n_words
        cdef intptr_t first = _cut(n_words, i, n, WORDS_TOGETHER)
        cdef intptr_t end = _cut(n_words, i + 1, n, WORDS_TOGETHER)
        cdef unsigned int mode
        cdef int status = 0
        cdef lda_block one = self.block
        one.section, one.first, one.end = i, self.cuts[i], self.cuts[i + 1]
        if phase == SAMPLING:
            self.choose_sampled(&one, i)
        memory = self.allocate(&one, False)
        with nogil:
            mode = simd_flush_subnormals()
            if phase == ROWS and self.notes:
                call_lda_count_pairs(self.is_float, &one)
            # in the headers, `call_f` is `NAME(f)`
            if phase == MEAN_ROWS:
                status = call_lda_mean_rows(self.is_float, &one, first, end)
            elif phase == SAMPLING:
                status = call_lda_sample(self.is_float, &one)
            elif phase == FITS:
                status = call_lda_fit(self.is_float, &one)
            elif phase == STATISTICS:
                call_lda_collect(self.is_float, &one, first, end)
            elif one.sampled and one.statistics:
                call_lda_add_draws(self.is_float, &one, first, end)
            if phase == ROWS:
                status = call_lda_rows(self.is_float, &one, first, end)
            simd_restore_subnormals(mode)
        if phase == FITS:
            self.n_iterations[i] = one.n_iterations
        return status != 0

    cdef void choose_sampled(self, lda_block *one, intptr_t i) noexcept:
        """Set the sampled documents of section i; lanes are full where possible."""
        cdef intptr_t size = sizeof(float) if self.is_float else sizeof(double)
        cdef intptr_t together = SIMD_BYTES // size * one.n_lane_groups
        cdef intptr_t first, n = one.n_sections
        first = _cut(one.n_in_lanes, i, n, together)
        one.n_in_lanes = _cut(one.n_in_lanes, i + 1, n, together) - first
        one.in_lanes += first
        first = _cut(one.n_in_chains, i, n, 1)
        one.n_in_chains = _cut(one.n_in_chains, i + 1, n, 1) - first
        one.in_chains += first


def local_step(
    documents,
    topics,
    priors,
    temperatures,
    limits,
    sampling,
    const int[::1] stop,
    const double[::1] factors,
    bint want_statistics,
    floating[:, ::1] gamma,
    double[::1] bounds,
):
    """Optimise the (tempered) bound of each document over gamma and phi.

    The struct ``lda_block`` in ``_blocks.h`` describes the arguments, but empty arrays
    stand for its NULL.  For ``documents`` and ``topics`` see `describe`; the latter are
    followed by the totals and the digamma totals.  ``priors`` are the tempered and the
    untempered priors of documents, and the row of each document; ``temperatures`` the
    inverse temperatures, and whether each document has its own; ``limits`` are tol,
    max_iter and drop_tol; and ``sampling`` are the flags of documents, the seed,
    n_burn_in and n_kept.  ``gamma`` has initial values, and receives the optimum.
    ``bounds`` is an output, too.

    Returns
    -------
    n_iterations : int
        Number of iterations, summed over the documents; -1 if stopped.
    statistics : ndarray of shape (n_words, padded(n_topics, dtype)) or None
        Sums of ``factors * counts * phi`` over the documents.
    """
    cdef lda_block block
    cdef const double[::1] totals, digamma_totals, inverse_temperatures
    cdef const double[:, ::1] doc_topic_prior, untempered_prior
    cdef const intptr_t[::1] prior_rows
    cdef const unsigned char[::1] sampled
    dtype = np.float32 if floating is float else np.float64
    *topics, totals, digamma_totals = topics
    describe(&block, documents, topics, gamma)
    doc_topic_prior, untempered_prior, prior_rows = priors
    inverse_temperatures, block.temperature_per_document = temperatures
    block.tol, block.max_iter, block.drop_tol = limits
    sampled, block.seed, block.n_burn_in, block.n_kept = sampling
    longest = int(np.diff(documents[1]).max(initial=0))
    block.longest = longest + SIMD_BYTES // <intptr_t>sizeof(float)
    forced = forced_routes()
    block.all_abreast, block.all_alone = "abreast" in forced, "alone" in forced
    block.digamma_totals = &digamma_totals[0]
    block.doc_topic_prior = &doc_topic_prior[0, 0]
    block.inverse_temperatures = &inverse_temperatures[0]
    block.factors = &factors[0]
    block.stop = &stop[0]
    block.sampled = &sampled[0] if sampled.shape[0] else NULL
    block.totals = &totals[0]
    block.untempered_prior = &untempered_prior[0, 0]
    block.prior_rows = &prior_rows[0] if prior_rows.shape[0] else NULL
    block.bounds = &bounds[0] if bounds.shape[0] else NULL
    block.n_sections = _n_sections(&block)
    block.n_iterations = block.n_in_lanes = block.n_in_chains = 0

    # The last row stays zero, for words after the end of a document.
    rows_array = aligned(np.empty, (block.n_words + 1, block.width), dtype)
    cdef floating[:, ::1] rows = rows_array, sums
    block.scratch.rows = address(rows)
    block.statistics = NULL
    statistics = None
    if want_statistics:
        statistics = rows_array[: block.n_words]
        if sampled.shape[0] or block.temperature_per_document:
            own = np.empty if sampled.shape[0] else np.zeros
            statistics = aligned(own, (block.n_words, block.width), dtype)
        sums = statistics
        block.statistics = address(sums)
    phases = _Phases(floating is float)
    phases.block = block
    return phases.local_step(documents, sampled, forced), statistics


def add_rows(
    double[:, ::1] u,
    double[::1] totals,
    const intptr_t[::1] words,
    const floating[:, ::1] rows,
    double factor,
):
    """Add ``factor * rows`` to ``u[words]``, and the sum of all rows to ``totals``.

    The sum is multiplied by ``factor``, too.  Additional columns of ``rows`` are
    padding.
    """
    if not words.shape[0]:
        return
    call_add_rows(
        words.shape[0], u.shape[1], rows.shape[1], &words[0], &rows[0, 0], factor,
        &u[0, 0], &totals[0],
    )


def log_predictive(
    documents,
    topics,
    const double[::1] totals,
    const int[::1] stop,
    floating[:, ::1] gamma,
    double[::1] scores,
):
    """Compute the log-likelihood of documents at the means of theta and of the topics.

    Writes sum_n counts_n log(E[theta] @ E[beta_n]) to ``scores``.  For the other
    arguments see `local_step`.  Returns 0, or -1 if stopped.
    """
    cdef lda_block block
    cdef int status
    dtype = np.float32 if floating is float else np.float64
    describe(&block, documents, topics, gamma)
    cdef floating[:, ::1] rows = aligned(
        np.empty, (block.n_words + 1, block.width), dtype
    )
    cdef floating[:, ::1] topic_scratch = aligned(np.zeros, (1, block.width), dtype)
    cdef double[::1] double_scratch = np.zeros(block.n_topics)
    block.totals = &totals[0]
    block.stop = &stop[0]
    block.bounds = &scores[0] if scores.shape[0] else NULL
    block.scratch.rows = address(rows)
    block.scratch.topic_scratch = address(topic_scratch)
    block.scratch.double_scratch = &double_scratch[0]
    with nogil:
        status = run_lda_scores(floating is float, &block)
    return status
