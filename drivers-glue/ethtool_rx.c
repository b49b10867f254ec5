/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <errno.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ethtool.h"

static int
fail(const char *ifname, const char *what, int ret, struct ps_err *err)
{
	if (ret == -EOPNOTSUPP)
		return ps_fail(err, EOPNOTSUPP, "%s: its driver does not support %s", ifname, what);
	return ps_fail(err, -ret, "%s: %s: %s%s", ifname, what, strerror(-ret),
		ret == -EPERM ? ": run as root" : "");
}

int
ps_driver_get(const char *ifname, struct ps_driver *d, struct ps_err *err)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	int ret = ps_ethtool_ioctl(ifname, &info);

	memset(d, 0, sizeof(*d));
	if (ret < 0)
		return fail(ifname, "its driver's name (ethtool -i)", ret, err);
	memcpy(d->name, info.driver, sizeof(info.driver));
	memcpy(d->version, info.version, sizeof(info.version));
	memcpy(d->firmware, info.fw_version, sizeof(info.fw_version));
	memcpy(d->bus, info.bus_info, sizeof(info.bus_info));
	return 0;
}

/* -- indirection table and hash key -- */

union rxfh {
	struct ethtool_rxfh h;
	uint8_t bytes[sizeof(struct ethtool_rxfh) + PS_RSS_ENTRIES * sizeof(uint32_t) + PS_RSS_KEY];
};

static bool
is_even(const struct ps_rss *r)
{
	for (uint32_t i = 0; i < r->n_entries; i++)
		if (r->n_rings == 0 || r->entry[i] != i % r->n_rings)
			return false;
	return r->n_entries > 0;
}

/* context 0: the port's own table. */
static int
get_rss(const char *ifname, uint32_t context, struct ps_rss *r, struct ps_err *err)
{
	struct ethtool_rxnfc n = {.cmd = ETHTOOL_GRXRINGS};
	struct ethtool_rxfh sizes = {.cmd = ETHTOOL_GRSSH, .rss_context = context};
	union rxfh *x;
	int ret = ps_ethtool_ioctl(ifname, &sizes);

	memset(r, 0, sizeof(*r));
	if (ret < 0)
		return fail(ifname, "its indirection table (ethtool -x)", ret, err);
	if (sizes.indir_size > PS_RSS_ENTRIES || sizes.key_size > PS_RSS_KEY)
		return fail(ifname, "an indirection table of this size", -ERANGE, err);
	if (ps_ethtool_ioctl(ifname, &n) == 0)
		r->n_rings = (uint32_t)n.data;
	x = calloc(1, sizeof(*x));
	if (x == NULL)
		return fail(ifname, "its indirection table", -ENOMEM, err);
	x->h = sizes;
	x->h.cmd = ETHTOOL_GRSSH;
	x->h.rss_context = context;
	ret = ps_ethtool_ioctl(ifname, x);
	if (ret == 0) {
		r->n_entries = x->h.indir_size;
		r->n_key = x->h.key_size;
		r->hash = x->h.hfunc;
		memcpy(r->entry, x->h.rss_config, r->n_entries * sizeof(r->entry[0]));
		memcpy(r->key, x->h.rss_config + r->n_entries, r->n_key);
		r->even = is_even(r);
	}
	free(x);
	return ret < 0 ? fail(ifname, "its indirection table (ethtool -x)", ret, err) : 0;
}

int
ps_rss_get(const char *ifname, struct ps_rss *r, struct ps_err *err)
{
	return get_rss(ifname, 0, r, err);
}

char *
ps_queues_text(struct ps_queues q, char text[PS_QUEUES_TEXT])
{
	if (q.n == 1)
		snprintf(text, PS_QUEUES_TEXT, "queue %u", q.first);
	else
		snprintf(text, PS_QUEUES_TEXT, "queues %u to %u", q.first, q.first + q.n - 1);
	return text;
}

int
ps_rss_spare(struct ps_rss *r, struct ps_queues q, uint32_t total)
{
	if (q.first >= total || q.n > total - q.first || q.n == total)
		return -EINVAL;
	for (uint32_t i = 0; i < r->n_entries; i++) {
		uint32_t other = i % (total - q.n);

		r->entry[i] = other < q.first ? other : other + q.n;
	}
	r->even = false;
	return 0;
}

bool
ps_rss_spares(const struct ps_rss *r, struct ps_queues q)
{
	for (uint32_t i = 0; i < r->n_entries; i++)
		if (r->entry[i] >= q.first && r->entry[i] - q.first < q.n)
			return false;
	return true;
}

static bool
is_as_set(const struct ps_rss *want, const struct ps_rss *now)
{
	size_t bytes = want->n_entries * sizeof(want->entry[0]);

	if (want->even && !now->even)
		return false;
	if (!want->even && want->n_entries > 0 &&
		(now->n_entries != want->n_entries || memcmp(want->entry, now->entry, bytes) != 0))
		return false;
	if (want->hash != 0 && want->hash != now->hash)
		return false;
	return want->n_key == 0 ||
	       (now->n_key == want->n_key && memcmp(want->key, now->key, want->n_key) == 0);
}

int
ps_rss_set(const char *ifname, const struct ps_rss *r, struct ps_err *err)
{
	struct ps_rss *now = malloc(sizeof(*now));
	union rxfh *x = calloc(1, sizeof(*x));
	uint32_t n = 0;
	int ret = now == NULL || x == NULL ? fail(ifname, "its indirection table", -ENOMEM, err)
					   : ps_rss_get(ifname, now, err);

	if (ret < 0 || is_as_set(r, now))
		goto out;
	/* Resetting the table to even takes the kernel's request of size zero. */
	if (r->even)
		x->h.indir_size = 0;
	else if (r->n_entries == 0)
		x->h.indir_size = ETH_RXFH_INDIR_NO_CHANGE;
	else
		x->h.indir_size = n = r->n_entries;
	x->h.cmd = ETHTOOL_SRSSH;
	x->h.key_size = r->n_key;
	x->h.hfunc = r->hash;
	memcpy(x->h.rss_config, r->entry, n * sizeof(r->entry[0]));
	memcpy(x->h.rss_config + n, r->key, r->n_key);
	ret = ps_ethtool_ioctl(ifname, x);
	if (ret < 0) {
		ret = fail(
			ifname, "setting its indirection table or hash key (ethtool -X)", ret, err);
		goto out;
	}
	ret = ps_rss_get(ifname, now, err);
	if (ret == 0 && !is_as_set(r, now))
		ret = ps_fail(err, EIO,
			"%s: its indirection table or hash key is not what was set: see ethtool -x "
			"%s",
			ifname, ifname);
out:
	free(x);
	free(now);
	return ret;
}

static bool
append(char *text, size_t size, size_t *at, const char *fmt, unsigned int value)
{
	int n = snprintf(text + *at, size - *at, fmt, value);

	*at += (size_t)n;
	return *at < size;
}

int
ps_rss_text(const char *ifname, char *text, size_t size, struct ps_err *err)
{
	struct ps_rss *r = malloc(sizeof(*r));
	bool fits = true;
	size_t at = 0;
	int ret = r == NULL ? fail(ifname, "its indirection table", -ENOMEM, err)
			    : ps_rss_get(ifname, r, err);

	if (ret < 0)
		goto out;
	text[0] = 0;
	if (r->hash)
		fits = append(text, size, &at, "hash=%u ", r->hash);
	for (uint32_t i = 0; fits && i < r->n_key; i++)
		fits = append(text, size, &at, i == 0 ? "key=%02x" : "%02x", r->key[i]);
	if (fits && r->n_key && r->n_entries)
		fits = append(text, size, &at, " ", 0);
	if (fits && r->even)
		fits = append(text, size, &at, "table=even", 0);
	for (uint32_t i = 0; fits && !r->even && i < r->n_entries; i++)
		fits = append(text, size, &at, i == 0 ? "table=%u" : ",%u", r->entry[i]);
	if (!fits)
		ret = ps_fail(err, ENOSPC, "%s: its indirection table does not fit in %zu bytes",
			ifname, size);
out:
	free(r);
	return ret;
}

static bool
parse_key(const char *s, size_t len, struct ps_rss *r)
{
	if (len == 0 || len % 2 != 0 || len / 2 > PS_RSS_KEY)
		return false;
	for (size_t i = 0; i < len; i += 2) {
		char two[3] = {s[i], s[i + 1], 0}, *end;

		r->key[i / 2] = (uint8_t)strtoul(two, &end, 16);
		if (end != two + 2 || two[0] == '-' || two[0] == '+')
			return false;
	}
	r->n_key = (uint32_t)(len / 2);
	return true;
}

/* What table=but:FIRST+N/TOTAL asks for; total 0: nothing. */
struct but {
	struct ps_queues queues;
	uint32_t total;
};

static bool
parse_table(const char *s, size_t len, struct ps_rss *r, struct but *but)
{
	const char *end = s + len;
	int at = 0;

	if (len == 4 && memcmp(s, "even", 4) == 0) {
		r->even = true;
		return true;
	}
	if (sscanf(s, "but:%u+%u/%u%n", &but->queues.first, &but->queues.n, &but->total, &at) == 3)
		return at == (int)len && but->total > 0;
	while (s < end && r->n_entries < PS_RSS_ENTRIES) {
		char *stop;
		unsigned long n = strtoul(s, &stop, 10);

		if (stop == s || *s < '0' || *s > '9' || n > UINT32_MAX)
			return false;
		r->entry[r->n_entries++] = (uint32_t)n;
		if (stop == end)
			return true;
		if (*stop != ',')
			return false;
		s = stop + 1;
	}
	return false;
}

static bool
parse_rss(const char *text, struct ps_rss *r, struct but *but)
{
	memset(r, 0, sizeof(*r));
	*but = (struct but){0};
	for (text += strspn(text, " "); *text != 0; text += strspn(text, " ")) {
		size_t len = strcspn(text, " ");
		bool ok = false;

		if (strncmp(text, "hash=", 5) == 0) {
			unsigned long n = strtoul(text + 5, NULL, 10);

			ok = n > 0 && n <= UINT8_MAX;
			r->hash = (uint8_t)n;
		} else if (strncmp(text, "key=", 4) == 0) {
			ok = parse_key(text + 4, len - 4, r);
		} else if (strncmp(text, "table=", 6) == 0) {
			ok = parse_table(text + 6, len - 6, r, but);
		}
		if (!ok)
			return false;
		text += len;
	}
	return true;
}

/* The table's length may have changed with the channels. */
static int
spread_but(const char *ifname, const struct but *but, struct ps_rss *r, struct ps_err *err)
{
	struct ethtool_rxfh sizes = {.cmd = ETHTOOL_GRSSH};
	int ret = ps_ethtool_ioctl(ifname, &sizes);
	char text[PS_QUEUES_TEXT];

	if (ret == 0 && (sizes.indir_size == 0 || sizes.indir_size > PS_RSS_ENTRIES))
		ret = -EOPNOTSUPP;
	if (ret < 0)
		return fail(ifname, "an indirection table", ret, err);
	r->n_entries = sizes.indir_size;
	if (ps_rss_spare(r, but->queues, but->total) < 0)
		return ps_fail(err, EINVAL,
			"%s: %s of %u cannot be penstock's and leave one for the kernel: raise the "
			"channels (ethtool -L %s), or set layout = simple",
			ifname, ps_queues_text(but->queues, text), but->total, ifname);
	return 0;
}

int
ps_rss_restore(const char *ifname, const char *text, struct ps_err *err)
{
	struct ps_rss *r = malloc(sizeof(*r));
	struct but but;
	int ret = 0;

	if (r == NULL)
		ret = fail(ifname, "its indirection table", -ENOMEM, err);
	else if (!parse_rss(text, r, &but))
		ret = ps_fail(err, EINVAL,
			"\"%.80s\" is not a saved indirection table (hash=N key=HEX table=N,N,...)",
			text);
	else if (but.total > 0)
		ret = spread_but(ifname, &but, r, err);
	if (ret == 0)
		ret = ps_rss_set(ifname, r, err);
	free(r);
	return ret;
}

/* -- further tables -- */

/* Kernels number them from 1 on; drivers have 16 or so. */
#define CONTEXTS 64

/* Neighbouring queues, each of them: what one table of ours spreads over. */
static bool
is_over(const struct ps_rss *r, struct ps_queues q)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < r->n_entries; i++) {
		if (r->entry[i] < q.first || r->entry[i] - q.first >= q.n)
			return false;
		seen |= UINT64_C(1) << (r->entry[i] - q.first);
	}
	return (uint32_t)__builtin_popcountll(seen) == q.n;
}

int
ps_rss_context_queues(const char *ifname, uint32_t id, struct ps_queues *q, struct ps_err *err)
{
	struct ps_rss *r = malloc(sizeof(*r));
	uint32_t low = UINT32_MAX, high = 0;
	int ret = r == NULL ? fail(ifname, "an RSS context", -ENOMEM, err)
			    : get_rss(ifname, id, r, err);

	for (uint32_t i = 0; ret == 0 && i < r->n_entries; i++) {
		low = r->entry[i] < low ? r->entry[i] : low;
		high = r->entry[i] > high ? r->entry[i] : high;
	}
	if (ret == 0) {
		*q = (struct ps_queues){.first = low, .n = high - low + 1};
		if (low > high || q->n > 64 || !is_over(r, *q))
			ret = ps_fail(err, ENOENT, "%s: RSS context %u has gaps", ifname, id);
	}
	free(r);
	return ret;
}

int
ps_rss_context_find(const char *ifname, struct ps_queues q, uint32_t *id, struct ps_err *err)
{
	char text[PS_QUEUES_TEXT];

	for (uint32_t i = 1; i < CONTEXTS; i++) {
		struct ps_queues of;
		int ret = ps_rss_context_queues(ifname, i, &of, err);

		if (ret == -EOPNOTSUPP)
			return ps_fail(err, EOPNOTSUPP,
				"%s: its driver has no further RSS contexts: set queues = 1, or "
				"layout = simple",
				ifname);
		if (ret == -EPERM || ret == -ENODEV || ret == -ENOMEM)
			return ret;
		if (ret == 0 && of.first == q.first && of.n == q.n) {
			*id = i;
			return 0;
		}
	}
	return ps_fail(
		err, ENOENT, "%s: no RSS context spreads over %s", ifname, ps_queues_text(q, text));
}

int
ps_rss_context_remove(const char *ifname, uint32_t id, struct ps_err *err)
{
	/* To set a table of no entries is to remove it. */
	struct ethtool_rxfh x = {.cmd = ETHTOOL_SRSSH, .rss_context = id};
	int ret = ps_ethtool_ioctl(ifname, &x);

	return ret < 0 ? fail(ifname, "removing its RSS context (ethtool -X IF context N delete)",
				 ret, err)
		       : 0;
}

int
ps_rss_context_add(const char *ifname, struct ps_queues q, struct ps_err *err)
{
	struct ethtool_rxfh sizes = {.cmd = ETHTOOL_GRSSH};
	union rxfh *x = calloc(1, sizeof(*x));
	struct ps_queues got;
	uint32_t id = 0;
	int ret = x == NULL ? -ENOMEM : ps_ethtool_ioctl(ifname, &sizes);

	if (ret == 0 && (sizes.indir_size < q.n || sizes.indir_size > PS_RSS_ENTRIES))
		ret = -EOPNOTSUPP;
	if (ret == 0) {
		x->h.cmd = ETHTOOL_SRSSH;
		x->h.rss_context = ETH_RXFH_CONTEXT_ALLOC;
		x->h.indir_size = sizes.indir_size;
		for (uint32_t i = 0; i < sizes.indir_size; i++)
			x->h.rss_config[i] = q.first + i % q.n;
		ret = ps_ethtool_ioctl(ifname, x);
		id = x->h.rss_context;
	}
	free(x);
	if (ret < 0)
		return fail(
			ifname, "a further RSS context (ethtool -X IF ... context new)", ret, err);
	ret = ps_rss_context_queues(ifname, id, &got, err);
	if (ret == 0 && got.first == q.first && got.n == q.n)
		return 0;
	ps_rss_context_remove(ifname, id, err);
	return ps_fail(err, EIO,
		"%s: its new RSS context does not read back as it was set; it was removed: set "
		"queues = 1, or layout = simple",
		ifname);
}

/* -- hashed fields -- */

static const struct {
	char letter;
	uint32_t bit;
} hashed[] = {
	{'m', RXH_L2DA},
	{'v', RXH_VLAN},
	{'t', RXH_L3_PROTO},
	{'s', RXH_IP_SRC},
	{'d', RXH_IP_DST},
	{'f', RXH_L4_B_0_1},
	{'n', RXH_L4_B_2_3},
	{'r', RXH_DISCARD},
};
#define N_HASHED (sizeof(hashed) / sizeof(hashed[0]))

static int
flowhash_get(const char *ifname, uint64_t *bits, struct ps_err *err)
{
	struct ethtool_rxnfc nfc = {.cmd = ETHTOOL_GRXFH, .flow_type = UDP_V4_FLOW};
	int ret = ps_ethtool_ioctl(ifname, &nfc);

	*bits = nfc.data;
	return ret < 0 ? fail(ifname, "the hash of UDP flows (ethtool -n IF rx-flow-hash udp4)",
				 ret, err)
		       : 0;
}

int
ps_flowhash_text(const char *ifname, char *text, size_t size, struct ps_err *err)
{
	uint64_t bits, known = 0;
	size_t at = 0;
	int ret = flowhash_get(ifname, &bits, err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < N_HASHED; i++) {
		known |= hashed[i].bit;
		if ((bits & hashed[i].bit) && at + 1 < size)
			text[at++] = hashed[i].letter;
	}
	text[at] = 0;
	if (bits & ~known)
		return ps_fail(err, ERANGE, "%s: hashes UDP over fields not known here (%#llx)",
			ifname, (unsigned long long)bits);
	return 0;
}

int
ps_flowhash_set(const char *ifname, const char *text, struct ps_err *err)
{
	struct ethtool_rxnfc nfc = {.cmd = ETHTOOL_SRXFH, .flow_type = UDP_V4_FLOW};
	uint64_t now;
	int ret;

	for (const char *c = text; *c != 0; c++) {
		size_t i = 0;

		while (i < N_HASHED && hashed[i].letter != *c)
			i++;
		if (i == N_HASHED)
			return ps_fail(err, EINVAL,
				"\"%s\" is not a set of hashed fields (letters of mvtsdfnr)", text);
		nfc.data |= hashed[i].bit;
	}
	ret = flowhash_get(ifname, &now, err);
	if (ret < 0 || now == nfc.data)
		return ret;
	ret = ps_ethtool_ioctl(ifname, &nfc);
	if (ret < 0)
		return fail(ifname, "setting the hash of UDP flows", ret, err);
	ret = flowhash_get(ifname, &now, err);
	if (ret == 0 && now != nfc.data)
		return ps_fail(err, EIO,
			"%s: the hash of UDP flows is not what was set: see ethtool -n %s "
			"rx-flow-hash udp4",
			ifname, ifname);
	return ret;
}
