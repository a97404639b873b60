# Each outside library as one target, dep-NAME; what they are and why: docs/dependencies.md.
find_package(PkgConfig REQUIRED)

function(recto_dep name module)
  pkg_check_modules(${name} REQUIRED ${module})
  add_library(dep-${name} INTERFACE)
  target_include_directories(dep-${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
  if(RECTO_STATIC_LIBS AND ARGN)
    foreach(lib ${ARGN})
      find_library(${lib}_STATIC NAMES lib${lib}.a REQUIRED)
      target_link_libraries(dep-${name} INTERFACE ${${lib}_STATIC})
    endforeach()
  else()
    target_link_directories(dep-${name} INTERFACE ${${name}_LIBRARY_DIRS})
    target_link_libraries(dep-${name} INTERFACE ${${name}_LIBRARIES})
  endif()
endfunction()

recto_dep(jansson jansson jansson)
recto_dep(pcre2 libpcre2-8 pcre2-8)
recto_dep(md libmd md)
if(RECTO_HELPER) # pictures out; pages come in through the helper, which has the same two and more
  recto_dep(spng spng)
  recto_dep(jpeg libjpeg)
  recto_dep(z zlib)
endif()
# The server's store.
recto_dep(sqlite3 sqlite3)
