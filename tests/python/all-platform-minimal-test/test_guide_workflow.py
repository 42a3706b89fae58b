"""The array guide's complete workflow, as it is printed there."""


def test_guide_workflow():
    import numpy as np
    import tvm
    from tvm import te

    # 1. create an NDArray (CPU)
    x_np = np.random.randint(0, 10, size=(3, 4)).astype("float32")
    x = tvm.nd.array(x_np, device=tvm.cpu(0))
    assert isinstance(x, tvm.nd.NDArray)
    assert x.shape == x_np.shape and x.dtype == x_np.dtype

    # 2. move it between devices, where there is a GPU
    if tvm.cuda(0).exist:
        cuda_arr = x.copyto(tvm.cuda(0))
        back_cpu = cuda_arr.copyto(tvm.cpu(0))
        np.testing.assert_equal(back_cpu.numpy(), x_np)

    # 3. use it with a compiled function: a simple te operator
    n = 100
    A = te.placeholder((n,), dtype="float32")
    B = te.compute((n,), lambda i: A[i] + 1.0)
    func = tvm.build(te.create_schedule([B.op]), [A, B], "llvm")

    in_arr = tvm.nd.array(np.random.randn(n).astype("float32"))
    out_arr = tvm.nd.empty((n,), dtype="float32")
    func(in_arr, out_arr)

    # 4. check with NumPy
    np.testing.assert_allclose(out_arr.numpy(), in_arr.numpy() + 1.0)


def test_guide_dlpack(torch):
    import numpy as np
    import tvm

    # 5. share memory with torch
    torch_t = torch.arange(6).reshape(2, 3)
    tvm_arr = tvm.nd.from_dlpack(torch_t)
    tvm_arr[:] = torch_t.numpy() * 2
    np.testing.assert_equal(torch_t.numpy(), np.arange(6).reshape(2, 3) * 2)
