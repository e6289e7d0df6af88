// What is not a matrix alone: a tensor of rank 3 times two matrices, a join, a chain.
#include "hand.h"

#include <stdlib.h>
#include <string.h>

enum { K = 32 };

static Array i_of, j_of, l_of, v_of, b, c;
static int n;

static void read_coordinates(void) {
    i_of = load("i", 8);
    j_of = load("j", 8);
    l_of = load("l", 8);
    v_of = load("v", 4);
    b = load("b", 4);
    c = load("c", 4);
    n = b.count / K;
}

static void mttkrp_row(float *out, const float *vb, const float *vc, float v) {
    for (int k = 0; k < K; k++) out[k] += v * vb[k] * vc[k];
}

// From coordinates: entries are brought to their rows by counting, which is part of the work.
static void mttkrp(int keep) {
    const int64_t *i = i_of.data, *j = j_of.data, *l = l_of.data;
    const float *v = v_of.data, *vb = b.data, *vc = c.data;
    int nnz = v_of.count, *start = take_zeros(n + 2, 4), *order = take(nnz, 4);
    float *out = take_zeros((int64_t)n * K, 4);
    for (int e = 0; e < nnz; e++) start[i[e] + 2]++;
    for (int row = 0; row < n; row++) start[row + 2] += start[row + 1];
    for (int e = 0; e < nnz; e++) order[start[i[e] + 1]++] = e;
#pragma omp parallel for schedule(dynamic, 8)
    for (int row = 0; row < n; row++) {
        float sum[K] = {0};
        for (int p = start[row]; p < start[row + 1]; p++)
            mttkrp_row(sum, vb + j[order[p]] * K, vc + l[order[p]] * K, v[order[p]]);
        memcpy(out + (int64_t)row * K, sum, sizeof sum);
    }
    if (keep) store("result", "<f4", 4, out, (int64_t)n * K);
    free(start);
    free(order);
    free(out);
}

static Array at0, list0, at1, list1, at2, list2, leaf;

static void read_fibers(void) {
    at0 = load("x_positions0", 4), list0 = load("x_list0", 4);
    at1 = load("x_positions1", 4), list1 = load("x_list1", 4);
    at2 = load("x_positions2", 4), list2 = load("x_list2", 4);
    leaf = load("x_values", 4);
    b = load("b", 4);
    c = load("c", 4);
    n = b.count / K;
}

// Over compressed fibers: b is multiplied once a fiber.
static void mttkrp_fibers(int keep) {
    const int *i = list0.data, *p1 = at1.data, *j = list1.data, *p2 = at2.data, *l = list2.data;
    const float *v = leaf.data, *vb = b.data, *vc = c.data;
    float *out = take_zeros((int64_t)n * K, 4);
#pragma omp parallel for schedule(dynamic, 8)
    for (int r = 0; r < (int)list0.count; r++) {
        float sum[K] = {0};
        for (int q = p1[r]; q < p1[r + 1]; q++) {
            float fiber[K] = {0};
            const float *row = vb + (int64_t)j[q] * K;
            for (int e = p2[q]; e < p2[q + 1]; e++)
                for (int k = 0; k < K; k++) fiber[k] += v[e] * vc[(int64_t)l[e] * K + k];
            for (int k = 0; k < K; k++) sum[k] += fiber[k] * row[k];
        }
        memcpy(out + (int64_t)i[r] * K, sum, sizeof sum);
    }
    if (keep) store("result", "<f4", 4, out, (int64_t)n * K);
    free(out);
}

static Array x1, x2, key, th1, th2;

static void read_join(void) {
    x1 = load("x1", 4);
    x2 = load("x2", 4);
    key = load("key", 8);
    th1 = load("th1", 4);
    th2 = load("th2", 4);
}

static float dot(const float *x, const float *y, int n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int k = 0; k < n; k++) sum += x[k] * y[k];
    return sum;
}

static void join(int keep) {
    const float *left = x1.data, *right = x2.data;
    const int64_t *keys = key.data;
    int d1 = th1.count, d2 = th2.count, orders = x1.count / d1, suppliers = x2.count / d2;
    float *of = take(suppliers, 4), *out = take(orders, 4);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int s = 0; s < suppliers; s++) of[s] = dot(right + (int64_t)s * d2, th2.data, d2);
#pragma omp for schedule(static)
        for (int o = 0; o < orders; o++) out[o] = dot(left + (int64_t)o * d1, th1.data, d1) + of[keys[o]];
    }
    if (keep) store("result", "<f4", 4, out, orders);
    free(of);
    free(out);
}

static Array a, m;
static Rows s;

static void read_chain(void) {
    a = load("a", 4);
    m = load("b", 4);
    s = load_rows("c");
}

// sum(A B C) from the right: never a matrix.
static void chain(int keep) {
    int size = s.rows;
    float *sums = take(size, 4), *next = take(size, 4), all = 0;
    for (int i = 0; i < size; i++) {
        sums[i] = 0;
        for (int p = s.positions[i]; p < s.positions[i + 1]; p++) sums[i] += s.value[p];
    }
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < size; i++) next[i] = dot((float *)m.data + (int64_t)i * size, sums, size);
#pragma omp for schedule(static) reduction(+ : all)
        for (int i = 0; i < size; i++) all += dot((float *)a.data + (int64_t)i * size, next, size);
    }
    if (keep) store("result", "<f4", 4, &all, 1);
    free(sums);
    free(next);
}

const Case TENSORS[] = {
    {"s6", read_coordinates, mttkrp},
    {"s6:csf", read_fibers, mttkrp_fibers},
    {"s9", read_join, join},
    {"s10", read_chain, chain},
    {0},
};
