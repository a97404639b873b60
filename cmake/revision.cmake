# Writes OUT with the revision of the source and how it is compiled; only when they change, so that nothing is built for it
# again without need. Called at each build: cmake -DSOURCE=... -DOUT=... -DBUILD=... -P revision.cmake
find_package(Git QUIET)
set(REVISION "")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude *
    OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(REVISION STREQUAL "")
  set(REVISION "(no git)")
endif()
string(REPLACE "\"" "'" BUILD "${BUILD}")
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define RECTO_REVISION \"@REVISION@\"\n#define RECTO_BUILD \"@BUILD@\"\n" @ONLY)
