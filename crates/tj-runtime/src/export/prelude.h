/* A program compiled by tensorjit. Link with the object file of the same name, and with -lm.

   NAME_check returns 0 if the program may run with these sizes, else the number of the first condition that does not
   hold: bounds of sizes, what operators and kernels need of them, and that every count, byte count and offset, and the
   workspace, fits in 63 bits. Steps of a computation count too, so that a size of which a part does not fit is refused.
   NAME_workspace returns how many bytes of workspace NAME_run needs, or SIZE_MAX if that does not fit in size_t.
   NAME_run may only be called with sizes that NAME_check takes. */
#ifndef TJ_NAME_H
#define TJ_NAME_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef TJ_ABI
#define TJ_ABI
typedef struct tj_host {
  void (*gemm_f32)(int64_t m, int64_t n, int64_t k, const float *a, int64_t ar, int64_t ac, const float *b, int64_t br,
                   int64_t bc, float *c, int64_t cr, int64_t cc);
  void (*gemm_f64)(int64_t m, int64_t n, int64_t k, const double *a, int64_t ar, int64_t ac, const double *b,
                   int64_t br, int64_t bc, double *c, int64_t cr, int64_t cc);
} tj_host;
typedef struct tj_args {
  void *const *buffers;
  const int64_t *sizes;
  const uint64_t *params;
  const tj_host *host;
} tj_args;

/* A number, or that it does not fit: 1 while a factor of 0 may still make it 0, else 2. */
typedef struct tj_num {
  int64_t v;
  int bad;
} tj_num;

static inline tj_num tj_make(int64_t v, int bad) {
  tj_num x;
  x.v = bad ? 0 : v;
  x.bad = bad;
  return x;
}
static inline tj_num tj_of(int64_t v) { return tj_make(v, 0); }
static inline tj_num tj_whole(tj_num a) { return tj_make(a.v, a.bad ? 2 : 0); }
static inline tj_num tj_add(tj_num a, tj_num b) {
  if (a.bad || b.bad) return tj_make(0, 2);
  if (b.v > 0 ? a.v > INT64_MAX - b.v : a.v < INT64_MIN - b.v) return tj_make(0, 2);
  return tj_of(a.v + b.v);
}
static inline tj_num tj_mul(tj_num a, tj_num b) {
  if (a.bad == 2 || b.bad == 2) return tj_make(0, 2);
  if ((!a.bad && a.v == 0) || (!b.bad && b.v == 0)) return tj_of(0);
  if (a.bad || b.bad) return tj_make(0, 1);
  if (a.v > 0 ? (b.v > 0 ? a.v > INT64_MAX / b.v : b.v < INT64_MIN / a.v)
              : (b.v > 0 ? a.v < INT64_MIN / b.v : b.v < INT64_MAX / a.v))
    return tj_make(0, 1);
  return tj_of(a.v * b.v);
}
static inline tj_num tj_floordiv(tj_num a, tj_num b) {
  if (a.bad || b.bad || (a.v == INT64_MIN && b.v == -1)) return tj_make(0, 2);
  if (b.v == 0) return tj_of(0);
  return tj_of(a.v / b.v - ((a.v % b.v != 0) && ((a.v < 0) != (b.v < 0))));
}
static inline tj_num tj_modulo(tj_num a, tj_num b) {
  int64_t rest;
  if (a.bad || b.bad) return tj_make(0, 2);
  if (b.v == 0 || b.v == -1) return tj_of(0);
  rest = a.v % b.v;
  return tj_of(rest != 0 && (rest < 0) != (b.v < 0) ? rest + b.v : rest);
}
static inline tj_num tj_min(tj_num a, tj_num b) { return tj_make(a.v < b.v ? a.v : b.v, a.bad || b.bad ? 2 : 0); }
static inline tj_num tj_max(tj_num a, tj_num b) { return tj_make(a.v > b.v ? a.v : b.v, a.bad || b.bad ? 2 : 0); }
/* 0 unless the condition is positive. */
static inline tj_num tj_when(tj_num condition, tj_num a) {
  if (condition.bad) return tj_make(0, 2);
  return condition.v > 0 ? a : tj_of(0);
}
/* Bytes of so many elements, a multiple of 64. */
static inline tj_num tj_padded(tj_num count, int64_t width) {
  tj_num bytes = tj_whole(tj_mul(tj_max(count, tj_of(0)), tj_of(width)));
  tj_num padded = tj_add(bytes, tj_of(63));
  return tj_make(padded.v / 64 * 64, padded.bad);
}

static inline int tj_equal(tj_num a, tj_num b) { return !a.bad && !b.bad && a.v == b.v; }
static inline int tj_at_most(tj_num a, tj_num b) { return !a.bad && !b.bad && a.v <= b.v; }
static inline int tj_divides(tj_num d, tj_num n) {
  if (d.bad || n.bad) return 0;
  return d.v == 0 ? n.v == 0 : tj_modulo(n, d).v == 0;
}
static inline int tj_inside(tj_num low, tj_num high, tj_num len) {
  return !low.bad && !high.bad && !len.bad && low.v >= 0 && high.v < len.v;
}
/* What holds if the condition is not positive, or if the rest does. */
static inline int tj_if(tj_num condition, int rest) { return !condition.bad && (condition.v <= 0 || rest); }

#define TJ_GEMM(KERNEL, T, FMA)                                                                                   \
  static void KERNEL(int64_t m, int64_t n, int64_t k, const T *a, int64_t ar, int64_t ac, const T *b, int64_t br,  \
                     int64_t bc, T *c, int64_t cr, int64_t cc) {                                                  \
    for (int64_t i = 0; i < m; i++)                                                                               \
      for (int64_t j = 0; j < n; j++) {                                                                           \
        T total = 0;                                                                                              \
        for (int64_t block = 0; block < k; block += 256) {                                                        \
          T sum = 0;                                                                                              \
          for (int64_t p = block; p < k && p < block + 256; p++)                                                  \
            sum = FMA(a[i * ar + p * ac], b[p * br + j * bc], sum);                                               \
          total = total + sum;                                                                                    \
        }                                                                                                         \
        c[i * cr + j * cc] = total;                                                                               \
      }                                                                                                           \
  }
#ifndef TJ_GEMM_F32
TJ_GEMM(tj_gemm_f32, float, fmaf)
#define TJ_GEMM_F32 tj_gemm_f32
#endif
#ifndef TJ_GEMM_F64
TJ_GEMM(tj_gemm_f64, double, fma)
#define TJ_GEMM_F64 tj_gemm_f64
#endif
#endif

