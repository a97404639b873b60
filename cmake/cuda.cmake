# The CUDA backend: src/backend/cuda as a library of its own, because its files want their own flags.
# Asked for by RECTO_CUDA; without a CUDA compiler the build says so once and goes on for the CPU.
set(RECTO_CUDA_ARCHS "90a-real;80-real;89-real" CACHE STRING "GPU architectures to compile for (CMAKE_CUDA_ARCHITECTURES)")
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_ARCHITECTURES ${RECTO_CUDA_ARCHS})
  enable_language(CUDA)
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3 -g")
  set_target_properties(recto-base recto-core PROPERTIES CUDA_ARCHITECTURES OFF) # made before the language was known
  find_package(CUDAToolkit REQUIRED)
  add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/../src/backend/cuda ${CMAKE_BINARY_DIR}/cuda)
  target_compile_definitions(recto-core PUBLIC RECTO_HAVE_CUDA)
  target_link_libraries(recto-core PUBLIC recto-cuda)
else()
  message(STATUS "recto: RECTO_CUDA is ON but there is no CUDA compiler (nvcc): building for the CPU only")
endif()
