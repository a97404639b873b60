/* LaTeX of a formula as plain Unicode text, as far as letters and digits go: the normal form of OmniDocBench's texts keeps
 * nothing else, so operators, spaces and brackets may come out as they like.
 *
 * Commands that are letters (\alpha, \ell, \AE) become them, names of functions (\sin) themselves; accents (\hat x) join their
 * letter; \mathbb, \mathcal, \mathscr and \mathfrak give the letters of these alphabets; other commands go and leave what is in
 * the braces behind them.  Behaves like LatexNodes2Text of pylatexenc (https://pylatexenc.readthedocs.io), which the
 * benchmark's code calls; the letters are those of Unicode's names (UnicodeData.txt) and of TR 25. */
#ifndef RECTO_EVAL_LATEX_H
#define RECTO_EVAL_LATEX_H

/* A new string. */
char *latex_to_text(const char *tex);

#endif
