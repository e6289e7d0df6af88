// Products: matrix times vector, times dense matrix, sampled, times sparse matrix, transposed times vector.
#include "hand.h"

#include <stdlib.h>
#include <string.h>

static Rows a, b;
static Array x, y;

static void read_a_x(void) {
    a = load_rows("a");
    x = load("x", 4);
}

static void spmv(int keep) {
    float *out = take(a.rows, 4);
    const float *in = x.data;
#pragma omp parallel for schedule(dynamic, 1024)
    for (int i = 0; i < a.rows; i++) {
        float sum = 0;
        for (int p = a.positions[i]; p < a.positions[i + 1]; p++) sum += a.value[p] * in[a.column[p]];
        out[i] = sum;
    }
    if (keep) store("result", "<f4", 4, out, a.rows);
    free(out);
}

// A row of the result stays in registers: 64 columns are 8 vectors of 8, or 4 of 16.
static void spmm(int keep) {
    enum { K = 64 };
    float *out = take((int64_t)a.rows * K, 4);
    const float *in = x.data;
#pragma omp parallel for schedule(dynamic, 256)
    for (int i = 0; i < a.rows; i++) {
        float sum[K] = {0};
        for (int p = a.positions[i]; p < a.positions[i + 1]; p++) {
            const float *row = in + (int64_t)a.column[p] * K, v = a.value[p];
            for (int k = 0; k < K; k++) sum[k] += v * row[k];
        }
        memcpy(out + (int64_t)i * K, sum, sizeof sum);
    }
    if (keep) store("result", "<f4", 4, out, (int64_t)a.rows * K);
    free(out);
}

static void read_sddmm(void) {
    a = load_rows("s");
    x = load("a", 4);
    y = load("bt", 4);
}

static void sddmm(int keep) {
    enum { K = 64 };
    int64_t n = a.positions[a.rows];
    Rows out = {a.rows, a.columns, take(a.rows + 1, 4), take(n, 4), take(n, 4)};
    memcpy(out.positions, a.positions, 4 * (a.rows + 1));
    const float *left = x.data, *right = y.data;
#pragma omp parallel for schedule(dynamic, 256)
    for (int i = 0; i < a.rows; i++)
        for (int p = a.positions[i]; p < a.positions[i + 1]; p++) {
            const float *l = left + (int64_t)i * K, *r = right + (int64_t)a.column[p] * K;
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int k = 0; k < K; k++) sum += l[k] * r[k];
            out.column[p] = a.column[p];
            out.value[p] = a.value[p] * sum;
        }
    if (keep) store_rows(&out);
    free_rows(&out);
}

static void read_a_b(void) {
    a = load_rows("a");
    b = load_rows("b");
}

static void read_a_a(void) { a = b = load_rows("a"); }

// Gustavson's rows in two passes. A bitmap with a summary says which columns a row has and gives them back in order, so that
// nothing is sorted: 4096 columns are one word of the summary.
static void spgemm(int keep) {
    int words = (b.columns + 63) / 64, tops = (words + 63) / 64;
    Rows out = {a.rows, b.columns, take_zeros(a.rows + 1, 4), NULL, NULL};
#pragma omp parallel
    {
        uint64_t *bits = take_zeros(words, 8), *top = take_zeros(tops, 8);
        float *sum = take(b.columns, 4);
#pragma omp for schedule(dynamic, 64)
        for (int i = 0; i < a.rows; i++) {
            int n = 0;
            for (int p = a.positions[i]; p < a.positions[i + 1]; p++) {
                int k = a.column[p];
                for (int q = b.positions[k]; q < b.positions[k + 1]; q++) {
                    int j = b.column[q];
                    uint64_t bit = 1ull << (j & 63);
                    n += !(bits[j >> 6] & bit);
                    bits[j >> 6] |= bit;
                    top[j >> 12] |= 1ull << (j >> 6 & 63);
                }
            }
            for (int t = 0; t < tops; t++)
                for (; top[t]; top[t] &= top[t] - 1) bits[t * 64 + __builtin_ctzll(top[t])] = 0;
            out.positions[i + 1] = n;
        }
#pragma omp single
        {
            for (int i = 0; i < a.rows; i++) out.positions[i + 1] += out.positions[i];
            out.column = take(out.positions[a.rows], 4);
            out.value = take(out.positions[a.rows], 4);
        }
#pragma omp for schedule(dynamic, 64)
        for (int i = 0; i < a.rows; i++) {
            for (int p = a.positions[i]; p < a.positions[i + 1]; p++) {
                int k = a.column[p];
                float v = a.value[p];
                for (int q = b.positions[k]; q < b.positions[k + 1]; q++) {
                    int j = b.column[q];
                    uint64_t bit = 1ull << (j & 63);
                    float old = bits[j >> 6] & bit ? sum[j] : 0;
                    sum[j] = old + v * b.value[q];
                    bits[j >> 6] |= bit;
                    top[j >> 12] |= 1ull << (j >> 6 & 63);
                }
            }
            int at = out.positions[i];
            for (int t = 0; t < tops; t++)
                for (; top[t]; top[t] &= top[t] - 1) {
                    int w = t * 64 + __builtin_ctzll(top[t]);
                    for (; bits[w]; bits[w] &= bits[w] - 1) {
                        int j = w * 64 + __builtin_ctzll(bits[w]);
                        out.column[at] = j;
                        out.value[at++] = sum[j];
                    }
                }
        }
        free(bits);
        free(top);
        free(sum);
    }
    if (keep) store_rows(&out);
    free_rows(&out);
}

// Rows add what they have to the result; each thread to one of its own.
static void spmv_scattered(int keep) {
    float *out = take_zeros(a.columns, 4);
    const float *in = x.data;
#pragma omp parallel
    {
        float *mine = n_threads() > 1 ? take_zeros(a.columns, 4) : out;
#pragma omp for schedule(static)
        for (int i = 0; i < a.rows; i++)
            for (int p = a.positions[i]; p < a.positions[i + 1]; p++) mine[a.column[p]] += a.value[p] * in[i];
        if (mine != out) {
#pragma omp critical
            for (int j = 0; j < a.columns; j++) out[j] += mine[j];
            free(mine);
        }
    }
    if (keep) store("result", "<f4", 4, out, a.columns);
    free(out);
}

// The transposed matrix by counting, which is part of no sample.
static void read_transposed(void) {
    Rows from;
    read_a_x();
    from = a;
    int64_t n = from.positions[from.rows];
    a = (Rows){from.columns, from.rows, take_zeros(from.columns + 1, 4), take(n, 4), take(n, 4)};
    for (int64_t p = 0; p < n; p++) a.positions[from.column[p] + 1]++;
    for (int j = 0; j < a.rows; j++) a.positions[j + 1] += a.positions[j];
    int *next = take(a.rows + 1, 4);
    memcpy(next, a.positions, 4 * (a.rows + 1));
    for (int i = 0; i < from.rows; i++)
        for (int p = from.positions[i]; p < from.positions[i + 1]; p++) {
            int to = next[from.column[p]]++;
            a.column[to] = i;
            a.value[to] = from.value[p];
        }
    free(next);
}

const Case PRODUCTS[] = {
    {"s1", read_a_x, spmv},
    {"s12", read_a_x, spmv},
    {"s2", read_a_x, spmm},
    {"s3", read_sddmm, sddmm},
    {"s4", read_a_b, spgemm},
    {"s11", read_a_a, spgemm},
    {"s15", read_a_x, spmv_scattered},
    {"s15:csc", read_transposed, spmv},
    {0},
};
