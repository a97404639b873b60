/* Regular expressions over bytes (PCRE2), for texts that are taken apart as the code of a benchmark takes them apart. A pattern
 * that does not end within PCRE2's limits counts as not found. */
#ifndef RECTO_EVAL_REGEX_H
#define RECTO_EVAL_REGEX_H

#include <stdbool.h>
#include <stddef.h>

enum { REGEX_DOTALL = 1, REGEX_LINES = 2, REGEX_NOCASE = 4 };
enum { REGEX_GROUPS = 6 };

struct regex_match {
    size_t from[REGEX_GROUPS],
        to[REGEX_GROUPS]; /* of the whole and of groups; from > to: the group took no part */
};

struct regex;
struct regex *regex_make(const char *pattern,
                         int flags); /* a pattern of ours: a wrong one ends the program */
void regex_free(struct regex *r);
/* The first match at or behind `from` in s[0 ... n). */
bool regex_find(struct regex *r, const char *s, size_t n, size_t from, struct regex_match *m);

/* s, which is freed, with every match replaced by group `group` of it (-1: by nothing). A new string. */
char *regex_keep(char *s, const char *pattern, int flags, int group);
/* The same with a text in the matches' place. */
char *regex_put(char *s, const char *pattern, int flags, const char *text);

#endif
