# Inner kernels: each instruction set is a file compiled with its own flags; cpu_kern_init picks at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(recto-core PRIVATE src/backend/cpu/x86/kern_x86.c src/backend/cpu/x86/kern_avx2.c
                 src/backend/cpu/x86/kern_avx512.c src/backend/cpu/x86/kern_avx512bf16.c
                 src/backend/cpu/x86/quant_avx2.c src/backend/cpu/x86/quant_vnni.c src/backend/cpu/x86/kern_amx.c
                 src/backend/cpu/x86/quant_amx.c)
  set_source_files_properties(src/backend/cpu/x86/kern_avx2.c src/backend/cpu/x86/quant_avx2.c PROPERTIES COMPILE_OPTIONS "-O3;-Wno-psabi;-mavx2;-mfma")
  set_source_files_properties(src/backend/cpu/x86/kern_avx512.c PROPERTIES
    COMPILE_OPTIONS "-O3;-Wno-psabi;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mfma;-mprefer-vector-width=512")
  set_source_files_properties(src/backend/cpu/x86/kern_avx512bf16.c PROPERTIES
    COMPILE_OPTIONS "-O3;-Wno-psabi;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mfma;-mavx512bf16;-mprefer-vector-width=512")
  set_source_files_properties(src/backend/cpu/x86/quant_vnni.c PROPERTIES
    COMPILE_OPTIONS "-O3;-Wno-psabi;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mfma;-mavx512vnni;-mprefer-vector-width=512")
  set_source_files_properties(src/backend/cpu/x86/kern_amx.c src/backend/cpu/x86/quant_amx.c PROPERTIES
    COMPILE_OPTIONS "-O3;-Wno-psabi;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mfma;-mamx-tile;-mamx-bf16;-mamx-int8;-mprefer-vector-width=512")
endif()
# Loops over rows, which the compiler turns into vectors at this level only.
set_source_files_properties(src/backend/cpu/kern_c.c src/backend/cpu/quant_c.c src/tensor/quant.c PROPERTIES COMPILE_OPTIONS "-O3;-Wno-psabi")
set_source_files_properties(src/backend/cpu/linear.c src/backend/cpu/elementwise.c
  src/backend/cpu/attend.c src/backend/cpu/moe.c src/backend/cpu/pack.c src/backend/cpu/peak.c PROPERTIES COMPILE_OPTIONS "-O3")
