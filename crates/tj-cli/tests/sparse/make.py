"""Makes the inputs beside this file, and what SciPy computes of them in `expected`: `python make.py`.

Made with NumPy 2.4 and SciPy 1.17. Values are small whole numbers, so that sums are exact in any order. Sparse results are
`.mtx` or `.tns` without the zeros that were computed, dense ones are `.npy`.
"""

import pathlib

import numpy as np
import scipy.sparse as sp
from scipy.io import mmwrite

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(20)


def write(name, value):
    if not sp.issparse(value):
        return np.save(HERE / f"{name}.npy", np.asarray(value))
    value = sp.coo_array(value)
    value.eliminate_zeros()
    if value.ndim == 2:
        field = "pattern" if value.dtype == bool else None
        return mmwrite(HERE / f"{name}.mtx", value, field=field, symmetry="general")
    entries = zip(*(places + 1 for places in value.coords), value.data)
    lines = [f"# tensorjit dtype f64 shape {' '.join(map(str, value.shape))}"]
    lines += [" ".join(map(str, entry)) for entry in entries]
    (HERE / f"{name}.tns").write_text("\n".join(lines) + "\n")


def matrix(rows, columns, nnz):
    """Whole numbers from 1 to 8 at random places, none of them in row 1 and column 0."""
    places = rng.choice((rows - 1) * (columns - 1), nnz, replace=False)
    row, column = places // (columns - 1), places % (columns - 1) + 1
    values = rng.integers(1, 9, nnz).astype(float)
    return sp.csr_array((values, (row + (row > 0), column)), shape=(rows, columns))


A, B, C, P = matrix(12, 9, 30), matrix(12, 9, 30), matrix(12, 9, 30), matrix(9, 10, 25)
x, X, y = (rng.integers(-4, 5, shape).astype(float) for shape in (9, (9, 4), 12))
U, V = (rng.integers(-3, 4, shape).astype(float) for shape in ((12, 3), (9, 3)))
weights = rng.integers(1, 4, 9).astype(float)
key = np.array([3, 0, 8, 8, 11, 2])
reached = np.isin(np.arange(10), [2, 5])
links = sp.csr_array(rng.random((10, 10)) * (1 - np.eye(10)) > 0.75)
graph = sp.csr_array(links + links.T)
S = sp.csr_array(np.array([[0, 2.0, 0, -3], [-2, 0, 0, 0], [0, 0, 0, 1], [3, 0, -1, 0]]))
H = sp.csr_array(np.array([[2, 1 - 2j, 0], [1 + 2j, 0, 3j], [0, -3j, 0]]))
T = np.where(rng.random((4, 5, 6)) < 0.2, rng.integers(1, 5, (4, 5, 6)), 0.0)

inputs = dict(a=A, b=B, c=C, p=P, x=x, wide=X, y=y, u=U, v=V, t=sp.coo_array(T), weights=weights, key=key)
inputs |= dict(reached=reached, links=links)
for name, value in inputs.items():
    write(name, value)
mmwrite(HERE / "graph.mtx", graph, field="pattern", symmetry="symmetric")
mmwrite(HERE / "skew.mtx", S, symmetry="skew-symmetric")
mmwrite(HERE / "hermitian.mtx", H, symmetry="hermitian")
sp.save_npz(HERE / "columns.npz", B.tocsc())
# Every place of A, some of them twice, in no order.
coo, order = A.tocoo(), rng.permutation(np.concatenate([np.arange(A.nnz), np.arange(0, A.nnz, 3)]))
again = sp.coo_array((coo.data[order], (coo.row[order], coo.col[order])), shape=A.shape)
mmwrite(HERE / "repeated.mtx", again)

D, G = A.toarray(), graph.astype(np.int64)
adjacent = graph.astype(float)
degree = adjacent.sum(axis=1)
scale = sp.diags_array(1 / np.sqrt(np.maximum(degree, 1)))
sums = np.maximum(A.sum(axis=1), 1)[:, None]
unit = A / np.sqrt(np.maximum((A * A).sum(axis=1), 1))[:, None]
pattern = (A != 0).astype(float)
common = (pattern @ pattern.T).toarray()
counts = pattern.sum(axis=1)
exps = A.copy()
exps.data = np.exp(exps.data - np.repeat(D.max(axis=1), np.diff(A.indptr)))
length = np.where(graph.toarray(), 1.0, np.inf)
rank = np.full(10, 0.1)
for _ in range(5):
    rank = 0.85 * (adjacent @ (rank / np.maximum(degree, 1))) + 0.15 / 10

results = dict(
    spmv=A @ x,
    spmv_transposed=A.T @ y,
    spmm=A @ X,
    sddmm=A * (U @ V.T),
    spgemm=A @ P,
    gram=A.T @ A,
    gram_weighted=A @ sp.diags_array(weights) @ A.T,
    triangles=((G @ G) * G).sum() // 6,
    mttkrp=np.einsum("ijl,jk,lk->ik", T, U[:5], V[:6]),
    union=A + B,
    union_masked=(A + B) * C,
    product=A * B,
    cancelled=A - A,
    maximum=A.maximum(B),
    minimum=A.minimum(B),
    dense_sum=D + U @ V.T,
    chain=A @ P @ y[:10],
    chain_sum=(A @ P @ y[:10]).sum(),
    joined=np.hstack([U[:6], D[key]]) @ np.concatenate([y[:3], x]),
    pagerank=rank,
    step=(links.toarray() & reached).any(axis=1),
    closure=(links.astype(int) @ links.astype(int) + links) != 0,
    variance_of_normalised=(A / sums).toarray().var(axis=0),
    row_sums=A.sum(axis=1),
    row_counts=A.count_nonzero(axis=1),
    row_argmax=D.argmax(axis=1),
    row_top=-np.sort(-D, axis=1)[:, :3],
    column_max=A.max(axis=0).toarray(),
    above=A * (A > 4),
    is_above=A > 4,
    at_most=A.minimum(sp.csr_array(np.full(A.shape, 5.0))),
    lower=sp.tril(A, k=-1),
    upper=sp.triu(A, k=1),
    diagonal=A.diagonal(),
    kronecker=sp.kron(S, A[:3, :4]),
    outer=sp.coo_array(np.einsum("ij,kl->ijk", S.toarray(), D[:3, :4])),
    blocks=sp.block_array([[A, B], [C, None]]),
    stacked=sp.vstack([A, B]),
    rows=A[2:7],
    rows_taken=A[key],
    every_other=A[2:7, 1:9:2],
    laplacian=sp.eye_array(10) - scale @ adjacent @ scale,
    normalised_adjacency=scale @ adjacent @ scale,
    jaccard=sp.csr_array(common / np.maximum(counts[:, None] + counts - common, 1)),
    cosine=unit @ unit.T,
    row_scaled=A / sums,
    row_softmax=exps / np.maximum(exps.sum(axis=1), 1)[:, None],
    tropical=(length[:, :, None] + length).min(axis=1),
    repeated=again.tocsr(),
    skew_square=S @ S,
    hermitian_square=H @ H,
    hermitian_real=H.real,
    skew_part=(S - S.T) / 2,
    contraction=sp.coo_array(np.einsum("ijl,l->ij", T, V[:6, 0] + 4)),
    contraction_sparse=sp.coo_array(np.einsum("ijl,jk->ilk", T, P.toarray()[1:6])),
    fiber_sums=T.sum(axis=2),
    norm=np.sqrt((A * A).sum()),
)
(HERE / "expected").mkdir(exist_ok=True)
for name, value in results.items():
    write(f"expected/{name}", value)
