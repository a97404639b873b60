#include "latex.h"

#include "files.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct letter {
    const char *name, *as;
};

/* In the order of their names. */
static const struct letter letters[] = {
    {"AA", "Å"},
    {"AE", "Æ"},
    {"DH", "Ð"},
    {"DJ", "Đ"},
    {"Delta", "Δ"},
    {"Gamma", "Γ"},
    {"Im", "ℑ"},
    {"L", "Ł"},
    {"Lambda", "Λ"},
    {"NG", "Ŋ"},
    {"O", "Ø"},
    {"OE", "Œ"},
    {"Omega", "Ω"},
    {"P", "¶"},
    {"Phi", "Φ"},
    {"Pi", "Π"},
    {"Pr", "Pr"},
    {"Psi", "Ψ"},
    {"Re", "ℜ"},
    {"S", "§"},
    {"Sigma", "Σ"},
    {"TH", "Þ"},
    {"Theta", "Θ"},
    {"Upsilon", "Υ"},
    {"Xi", "Ξ"},
    {"aa", "å"},
    {"ae", "æ"},
    {"aleph", "ℵ"},
    {"alpha", "α"},
    {"arccos", "arccos"},
    {"arcsin", "arcsin"},
    {"arctan", "arctan"},
    {"arg", "arg"},
    {"beta", "β"},
    {"beth", "ℶ"},
    {"chi", "χ"},
    {"cos", "cos"},
    {"cosh", "cosh"},
    {"cot", "cot"},
    {"coth", "coth"},
    {"csc", "csc"},
    {"daleth", "ℸ"},
    {"deg", "deg"},
    {"delta", "δ"},
    {"det", "det"},
    {"dh", "ð"},
    {"digamma", "ϝ"},
    {"dim", "dim"},
    {"dj", "đ"},
    {"ell", "ℓ"},
    {"epsilon", "ϵ"},
    {"eta", "η"},
    {"eth", "ð"},
    {"exp", "exp"},
    {"gamma", "γ"},
    {"gcd", "gcd"},
    {"gimel", "ℷ"},
    {"hbar", "ℏ"},
    {"hom", "hom"},
    {"hslash", "ℏ"},
    {"i", "ı"},
    {"imath", "ı"},
    {"inf", "inf"},
    {"iota", "ι"},
    {"j", "ȷ"},
    {"jmath", "ȷ"},
    {"kappa", "κ"},
    {"ker", "ker"},
    {"l", "ł"},
    {"lambda", "λ"},
    {"lg", "lg"},
    {"lim", "lim"},
    {"liminf", "lim inf"},
    {"limsup", "lim sup"},
    {"ln", "ln"},
    {"log", "log"},
    {"max", "max"},
    {"min", "min"},
    {"mu", "μ"},
    {"ng", "ŋ"},
    {"nu", "ν"},
    {"o", "ø"},
    {"oe", "œ"},
    {"omega", "ω"},
    {"omicron", "ο"},
    {"phi", "ϕ"},
    {"pi", "π"},
    {"psi", "ψ"},
    {"rho", "ρ"},
    {"sec", "sec"},
    {"sigma", "σ"},
    {"sin", "sin"},
    {"sinh", "sinh"},
    {"ss", "ß"},
    {"sup", "sup"},
    {"tan", "tan"},
    {"tanh", "tanh"},
    {"tau", "τ"},
    {"th", "þ"},
    {"theta", "θ"},
    {"upsilon", "υ"},
    {"varepsilon", "ε"},
    {"varkappa", "ϰ"},
    {"varphi", "φ"},
    {"varpi", "ϖ"},
    {"varrho", "ϱ"},
    {"varsigma", "ς"},
    {"vartheta", "ϑ"},
    {"wp", "℘"},
    {"xi", "ξ"},
    {"zeta", "ζ"},
};

/* Commands before a letter that put a mark on it: the combining character. */
static const struct letter marks[] = {
    {"\"", "\u0308"},      {"'", "\u0301"},         {".", "\u0307"},        {"=", "\u0304"},
    {"H", "\u030B"},       {"^", "\u0302"},         {"`", "\u0300"},        {"acute", "\u0301"},
    {"bar", "\u0304"},     {"breve", "\u0306"},     {"c", "\u0327"},        {"check", "\u030C"},
    {"d", "\u0323"},       {"ddot", "\u0308"},      {"dot", "\u0307"},      {"grave", "\u0300"},
    {"hat", "\u0302"},     {"k", "\u0328"},         {"mathring", "\u030A"}, {"r", "\u030A"},
    {"tilde", "\u0303"},   {"u", "\u0306"},         {"v", "\u030C"},        {"vec", "\u20D7"},
    {"widehat", "\u0302"}, {"widetilde", "\u0303"}, {"~", "\u0303"},
};

/* Alphabets: where A, a and 0 are (0: no such letters), and the letters that Unicode has elsewhere. */
static const struct alphabet {
    const char *name;
    uint32_t upper, lower, digit;
    const char *odd; /* pairs: the letter, then what it becomes */
} alphabets[] = {
    {"mathbb", 0x1D538, 0x1D552, 0x1D7D8, "CℂHℍNℕPℙQℚRℝZℤ"},
    {"mathcal", 0x1D49C, 0x1D4B6, 0, "BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ"},
    {"mathfrak", 0x1D504, 0x1D51E, 0, "CℭHℌIℑRℜZℨ"},
    {"mathscr", 0x1D49C, 0x1D4B6, 0, "BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ"},
};

/* Commands whose argument is no text. */
static const char *const silent[] = {"begin",           "color", "end", "hspace",
                                     "includegraphics", "label", "ref", "vspace"};

struct reader {
    const char *p;
    struct page_text out;
    int depth; /* of what reads itself again: an argument in an argument */
};

static void put_code(struct page_text *out, uint32_t c)
{
    char s[4] = {(char)(0xF0 | c >> 18), (char)(0x80 | (c >> 12 & 63)),
                 (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63))};

    print_bytes(out, s, 4); /* those of the alphabets are all beyond U+FFFF */
}

static const char *find(const struct letter *list, size_t n, const char *name, size_t n_name)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i].name) == n_name && memcmp(list[i].name, name, n_name) == 0)
            return list[i].as;
    return NULL;
}

/* The next argument: a group without its braces, a command, or a character. */
static const char *argument(struct reader *r, size_t *n)
{
    const char *from;
    int depth = 0;

    r->p += strspn(r->p, " \n\t");
    from = r->p;
    if (*r->p == '\\' && r->p[1]) {
        r->p += 2;
        while (isalpha((unsigned char)r->p[-1]) && isalpha((unsigned char)*r->p))
            r->p++;
    } else if (*r->p != '{') {
        r->p += *r->p != '\0';
        while (((unsigned char)*r->p & 0xC0) == 0x80)
            r->p++;
    } else {
        do
            depth += (*r->p == '{') - (*r->p == '}');
        while (*++r->p && depth > 0);
        *n = (size_t)(r->p - from) - (depth == 0 ? 2 : 1);
        return from + 1;
    }
    *n = (size_t)(r->p - from);
    return from;
}

static char *convert(const char *tex, size_t n, int depth);

/* An argument as text. */
static char *argument_text(struct reader *r)
{
    size_t n;
    const char *from = argument(r, &n);

    return convert(from, n, r->depth + 1);
}

/* The mark goes behind the first letter. */
static void put_marked(struct reader *r, const char *mark)
{
    char *text = argument_text(r);
    size_t n = text[0] != '\0';

    while (((unsigned char)text[n] & 0xC0) == 0x80)
        n++;
    print_bytes(&r->out, text, n);
    if (n > 0)
        print(&r->out, "%s", mark);
    print(&r->out, "%s", text + n);
    free(text);
}

static void put_styled(struct reader *r, const struct alphabet *a)
{
    char *text = argument_text(r);

    for (const char *s = text; *s; s++) {
        const char *odd = isalnum((unsigned char)*s) ? strchr(a->odd, *s) : NULL;

        if (odd)
            print_bytes(&r->out, odd + 1, 3);
        else if (isupper((unsigned char)*s))
            put_code(&r->out, a->upper + (uint32_t)(*s - 'A'));
        else if (islower((unsigned char)*s))
            put_code(&r->out, a->lower + (uint32_t)(*s - 'a'));
        else if (isdigit((unsigned char)*s) && a->digit)
            put_code(&r->out, a->digit + (uint32_t)(*s - '0'));
        else
            print_bytes(&r->out, s, 1);
    }
    free(text);
}

static bool is_silent(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        if (strlen(silent[i]) == n && memcmp(silent[i], name, n) == 0)
            return true;
    return false;
}

static void put_command(struct reader *r, const char *name, size_t n)
{
    const char *mark = find(marks, sizeof marks / sizeof *marks, name, n);
    const char *as = find(letters, sizeof letters / sizeof *letters, name, n);
    size_t unused;

    if (as)
        print(&r->out, "%s", as);
    else if (mark)
        put_marked(r, mark);
    else if (is_silent(name, n))
        argument(r, &unused);
    else
        for (size_t i = 0; i < sizeof alphabets / sizeof *alphabets; i++)
            if (strlen(alphabets[i].name) == n && memcmp(alphabets[i].name, name, n) == 0)
                put_styled(r, &alphabets[i]);
}

static void read_command(struct reader *r)
{
    const char *name = ++r->p;
    size_t n = 0;

    while (isalpha((unsigned char)name[n]))
        n++;
    if (n == 0 && *name && strchr("\"'.=^`~", *name))
        n = 1;
    if (n == 0) { /* \% and the like are themselves, \, and the like a space */
        if (*name)
            print_bytes(&r->out, strchr("%&#$_{}", *name) ? name : " ", 1);
        r->p += *name != '\0';
        return;
    }
    r->p += n;
    r->p += strspn(r->p, " \n\t");
    put_command(r, name, n);
}

static char *convert(const char *tex, size_t n, int depth)
{
    char *copy = eval_string("%.*s", (int)n, tex);
    struct reader r = {.p = copy, .depth = depth};

    print_bytes(&r.out, "", 0);
    while (*r.p && depth < 50) {
        size_t plain = strcspn(r.p, "\\{}$~&");

        print_bytes(&r.out, r.p, plain);
        r.p += plain;
        if (*r.p == '\\')
            read_command(&r);
        else if (*r.p) {
            if (*r.p == '~' || *r.p == '&')
                print(&r.out, " ");
            r.p++;
        }
    }
    free(copy);
    return r.out.p;
}

char *latex_to_text(const char *tex)
{
    return convert(tex, strlen(tex), 0);
}
