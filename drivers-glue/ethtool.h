/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* What ethtool shows and sets, as far as Penstock needs it: ethtool netlink where the kernel has
 * messages for it, the ioctl elsewhere. Control thread and host commands only; keeps no state.
 *
 * Everything that can be set can be had as text ("combined=4 rx=0", "off [requested on]") that the
 * setter takes back, so that init can save it and fini restore it (settings.h joins them all). */
#ifndef PS_GLUE_ETHTOOL_H
#define PS_GLUE_ETHTOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ps_err.h"

/* SIOCETHTOOL with this command struct. 0 or -errno. */
int ps_ethtool_ioctl(const char *ifname, void *cmd);

struct ps_driver {
	char name[33], version[33], firmware[33], bus[33]; /* bus: PCI address, or empty */
};

int ps_driver_get(const char *ifname, struct ps_driver *d, struct ps_err *err);

/* -- numbers: channels, rings, coalescing, speed -- */

enum ps_params { PS_CHANNELS, PS_RINGS, PS_COALESCE, PS_LINKMODES };

/* name as in the text, or its limit as in "combined-max"; -ENOENT: this device does not have it.
 * PS_LINKMODES has "speed" in Mbit/s, absent without link, and cannot be set. */
int ps_params_get(const char *ifname, enum ps_params group, const char *name, uint32_t *value,
	struct ps_err *err);

/* All that can be set, as "combined=4 rx=0"; may be empty. -ENOSPC: size is too small. */
int ps_params_text(
	const char *ifname, enum ps_params group, char *text, size_t size, struct ps_err *err);

/* Any part of such a text. Sends only what differs, all in one request, and reads it back. */
int ps_params_set(const char *ifname, enum ps_params group, const char *text, struct ps_err *err);

/* -- features (ethtool -k) -- */

struct ps_feature {
	uint32_t index; /* number of the feature in this kernel's bitmaps */
	bool active;
	bool wanted;     /* differs from active: "off [requested on]" */
	bool changeable; /* false: [fixed] */
};

/* name is the kernel's (rx-udp-gro-forwarding, tx-gre-segmentation, rx-gro, ...) or one that
 * ethtool -k shows in its place (ntuple-filters, generic-receive-offload, ...). */
int ps_feature_get(const char *ifname, const char *name, struct ps_feature *f, struct ps_err *err);

/* On or off for sure: when the device does not follow, what was wanted before is put back, and
 * the call fails. */
int ps_feature_set(const char *ifname, const char *name, bool on, struct ps_err *err);

/* "on", "off", "off [requested on]", "on [requested off]", "off [fixed]", "on [fixed]". */
const char *ps_feature_text(const struct ps_feature *f);

/* Makes it what the text says, the request included. */
int ps_feature_restore(const char *ifname, const char *name, const char *text, struct ps_err *err);

/* -- spreading over queues -- */

#define PS_RSS_ENTRIES 4096
#define PS_RSS_KEY     256

struct ps_rss {
	uint32_t n_rings;   /* receive queues there are now */
	uint32_t n_entries; /* of the indirection table; 0: none */
	uint32_t n_key;     /* bytes; 0: none */
	uint8_t hash;       /* the driver's ETH_RSS_HASH_* bit; 0: not told */
	bool even;          /* entry i is i % n_rings: what the kernel gives by default. Set
			     * like this, it follows later changes of the channels. */
	uint32_t entry[PS_RSS_ENTRIES];
	uint8_t key[PS_RSS_KEY];
};

int ps_rss_get(const char *ifname, struct ps_rss *r, struct ps_err *err);

/* Table (n_entries, or even) and key (n_key) and hash function, each unless 0; reads back. */
int ps_rss_set(const char *ifname, const struct ps_rss *r, struct ps_err *err);

/* n neighbouring receive queues. */
struct ps_queues {
	uint32_t first, n;
};

/* "queue 7", "queues 6 to 7"; returns text. */
#define PS_QUEUES_TEXT 32
char *ps_queues_text(struct ps_queues q, char text[PS_QUEUES_TEXT]);

/* Makes r's table of n_entries spread evenly over queues 0 to total - 1 but these. -EINVAL: these
 * are not among them, or no queue is left. */
int ps_rss_spare(struct ps_rss *r, struct ps_queues q, uint32_t total);
/* Does the table lead to none of these? */
bool ps_rss_spares(const struct ps_rss *r, struct ps_queues q);

#define PS_RSS_TEXT_BYTES 24576

/* "hash=1 key=6d5a... table=even", or table=0,1,2,3. What can be set only: table=but:0+1/8, all of
 * eight queues but one from 0 on, whatever the length of the table will be by then. */
int ps_rss_text(const char *ifname, char *text, size_t size, struct ps_err *err);
int ps_rss_restore(const char *ifname, const char *text, struct ps_err *err);

/* A further table ("RSS context") that spreads over exactly these queues, for rules to lead to. *id
 * is the kernel's number of it. -ENOENT: there is none; -EOPNOTSUPP: the driver has only one table.
 */
int ps_rss_context_find(const char *ifname, struct ps_queues q, uint32_t *id, struct ps_err *err);
/* Makes one, and reads it back. */
int ps_rss_context_add(const char *ifname, struct ps_queues q, struct ps_err *err);
int ps_rss_context_remove(const char *ifname, uint32_t id, struct ps_err *err);
/* The queues of context id, when they are neighbours. */
int ps_rss_context_queues(const char *ifname, uint32_t id, struct ps_queues *q, struct ps_err *err);

/* Fields of UDP over IPv4 that are hashed, in ethtool's letters: "sd" addresses, "fn" ports, ...
 * size >= 16. */
int ps_flowhash_text(const char *ifname, char *text, size_t size, struct ps_err *err);
int ps_flowhash_set(const char *ifname, const char *text, struct ps_err *err);

#endif
