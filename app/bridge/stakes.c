/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "stakes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Exactly 32 bytes in Bitcoin's alphabet; false for anything else. */
static bool
read_key(const char *text, uint8_t key[32])
{
	static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
	const size_t ones = strspn(text, "1");
	size_t zeros = 0;

	memset(key, 0, 32);
	for (const char *p = text; *p != '\0'; p++) {
		const char *digit = strchr(alphabet, *p);
		uint32_t carry;

		if (digit == NULL)
			return false;
		carry = (uint32_t)(digit - alphabet);
		for (int i = 31; i >= 0; i--) {
			carry += key[i] * 58u;
			key[i] = (uint8_t)carry;
			carry >>= 8;
		}
		if (carry != 0)
			return false;
	}
	/* as many digits 1 in front as there are zero bytes, or it is of another length */
	while (zeros < 32 && key[zeros] == 0)
		zeros++;
	return zeros == ones;
}

static bool
read_lamports(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static int
compare(const void *a, const void *b)
{
	return memcmp(((const struct ps_bridge_stake *)a)->key,
		((const struct ps_bridge_stake *)b)->key, 32);
}

static const char *
scalar(yaml_document_t *doc, int node)
{
	yaml_node_t *n = yaml_document_get_node(doc, node);

	/* zero bytes would hide what follows them */
	if (n == NULL || n->type != YAML_SCALAR_NODE ||
		strlen((char *)n->data.scalar.value) != n->data.scalar.length)
		return "";
	return (const char *)n->data.scalar.value;
}

static yaml_node_t *
mapping(yaml_document_t *doc, int node)
{
	yaml_node_t *n = yaml_document_get_node(doc, node);

	return n != NULL && n->type == YAML_MAPPING_NODE ? n : NULL;
}

static int
read_pairs(struct ps_bridge_stakes *t, yaml_document_t *doc, const yaml_node_t *map,
	const char *file, struct ps_err *e)
{
	const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	const size_t n = (size_t)(map->data.mapping.pairs.top - pair);

	t->stake = calloc(n + 1, sizeof(*t->stake));
	if (t->stake == NULL)
		return ps_fail(e, ENOMEM, "no memory for the %zu stakes of %s", n, file);
	for (; t->n < n; t->n++, pair++) {
		const char *key = scalar(doc, pair->key), *lamports = scalar(doc, pair->value);

		if (!read_key(key, t->stake[t->n].key))
			return ps_fail(e, EINVAL,
				"%s: '%.64s' is not a public key in base58; mend or remove it",
				file, key);
		if (!read_lamports(lamports, &t->stake[t->n].lamports))
			return ps_fail(e, EINVAL,
				"%s: the stake of %s is not a number; give lamports", file, key);
	}
	qsort(t->stake, t->n, sizeof(*t->stake), compare);
	for (size_t i = 1; i < n; i++)
		if (compare(&t->stake[i - 1], &t->stake[i]) == 0)
			return ps_fail(e, EINVAL,
				"%s: a public key stands there twice; remove one of them", file);
	return 0;
}

static int
read_document(struct ps_bridge_stakes *t, yaml_document_t *doc, const char *file, struct ps_err *e)
{
	const yaml_node_t *root = mapping(doc, 1), *map = NULL;
	const yaml_node_pair_t *pair;

	if (root != NULL && root->data.mapping.pairs.top - root->data.mapping.pairs.start == 1) {
		pair = root->data.mapping.pairs.start;
		if (strcmp(scalar(doc, pair->key), "staked_map_id") == 0)
			map = mapping(doc, pair->value);
	}
	if (map == NULL)
		return ps_fail(e, EINVAL,
			"%s: one mapping staked_map_id is expected, and below it lines 'public "
			"key: lamports'",
			file);
	return read_pairs(t, doc, map, file, e);
}

int
ps_bridge_stakes_load(struct ps_bridge_stakes *t, const char *file, struct ps_err *e)
{
	struct ps_bridge_stakes fresh = {0};
	FILE *f = fopen(file, "re");
	yaml_document_t doc;
	yaml_parser_t parser;
	int rc;

	if (f == NULL)
		return ps_fail(e, errno,
			"[bridge] stakes: cannot read %s: %s; name a file of "
			"staked-nodes-overrides",
			file, strerror(errno));
	if (!yaml_parser_initialize(&parser)) {
		fclose(f);
		return ps_fail(e, ENOMEM, "no memory to read %s", file);
	}
	yaml_parser_set_input_file(&parser, f);
	if (yaml_parser_load(&parser, &doc)) {
		rc = read_document(&fresh, &doc, file, e);
		yaml_document_delete(&doc);
	} else {
		rc = ps_fail(e, EINVAL, "%s: line %zu is not YAML: %s; mend it", file,
			parser.problem_mark.line + 1,
			parser.problem != NULL ? parser.problem : "unreadable");
	}
	yaml_parser_delete(&parser);
	fclose(f);
	if (rc < 0) {
		ps_bridge_stakes_free(&fresh);
		return rc;
	}
	ps_bridge_stakes_free(t);
	*t = fresh;
	return 0;
}

void
ps_bridge_stakes_free(struct ps_bridge_stakes *t)
{
	free(t->stake);
	*t = (struct ps_bridge_stakes){0};
}

uint64_t
ps_bridge_stakes_of(const struct ps_bridge_stakes *t, const uint8_t key[32])
{
	const struct ps_bridge_stake *s =
		t->n == 0 ? NULL : bsearch(key, t->stake, t->n, sizeof(*t->stake), compare);

	return s != NULL ? s->lamports : 0;
}
