/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Every setting of an interface that init changes and fini restores, as (key, text):
 *
 *   mtu                 "1500"
 *   up                  "on", "off"
 *   mac                 "aa:bb:cc:dd:ee:ff"
 *   channels            "combined=4 rx=0"           ps_params_text()
 *   rings               "rx=512 tx=512"
 *   coalesce            "rx-usecs=50 adaptive-rx=1"
 *   rss                 "hash=1 key=... table=even"  ps_rss_text()
 *   context.FIRST+N     "none", "set"                RSS context over these queues
 *   flow-hash-udp4      "sdfn"                       ps_flowhash_text()
 *   udp4.ADDRESS.PORT   "none", "queue=7", ...       ps_ntuple_text()
 *   feature.NAME        "on", "off [requested on]"   ps_feature_text()
 *   vf.N.mac            "aa:bb:cc:dd:ee:ff"
 *   vf.N.spoofchk       "on", "off"
 *   vf.N.trust          "on", "off"
 *
 * Some depend on others: clear ntuple rules first, then channels, rings, rss, features, mtu, rules;
 * set back in the order channels, rings, rss, features. Control thread only; keeps no state. */
#ifndef PS_GLUE_SETTINGS_H
#define PS_GLUE_SETTINGS_H

#include <stddef.h>

#include "ethtool.h"
#include "ps_err.h"

/* Enough for the text of any setting. */
#define PS_SETTING_BYTES PS_RSS_TEXT_BYTES

/* What it is now, in one line. -ENOENT, -EOPNOTSUPP: the device has no such setting. */
int ps_setting_get(
	const char *ifname, const char *key, char *text, size_t size, struct ps_err *err);

/* Makes it so and reads it back; nothing is sent when it is so already. Takes what the getter
 * gives, and for channels, rings, coalesce and rss any part of it. A rule is set where there is
 * none; another fate is never replaced. */
int ps_setting_set(const char *ifname, const char *key, const char *text, struct ps_err *err);

#endif
