/* Is this program slowed down by a sanitizer, and how long may a test wait before it calls something hung? */
#ifndef TESTS_HANG_H
#define TESTS_HANG_H

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#define INSTRUMENTED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))

/* On processor time, for an input that takes 0.05 s to 1 s here and tens of seconds under a sanitizer on a busy machine. */
#define HANG_S (INSTRUMENTED ? 120 : 10)
/* On the wall clock, between two signs of life of an engine. */
#define HANG_MS 600000

#endif
