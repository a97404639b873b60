#include "cli.h"
#include "progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct cmd cmds[] = {
    {"read", FOR_READ, cmd_read, "INPUT...", "turn images and PDF files into text",
     "INPUT is an image, a PDF (report.pdf#pages=2-5 for some of its pages), a folder, a quoted\n"
     "pattern ('scans/**/*.tif'), @LIST with a path a line, or - for standard input. Results go to\n"
     "standard output in the order of the inputs, or to -o; everything else to standard error.\n\n"
     "  recto read page.png\n"
     "  recto read --pages 1-3,7 -f md,json -o texts/ report.pdf\n"
     "  recto read -r -o texts/ scans\n"
     "  recto read --task 'locate=the date' -f raw letter.png\n\n"
     "Exit: 0 all pages ok or blank, 2 usage, 3 a page ended error, loop or length, 4 no input\n"
     "could be read, 5 model or device, 6 output, 1 a bug, 130 or 143 after a signal.\n"},
    {"inspect", FOR_INSPECT, cmd_inspect, "[IMAGE...]", "describe a model, or how images are cut",
     "Without IMAGE: the model's parts, sizes and memory. With: views and token counts of each.\n"},
    {"verify", FOR_VERIFY, cmd_verify, "[CASES_JSON]", "compare with the reference implementation",
     "  recto verify --golden DIR [--case NAME] [--guard N/W]\n"
     "  recto verify --preprocess CASES_JSON\n"
     "  recto verify --tokenizer TOKENIZER_JSON CASES_JSON\n\n"
     "Exit: 0 only if everything holds, 3 if something differs.\n"},
    {"bench", FOR_BENCH, cmd_bench, "pages|tokens|stages|loss|compare [INPUT...]",
     "measure a model",
     "  recto bench pages -r DIR\n"
     "  recto bench stages [vision|prefill|decode]\n"
     "  recto bench tokens --concurrency 1,4,8 page.png\n"
     "  recto bench loss --task text page*.png\n"
     "  recto bench compare before.json after.json\n\n"
     "stages: one stage after the other on random input, with the share of what the machine can do at\n"
     "most, measured in the same run.\n\n"
     "loss: the images read with weights as stored, in int8 and in int4: tokens that change, and the\n"
     "character error rate where page.txt beside page.png says what is written there.\n\n"
     "tokens: over concurrency. "
     "For each c: c requests handed over at once, decoding of images before the clock, vision,\n"
     "prefill and decode inside it; greedy, no guard, ends of text honoured. Request i reads image\n"
     "i modulo their number: with one image the work is the same at every c.\n\n"
     "pages: from files on disk to Markdown on disk (in -o DIR, or a folder that goes again): pages/s,\n"
     "latency, time by stage, and what the device says of itself. All files wait at the start, or with\n"
     "--rate 20 arrive by themselves, 20 a second. Where truth/NAME.md lies beside pages/NAME.png, how well\n"
     "they were read is said too.\n\n"
     "compare: two files of --json, figure by figure, each with the spread of its rounds.\n"},
    {"serve", FOR_SERVE, cmd_serve, "", "answer HTTP requests, and show the web page",
     "OpenAI's chat route, document jobs that survive a restart, and a page for people at\n"
     "http://127.0.0.1:8080/. Clients, keys, proxies: docs/server.md.\n\n"
     "  recto serve\n"
     "  recto serve --model DIR --keys keys.txt --listen 0.0.0.0:8080 --host-name ocr.example.org\n\n"
     "SIGTERM and SIGINT: drain, then exit 0; a second one: exit 1 at once.\n"},
    {"key", FOR_KEY, cmd_key, "new NAME", "make a key for the server's API",
     "Prints the key, once, and appends a line with its name, role, limits and SHA-256 to --keys FILE.\n"},
    {"store", FOR_STORE, cmd_store, "check|vacuum|migrate", "look after the jobs of a server",
     "On the data directory of a server that is not running. check: the database, its counters, and the\n"
     "files; exit 3 if something is wrong. vacuum: give back free space. migrate: to this version.\n"},
    {"eval", FOR_EVAL, cmd_eval, "-o DIR SET",
     "read pages whose truth is known, and score what was read",
     "  recto eval -o report SET\n"
     "  recto eval -o report --pred texts SET\n"
     "  recto eval --compare report-a report-b\n\n"
     "SET is a folder with pages/NAME.png (or .pdf, ...) and truth/NAME.txt, .md, .json or .html; the JSON\n"
     "of OmniDocBench; or the folder of olmOCR-bench. Written are DIR/report.json, report.md and\n"
     "report.html with the worst pages. An interrupted run goes on with --resume. Bad texts are results:\n"
     "the exit code is 0 when every page has one, 3 when some could not be read.\n"},
    {"quantize", FOR_QUANTIZE, cmd_quantize, "MODEL", "make a smaller, faster copy of a model",
     "  recto quantize MODEL -o OUT --scheme int8\n\n"
     "OUT is a folder like MODEL, with the decoder's matrices in 8.25 or 4.5 bits a number; vision,\n"
     "the choice of experts and embeddings stay as they are. recto read --weights int8 computes the\n"
     "same without a copy, at each start.\n"},
};
enum { N_CMD = sizeof cmds / sizeof *cmds };

static void print_overview(FILE *out)
{
    fputs("recto turns pages into text with DeepSeek-OCR-2.\n\n  recto read page.png\n\n", out);
    for (int i = 0; i < N_CMD; i++)
        fprintf(out, "  recto %-8s %s\n", cmds[i].name, cmds[i].what);
    fputs("  recto --version  what this build and this processor can do\n\n"
          "recto COMMAND --help lists the options of a command. Each may also be set in the\n"
          "environment (--max-tokens is RECTO_MAX_TOKENS) and in ~/.config/recto/recto.ini\n"
          "(max-tokens = 500): an argument wins over the environment, the environment over the\n"
          "file.\n",
          out);
}

static int print_help(const struct cmd *c)
{
    printf("usage: recto %s [options] %s\n\n%s\n\noptions, with their defaults in parentheses:\n",
           c->name, c->operands, c->more);
    options_help(stdout, c->mask);
    return EXIT_FINE;
}

static int print_version(void)
{
#ifdef NDEBUG
    const char *checks = "without assertions";
#else
    const char *checks = "with assertions";
#endif
    printf("recto %s\n%s\ncompiler: %s, %s\n", RECTO_VERSION, recto_features(), __VERSION__,
           checks);
    return fflush(stdout) == 0 ? EXIT_FINE : EXIT_OUTPUT;
}

static enum say_level say_level_of(const struct options *o)
{
    if (opt_flag(o, OPT_QUIET))
        return SAY_ERROR;
    return opt_flag(o, OPT_VERBOSE) ? SAY_DEBUG : SAY_INFO;
}

static int open_log(const struct options *o)
{
    const char *path = opt_text(o, OPT_LOG);

    if (!path || say_log_open(path) == 0)
        return 0;
    say(SAY_ERROR, "cannot write %s: %s (%s)", path, strerror(errno),
        recto_error_name(RECTO_EOUTPUT));
    return EXIT_OUTPUT;
}

static int run(const struct cmd *c, int argc, char **argv)
{
    struct options o;
    int rc;

    if (options_parse(&o, c->name, c->mask, argc, argv) < 0) {
        say(SAY_ERROR, "%s", o.error);
        rc = EXIT_USAGE;
    } else if (o.wants_help) {
        rc = print_help(c);
    } else {
        say_init(say_level_of(&o));
        rc = open_log(&o);
        if (rc == 0)
            rc = c->run(&o);
    }
    options_reset(&o);
    return rc;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";

    for (int i = 0; i < N_CMD; i++)
        if (strcmp(word, cmds[i].name) == 0)
            return run(&cmds[i], argc - 2, argv + 2);
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0)
        return print_version();
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_overview(argc > 1 ? stdout : stderr);
        return argc > 1 ? EXIT_FINE : EXIT_USAGE;
    }
    say(SAY_ERROR, "there is no command '%s'; recto --help lists them", word);
    return EXIT_USAGE;
}
