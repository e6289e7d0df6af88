// Matrices entry by entry: sums, sums under a mask, sums with dense ones, from coordinates, by rows and columns.
#include "hand.h"

#include <stdlib.h>
#include <string.h>

static Rows a, b, c;

static void read_a_b(void) {
    a = load_rows("a");
    b = load_rows("b");
}

static void read_a_b_c(void) {
    read_a_b();
    c = load_rows("c");
}

// Rows that were written with gaps, at `start[i]`, `out->positions[i + 1]` of them: moved together into new arrays.
static void close_gaps(Rows *out, const int *start, int *column, float *value) {
    for (int i = 0; i < out->rows; i++) out->positions[i + 1] += out->positions[i];
    int n = out->positions[out->rows];
    out->column = take(n, 4);
    out->value = take(n, 4);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < out->rows; i++) {
        int at = out->positions[i], len = out->positions[i + 1] - at;
        memcpy(out->column + at, column + start[i], 4 * len);
        memcpy(out->value + at, value + start[i], 4 * len);
    }
    free(column);
    free(value);
}

// One merge into room for both, then no gaps. Sums that are 0 are dropped.
static void add(int keep) {
    Rows out = {a.rows, a.columns, take_zeros(a.rows + 1, 4), NULL, NULL};
    int64_t most = (int64_t)a.positions[a.rows] + b.positions[a.rows];
    int *start = take(a.rows, 4), *column = take(most, 4);
    float *value = take(most, 4);
#pragma omp parallel for schedule(dynamic, 512)
    for (int i = 0; i < a.rows; i++) {
        int p = a.positions[i], p_end = a.positions[i + 1], q = b.positions[i], q_end = b.positions[i + 1];
        int at = start[i] = p + q;
        while (p < p_end && q < q_end) {
            int j = a.column[p], k = b.column[q], next = j < k ? j : k;
            float v = (j <= k ? a.value[p] : 0) + (k <= j ? b.value[q] : 0);
            p += j <= k;
            q += k <= j;
            column[at] = next;
            value[at] = v;
            at += v != 0;
        }
        for (; p < p_end; p++, at++) column[at] = a.column[p], value[at] = a.value[p];
        for (; q < q_end; q++, at++) column[at] = b.column[q], value[at] = b.value[q];
        out.positions[i + 1] = at - start[i];
    }
    close_gaps(&out, start, column, value);
    if (keep) store_rows(&out);
    free_rows(&out);
    free(start);
}

// (A + B) * C: for each entry of C what the other two have there.
static void add_masked(int keep) {
    Rows out = {c.rows, c.columns, take_zeros(c.rows + 1, 4), NULL, NULL};
    int64_t most = c.positions[c.rows];
    int *column = take(most, 4);
    float *value = take(most, 4);
#pragma omp parallel for schedule(dynamic, 512)
    for (int i = 0; i < c.rows; i++) {
        int p = a.positions[i], p_end = a.positions[i + 1], q = b.positions[i], q_end = b.positions[i + 1];
        int at = c.positions[i];
        for (int r = c.positions[i]; r < c.positions[i + 1]; r++) {
            int j = c.column[r];
            while (p < p_end && a.column[p] < j) p++;
            while (q < q_end && b.column[q] < j) q++;
            float sum = 0;
            if (p < p_end && a.column[p] == j) sum = a.value[p];
            if (q < q_end && b.column[q] == j) sum += b.value[q];
            if (sum == 0) continue;
            column[at] = j;
            value[at++] = sum * c.value[r];
        }
        out.positions[i + 1] = at - c.positions[i];
    }
    close_gaps(&out, c.positions, column, value);
    if (keep) store_rows(&out);
    free_rows(&out);
}

static Array dense;

static void read_dense(void) {
    dense = load("d", 4);
    a = load_rows("s_");
}

static void add_dense(int keep) {
    float *out = take(dense.count, 4);
    const float *in = dense.data;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < a.rows; i++) {
        float *row = out + (int64_t)i * a.columns;
        memcpy(row, in + (int64_t)i * a.columns, 4 * a.columns);
        for (int p = a.positions[i]; p < a.positions[i + 1]; p++) row[a.column[p]] += a.value[p];
    }
    if (keep) store("result", "<f4", 4, out, dense.count);
    free(out);
}

static Array row, col, data;
static int extent;

static void read_coordinates(void) {
    row = load("row", 4);
    col = load("col", 4);
    data = load("data", 4);
    extent = *(int64_t *)load("shape", 8).data;
}

// Entries to their rows by counting, each thread those of its part; then each row is sorted by insertion (it is short) and its
// duplicates are added.
static void from_coordinates(int keep) {
    const int *rows = row.data, *columns = col.data;
    const float *values = data.data;
    int n = row.count, n_parts = n_threads();
    int *counts = take_zeros((int64_t)extent * n_parts, 4), *start = take(extent + 1, 4);
    int *column = take(n, 4);
    float *value = take(n, 4);
    Rows out = {extent, extent, take_zeros(extent + 1, 4), NULL, NULL};
#pragma omp parallel for schedule(static, 1)
    for (int part = 0; part < n_parts; part++) {
        int *count = counts + (int64_t)part * extent;
        for (int e = (int64_t)n * part / n_parts; e < (int64_t)n * (part + 1) / n_parts; e++) count[rows[e]]++;
    }
    for (int i = 0, at = 0; i < extent; i++) {
        start[i] = at;
        for (int part = 0; part < n_parts; part++) {
            int count = counts[(int64_t)part * extent + i];
            counts[(int64_t)part * extent + i] = at;
            at += count;
        }
    }
    start[extent] = n;
#pragma omp parallel for schedule(static, 1)
    for (int part = 0; part < n_parts; part++) {
        int *next = counts + (int64_t)part * extent;
        for (int e = (int64_t)n * part / n_parts; e < (int64_t)n * (part + 1) / n_parts; e++) {
            int to = next[rows[e]]++;
            column[to] = columns[e];
            value[to] = values[e];
        }
    }
#pragma omp parallel for schedule(dynamic, 512)
    for (int i = 0; i < extent; i++) {
        int first = start[i], end = start[i + 1];
        for (int p = first + 1; p < end; p++) {
            int j = column[p], q = p;
            float v = value[p];
            for (; q > first && column[q - 1] > j; q--) column[q] = column[q - 1], value[q] = value[q - 1];
            column[q] = j, value[q] = v;
        }
        int at = first;
        for (int p = first; p < end; p++)
            if (at > first && column[at - 1] == column[p]) value[at - 1] += value[p];
            else column[at] = column[p], value[at++] = value[p];
        out.positions[i + 1] = at - first;
    }
    close_gaps(&out, start, column, value);
    if (keep) store_rows(&out);
    free_rows(&out);
    free(counts);
    free(start);
}

static void read_a(void) { a = load_rows("a"); }

// Rows divided by their sums, then the variance of each column, in one walk.
static void normalised_variance(int keep) {
    float *sum = take_zeros(2 * a.columns, 4), *square = sum + a.columns, *out = take(a.columns, 4);
#pragma omp parallel
    {
        float *mine = n_threads() > 1 ? take_zeros(2 * a.columns, 4) : sum;
#pragma omp for schedule(static)
        for (int i = 0; i < a.rows; i++) {
            float total = 0;
            for (int p = a.positions[i]; p < a.positions[i + 1]; p++) total += a.value[p];
            for (int p = a.positions[i]; p < a.positions[i + 1]; p++) {
                float v = a.value[p] / total;
                mine[a.column[p]] += v;
                mine[a.columns + a.column[p]] += v * v;
            }
        }
        if (mine != sum) {
#pragma omp critical
            for (int j = 0; j < 2 * a.columns; j++) sum[j] += mine[j];
            free(mine);
        }
    }
    for (int j = 0; j < a.columns; j++) {
        float mean = sum[j] / a.rows;
        out[j] = square[j] / a.rows - mean * mean;
    }
    if (keep) store("result", "<f4", 4, out, a.columns);
    free(sum);
    free(out);
}

const Case UNIONS[] = {
    {"s7", read_a_b_c, add_masked},
    {"s13", read_a_b, add},
    {"s14", read_dense, add_dense},
    {"s16", read_coordinates, from_coordinates},
    {"s20", read_a, normalised_variance},
    {0},
};
