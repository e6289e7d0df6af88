// The yardstick for sparse kernels: each written by hand for its format and its types, and nothing else.
//
// Inputs are .npy files in one folder: NAME.npy, and NAME_positions, NAME_columns, NAME_values and NAME_shape of a matrix by
// rows. Outputs are allocated and freed in every call, since whoever calls a library gets a new result, too.
#ifndef HAND_H
#define HAND_H

#include <stdint.h>
#include <stddef.h>

typedef struct {
    void *data;
    int64_t count;
} Array;

// Compressed sparse rows; columns increase within a row.
typedef struct {
    int rows, columns;
    int *positions, *column;
    float *value;
} Rows;

// A case: `prepare` reads its inputs, `run` computes once and stores the result if it shall be kept.
typedef struct {
    const char *name;
    void (*prepare)(void);
    void (*run)(int keep);
} Case;

extern const Case PRODUCTS[], UNIONS[], GRAPHS[], TENSORS[];

// Reads NAME.npy, whose items have this many bytes.
Array load(const char *name, size_t size);
Rows load_rows(const char *name);
double load_number(const char *name);
// Writes NAME.npy: a vector of f32 (`<f4`), i32 (`<i4`) or i64 (`<i8`).
void store(const char *name, const char *type, size_t size, const void *data, int64_t count);
void store_rows(const Rows *rows);
void free_rows(Rows *rows);
void *take(int64_t count, size_t size);
void *take_zeros(int64_t count, size_t size);
int n_threads(void);

#endif
