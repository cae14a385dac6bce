# Compiler flags that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

option(REHEARSE_WERROR "Warnings are errors" OFF)
option(REHEARSE_SANITIZE "Address and undefined-behaviour sanitizers" OFF)

add_library(rehearse_options INTERFACE)
target_include_directories(rehearse_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/rehearse>)
target_compile_features(rehearse_options INTERFACE cxx_std_20)
target_compile_options(rehearse_options INTERFACE
  $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra> $<BUILD_INTERFACE:-Wshadow> $<BUILD_INTERFACE:-Wnon-virtual-dtor>
  $<BUILD_INTERFACE:-Wno-missing-field-initializers>)
if(REHEARSE_WERROR)
  target_compile_options(rehearse_options INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
# GCC looks for garbage when it has taken 0.8 GB, not 0.25: most units never get there, which saves them a tenth of their time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(rehearse_options INTERFACE $<BUILD_INTERFACE:--param=ggc-min-heapsize=400000>)
endif()
# Same bytes in every build: no fused multiply-add, and libm called, never folded by the compiler.
target_compile_options(rehearse_options INTERFACE -ffp-contract=off)
foreach(f pow exp exp2 log log2 log1p expm1 cbrt tanh sin cos hypot)
  target_compile_options(rehearse_options INTERFACE -fno-builtin-${f})
endforeach()
if(REHEARSE_SANITIZE)
  # Eigen would take memory in its own way under the sanitizers, and give back what objects of the release build took in the plain one.
  target_compile_definitions(rehearse_options INTERFACE EIGEN_MALLOC_ALREADY_ALIGNED=1)
  # Null pointers and objects too small are the address sanitizer's to find, at their use; instrumenting each access for them, for
  # alignment and for types again takes a third of the time to compile.
  # Casts of doubles that an integer cannot hold are no part of GCC's `undefined`.
  set(sanitize -fsanitize=address,undefined,float-cast-overflow -fno-sanitize=null,alignment,object-size,vptr,nonnull-attribute,returns-nonnull-attribute
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # What is tested is checked for undefined behaviour, the tests themselves are not: they would take twice as long to compile.
  # GCC then sees short strings overrun that are not.
  set(tests_own "$<$<BOOL:$<TARGET_PROPERTY:REHEARSE_IS_TEST>>:-fno-sanitize=undefined,float-cast-overflow;-Wno-array-bounds>")
  # GCC's instrumentation makes it see uninitialised values that are none, in the standard library too (std::regex).
  target_compile_options(rehearse_options INTERFACE ${sanitize} "${tests_own}" -g1 -Wno-maybe-uninitialized)
  target_link_options(rehearse_options INTERFACE ${sanitize})
  # Memory is checked by calls where code takes no time: less to compile than checks in place.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(sanitize_by_calls --param=asan-instrumentation-with-call-threshold=0)
  endif()
  # At a fixed address a sanitized program has no million addresses to move when it starts, which tests have it do hundreds of times.
  target_compile_options(rehearse_options INTERFACE -fno-pie)
  target_link_options(rehearse_options INTERFACE -no-pie)
endif()
# gold links a program in a third of the time; there are over a hundred test programs.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=gold REHEARSE_GOLD)
  if(REHEARSE_GOLD)
    target_link_options(rehearse_options INTERFACE $<BUILD_INTERFACE:-fuse-ld=gold>)
  endif()
endif()
