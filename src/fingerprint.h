/* A name for the contents of a folder of model files, which tells models apart without reading gigabytes. */
#ifndef RECTO_FINGERPRINT_H
#define RECTO_FINGERPRINT_H

#define FINGERPRINT_HEX 65 /* with the NUL */

/* SHA-256 over every *.json and *.safetensors in dir, in byte order of their names: name, NUL, size as 8 bytes (little
 * endian), content. Of a file over 16 MB only the first megabyte (a checkpoint's header is there) and 64 KB at the start of
 * each 64th of it: every tensor of a retrained model differs, so some sample does. RECTO_EREAD, RECTO_ENOTFOUND. */
int fingerprint_of_model(const char *dir, char hex[FINGERPRINT_HEX]);

#endif
