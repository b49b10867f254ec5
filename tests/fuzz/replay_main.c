/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Runs a harness over every file of the directories named on the command line, and then over all of
 * them again in the opposite order, where each must do what it did the first time. */

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_MAX (1 << 20)
#define FILES_MAX 4096

static struct {
	char path[1024];
	uint64_t notes;
} file[FILES_MAX];

static uint64_t
replay(const char *path)
{
	uint8_t *data = malloc(INPUT_MAX);
	FILE *in = fopen(path, "rb");
	size_t n;

	if (in == NULL || data == NULL) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	n = fread(data, 1, INPUT_MAX, in);
	fclose(in);
	/* Exactly the size of the input, so that a sanitizer sees a read beyond it. */
	data = realloc(data, n > 0 ? n : 1);
	fuzz_notes = 0;
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	return fuzz_notes;
}

/* Names the files of a directory behind the n there are; how many there are then. */
static unsigned int
list(const char *dir, unsigned int n)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (d == NULL) {
		fprintf(stderr, "%s: %s\n", dir, strerror(errno));
		exit(1);
	}
	while ((e = readdir(d)) != NULL && n < FILES_MAX)
		if (e->d_name[0] != '.')
			snprintf(file[n++].path, sizeof(file[0].path), "%s/%s", dir, e->d_name);
	closedir(d);
	return n;
}

int
main(int argc, char **argv)
{
	unsigned int n = 0, other = 0;

	for (int i = 1; i < argc; i++)
		n = list(argv[i], n);
	for (unsigned int i = 0; i < n; i++)
		file[i].notes = replay(file[i].path);
	for (unsigned int i = n; i-- > 0;) {
		if (replay(file[i].path) == file[i].notes)
			continue;
		fprintf(stderr, "%s: does something else the second time\n", file[i].path);
		other++;
	}
	printf("%u inputs\n", n);
	return n == 0 || other > 0;
}
