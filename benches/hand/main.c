// Reads and writes arrays, and answers: started as `hand CASE FOLDER THREADS`, computes once, stores the result in the folder
// and prints `ready FIRST_MS`; for each line `time` the milliseconds of one call, until `stop`.
#include "hand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

static const char *folder;

static void fail(const char *what, const char *name) {
    fprintf(stderr, "hand: %s %s\n", what, name);
    exit(1);
}

static FILE *open_file(const char *name, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    FILE *file = fopen(path, mode);
    if (!file) fail("cannot open", path);
    return file;
}

Array load(const char *name, size_t size) {
    FILE *file = open_file(name, "rb");
    unsigned char start[10];
    if (fread(start, 1, 10, file) != 10 || start[6] != 1) fail("no .npy of version 1 is", name);
    long header = 10 + start[8] + 256 * start[9];
    fseek(file, 0, SEEK_END);
    long bytes = ftell(file) - header;
    fseek(file, header, SEEK_SET);
    if (bytes % (long)size) fail("items have another size in", name);
    Array array = {take(bytes / (long)size, size), bytes / (long)size};
    if ((long)fread(array.data, 1, bytes, file) != bytes) fail("cannot read", name);
    fclose(file);
    return array;
}

Rows load_rows(const char *name) {
    char part[256];
    const char *ends[] = {"shape", "positions", "columns", "values"};
    size_t sizes[] = {8, 4, 4, 4};
    Array arrays[4];
    for (int i = 0; i < 4; i++) {
        snprintf(part, sizeof part, "%s_%s", name, ends[i]);
        arrays[i] = load(part, sizes[i]);
    }
    const int64_t *shape = arrays[0].data;
    return (Rows){(int)shape[0], (int)shape[1], arrays[1].data, arrays[2].data, arrays[3].data};
}

double load_number(const char *name) { return *(double *)load(name, 8).data; }

void store(const char *name, const char *type, size_t size, const void *data, int64_t count) {
    FILE *file = open_file(name, "wb");
    char header[118];
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%ld,), }", type, (long)count);
    memset(header + n, ' ', sizeof header - n);
    header[117] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    fwrite(header, 1, sizeof header, file);
    fwrite(data, size, count, file);
    if (fclose(file)) fail("cannot write", name);
}

void store_rows(const Rows *rows) {
    int64_t n = rows->positions[rows->rows], shape[2] = {rows->rows, rows->columns};
    store("result_shape", "<i8", 8, shape, 2);
    store("result_positions", "<i4", 4, rows->positions, rows->rows + 1);
    store("result_columns", "<i4", 4, rows->column, n);
    store("result_values", "<f4", 4, rows->value, n);
}

void free_rows(Rows *rows) {
    free(rows->positions);
    free(rows->column);
    free(rows->value);
}

void *take(int64_t count, size_t size) {
    void *data = malloc(count > 0 ? count * size : 1);
    if (!data) fail("no", "memory");
    return data;
}

void *take_zeros(int64_t count, size_t size) {
    void *data = calloc(count > 0 ? count : 1, size);
    if (!data) fail("no", "memory");
    return data;
}

int n_threads(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static const Case *find(const char *name) {
    const Case *lists[] = {PRODUCTS, UNIONS, GRAPHS, TENSORS};
    for (int i = 0; i < 4; i++)
        for (const Case *c = lists[i]; c->name; c++)
            if (!strcmp(c->name, name)) return c;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) fail("usage:", "hand CASE FOLDER THREADS");
    folder = argv[2];
    const Case *c = find(argv[1]);
    if (!c) fail("no such case:", argv[1]);
#ifdef _OPENMP
    omp_set_num_threads(atoi(argv[3]));
#else
    if (atoi(argv[3]) != 1) fail("compiled without OpenMP, not for", argv[3]);
#endif
    // Freed memory stays with the process, as ours does: else large results are page faults for the most part.
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
#endif
    c->prepare();
    double start = now();
    c->run(1);
    printf("ready %f\n", now() - start);
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin) && !strncmp(line, "time", 4)) {
        int calls = 0;
        double since = now();
        do {
            c->run(0);
            calls++;
        } while (now() - since < 5 && calls < 5000);
        printf("%f\n", (now() - since) / calls);
        fflush(stdout);
    }
    return 0;
}
