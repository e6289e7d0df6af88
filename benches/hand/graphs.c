// Graphs: triangles, PageRank, levels of a breadth-first search.
#include "hand.h"

#include <stdlib.h>

static int n;
static Array positions, columns, values;

static void read_graph(void) {
    n = *(int64_t *)load("a_shape", 8).data;
    positions = load("a_positions", 4);
    columns = load("a_columns", 4);
}

static void read_counts(void) {
    read_graph();
    values = load("a_values", 8);
}

// sum((A A) * A) / 6 as it is said: of each row a table of values, which rows of its neighbours look up.
static void triangles(int keep) {
    const int *pos = positions.data, *col = columns.data;
    const int64_t *val = values.data;
    int64_t all = 0;
#pragma omp parallel reduction(+ : all)
    {
        int64_t *mask = take_zeros(n, 8);
#pragma omp for schedule(dynamic, 32)
        for (int i = 0; i < n; i++) {
            for (int p = pos[i]; p < pos[i + 1]; p++) mask[col[p]] = val[p];
            for (int p = pos[i]; p < pos[i + 1]; p++) {
                int64_t sum = 0;
                for (int q = pos[col[p]]; q < pos[col[p] + 1]; q++) sum += val[q] * mask[col[q]];
                all += val[p] * sum;
            }
            for (int p = pos[i]; p < pos[i + 1]; p++) mask[col[p]] = 0;
        }
        free(mask);
    }
    all /= 6;
    if (keep) store("result", "<i8", 8, &all, 1);
}

// The same number of a simple undirected graph, each triangle found once: what somebody knows who knows what it counts.
static void triangles_once(int keep) {
    const int *pos = positions.data, *col = columns.data;
    int64_t all = 0;
#pragma omp parallel reduction(+ : all)
    {
        unsigned char *mask = take_zeros(n, 1);
#pragma omp for schedule(dynamic, 32)
        for (int i = 0; i < n; i++) {
            for (int p = pos[i]; p < pos[i + 1] && col[p] < i; p++) mask[col[p]] = 1;
            for (int p = pos[i]; p < pos[i + 1] && col[p] < i; p++)
                for (int q = pos[col[p]]; q < pos[col[p] + 1] && col[q] < col[p]; q++) all += mask[col[q]];
            for (int p = pos[i]; p < pos[i + 1] && col[p] < i; p++) mask[col[p]] = 0;
        }
        free(mask);
    }
    if (keep) store("result", "<i8", 8, &all, 1);
}

static Array degrees;
static int iterations;

static void read_ranks(void) {
    read_graph();
    values = load("a_values", 4);
    degrees = load("deg", 4);
    iterations = load_number("iterations");
}

static void pagerank(int keep) {
    const int *pos = positions.data, *col = columns.data;
    const float *val = values.data, *deg = degrees.data;
    float *rank = take(n, 4), *share = take(n, 4), base = 0.15f / n;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < n; i++) rank[i] = 1.0f / n;
        for (int step = 0; step < iterations; step++) {
#pragma omp for schedule(static)
            for (int i = 0; i < n; i++) share[i] = rank[i] / deg[i];
#pragma omp for schedule(dynamic, 512)
            for (int i = 0; i < n; i++) {
                float sum = 0;
                for (int p = pos[i]; p < pos[i + 1]; p++) sum += val[p] * share[col[p]];
                rank[i] = base + 0.85f * sum;
            }
        }
    }
    if (keep) store("result", "<f4", 4, rank, n);
    free(rank);
    free(share);
}

static int source;

static void read_search(void) {
    read_graph();
    source = load_number("source");
}

// A queue; many vertices are unseen and the frontier is wide only once or twice, where the unseen look for a parent instead.
static void levels(int keep) {
    const int *pos = positions.data, *col = columns.data;
    int *level = take(n, 4), *queue = take(n, 4), head = 0, tail = 1, unseen = n - 1;
    for (int i = 0; i < n; i++) level[i] = -1;
    level[source] = 0;
    queue[0] = source;
    for (int step = 1; head < tail; step++) {
        int end = tail;
        int64_t edges = 0;
        for (int h = head; h < end; h++) edges += pos[queue[h] + 1] - pos[queue[h]];
        if (edges > pos[n] / 14 && unseen > 0) {
            for (int i = 0; i < n; i++) {
                if (level[i] >= 0) continue;
                for (int p = pos[i]; p < pos[i + 1]; p++)
                    if (level[col[p]] == step - 1) {
                        level[i] = step;
                        queue[tail++] = i;
                        break;
                    }
            }
        } else {
            for (int h = head; h < end; h++)
                for (int p = pos[queue[h]]; p < pos[queue[h] + 1]; p++)
                    if (level[col[p]] < 0) {
                        level[col[p]] = step;
                        queue[tail++] = col[p];
                    }
        }
        unseen -= tail - end;
        head = end;
    }
    if (keep) store("result", "<i4", 4, level, n);
    free(level);
    free(queue);
}

const Case GRAPHS[] = {
    {"s5", read_counts, triangles},
    {"s5:once", read_graph, triangles_once},
    {"s8", read_ranks, pagerank},
    {"s18", read_search, levels},
    {0},
};
