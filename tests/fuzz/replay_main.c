/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Runs a harness over every file of the directories named on the command line, once. */

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_MAX (1 << 20)

static void
replay_file(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *data;
	FILE *in;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	in = fopen(path, "rb");
	data = malloc(INPUT_MAX);
	if (in == NULL || data == NULL) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	n = fread(data, 1, INPUT_MAX, in);
	fclose(in);
	/* Exactly the size of the input, so that a sanitizer sees a read beyond it. */
	data = realloc(data, n > 0 ? n : 1);
	LLVMFuzzerTestOneInput(data, n);
	free(data);
}

int
main(int argc, char **argv)
{
	int files = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *e;

		if (dir == NULL) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			return 1;
		}
		while ((e = readdir(dir)) != NULL) {
			if (e->d_name[0] == '.')
				continue;
			replay_file(argv[i], e->d_name);
			files++;
		}
		closedir(dir);
	}
	printf("%d inputs\n", files);
	return files == 0;
}
