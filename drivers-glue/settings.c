/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iface.h"
#include "ntuple.h"

/* The part of the key behind the setting's name: a number of a VF, or what the setting takes: a
 * feature, queues, address and port. */
struct target {
	const char *ifname, *what;
	uint32_t vf;
};

typedef int get_fn(const struct target *t, char *text, size_t size, struct ps_err *err);
typedef int set_fn(const struct target *t, const char *text, struct ps_err *err);

static int
fail_text(const char *text, const char *wanted, struct ps_err *err)
{
	return ps_fail(err, EINVAL, "\"%.80s\" is not %s", text, wanted);
}

static const char *
on_off(bool on)
{
	return on ? "on" : "off";
}

static int
parse_on_off(const char *text, bool *on, struct ps_err *err)
{
	*on = strcmp(text, "on") == 0;
	return *on || strcmp(text, "off") == 0 ? 0 : fail_text(text, "on or off", err);
}

/* -- link -- */

static int
get_mtu(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	struct ps_iface i;
	int ret = ps_iface_get(t->ifname, &i, err);

	snprintf(text, size, "%u", i.mtu);
	return ret;
}

static int
set_mtu(const struct target *t, const char *text, struct ps_err *err)
{
	char *end;
	unsigned long mtu = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != 0 || mtu > UINT16_MAX + 1u)
		return fail_text(text, "an MTU", err);
	return ps_iface_set_mtu(t->ifname, (uint32_t)mtu, err);
}

static int
get_up(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	struct ps_iface i;
	int ret = ps_iface_get(t->ifname, &i, err);

	snprintf(text, size, "%s", on_off(i.up));
	return ret;
}

static int
set_up(const struct target *t, const char *text, struct ps_err *err)
{
	struct ps_iface i;
	bool on;
	int ret = parse_on_off(text, &on, err);

	if (ret == 0)
		ret = ps_iface_get(t->ifname, &i, err);
	return ret < 0 || i.up == on ? ret : ps_iface_set_up(t->ifname, on, err);
}

static int
get_mac(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	char mac[PS_MAC_TEXT];
	struct ps_iface i;
	int ret = ps_iface_get(t->ifname, &i, err);

	ps_mac_text(i.mac, mac);
	snprintf(text, size, "%s", mac);
	return ret;
}

static int
set_mac(const struct target *t, const char *text, struct ps_err *err)
{
	uint8_t mac[PS_IFACE_ADDR];
	struct ps_iface i;
	int ret;

	if (!ps_mac_parse(text, mac))
		return fail_text(text, "a MAC address", err);
	ret = ps_iface_get(t->ifname, &i, err);
	if (ret < 0 || memcmp(i.mac, mac, sizeof(mac)) == 0)
		return ret;
	return ps_iface_set_mac(t->ifname, mac, err);
}

/* -- ethtool -- */

static int
get_channels(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	return ps_params_text(t->ifname, PS_CHANNELS, text, size, err);
}

static int
set_channels(const struct target *t, const char *text, struct ps_err *err)
{
	return ps_params_set(t->ifname, PS_CHANNELS, text, err);
}

static int
get_rings(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	return ps_params_text(t->ifname, PS_RINGS, text, size, err);
}

static int
set_rings(const struct target *t, const char *text, struct ps_err *err)
{
	return ps_params_set(t->ifname, PS_RINGS, text, err);
}

static int
get_coalesce(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	return ps_params_text(t->ifname, PS_COALESCE, text, size, err);
}

static int
set_coalesce(const struct target *t, const char *text, struct ps_err *err)
{
	return ps_params_set(t->ifname, PS_COALESCE, text, err);
}

static int
get_rss(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	return ps_rss_text(t->ifname, text, size, err);
}

static int
set_rss(const struct target *t, const char *text, struct ps_err *err)
{
	return ps_rss_restore(t->ifname, text, err);
}

static int
get_flowhash(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	return ps_flowhash_text(t->ifname, text, size, err);
}

static int
set_flowhash(const struct target *t, const char *text, struct ps_err *err)
{
	return ps_flowhash_set(t->ifname, text, err);
}

static int
get_feature(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	struct ps_feature f;
	int ret = ps_feature_get(t->ifname, t->what, &f, err);

	snprintf(text, size, "%s", ps_feature_text(&f));
	return ret;
}

static int
set_feature(const struct target *t, const char *text, struct ps_err *err)
{
	return ps_feature_restore(t->ifname, t->what, text, err);
}

static int
parse_queues(const char *text, struct ps_queues *q, struct ps_err *err)
{
	int at = 0;

	if (sscanf(text, "%u+%u%n", &q->first, &q->n, &at) == 2 && text[at] == 0 && q->n > 0 &&
		q->n <= 64)
		return 0;
	return fail_text(text, "FIRST+N, queues", err);
}

static int
get_context(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	struct ps_queues q;
	uint32_t id;
	int ret = parse_queues(t->what, &q, err);

	if (ret == 0)
		ret = ps_rss_context_find(t->ifname, q, &id, err);
	snprintf(text, size, "%s", ret == 0 ? "set" : "none");
	return ret == -ENOENT ? 0 : ret;
}

static int
set_context(const struct target *t, const char *text, struct ps_err *err)
{
	const bool set = strcmp(text, "set") == 0;
	struct ps_queues q;
	uint32_t id;
	int ret;

	if (!set && strcmp(text, "none") != 0)
		return fail_text(text, "set or none", err);
	ret = parse_queues(t->what, &q, err);
	if (ret == 0)
		ret = ps_rss_context_find(t->ifname, q, &id, err);
	if (ret == 0)
		return set ? 0 : ps_rss_context_remove(t->ifname, id, err);
	if (ret == -ENOENT)
		return set ? ps_rss_context_add(t->ifname, q, err) : 0;
	return ret;
}

static int
get_rule(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	return ps_ntuple_text(t->ifname, t->what, text, size, err);
}

static int
set_rule(const struct target *t, const char *text, struct ps_err *err)
{
	return ps_ntuple_restore(t->ifname, t->what, text, err);
}

/* -- virtual functions -- */

static int
get_vf_mac(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	char mac[PS_MAC_TEXT];
	struct ps_vf vf;
	int ret = ps_vf_get(t->ifname, t->vf, &vf, err);

	ps_mac_text(vf.mac, mac);
	snprintf(text, size, "%s", mac);
	return ret;
}

static int
set_vf_mac(const struct target *t, const char *text, struct ps_err *err)
{
	uint8_t mac[PS_IFACE_ADDR];
	struct ps_vf vf;
	int ret;

	if (!ps_mac_parse(text, mac))
		return fail_text(text, "a MAC address", err);
	ret = ps_vf_get(t->ifname, t->vf, &vf, err);
	if (ret < 0 || memcmp(vf.mac, mac, sizeof(mac)) == 0)
		return ret;
	return ps_vf_set_mac(t->ifname, t->vf, mac, err);
}

static int
get_vf_spoofchk(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	struct ps_vf vf;
	int ret = ps_vf_get(t->ifname, t->vf, &vf, err);

	snprintf(text, size, "%s", on_off(vf.spoofchk));
	return ret;
}

static int
set_vf_spoofchk(const struct target *t, const char *text, struct ps_err *err)
{
	struct ps_vf vf;
	bool on;
	int ret = parse_on_off(text, &on, err);

	if (ret == 0)
		ret = ps_vf_get(t->ifname, t->vf, &vf, err);
	return ret < 0 || vf.spoofchk == on ? ret : ps_vf_set_spoofchk(t->ifname, t->vf, on, err);
}

static int
get_vf_trust(const struct target *t, char *text, size_t size, struct ps_err *err)
{
	struct ps_vf vf;
	int ret = ps_vf_get(t->ifname, t->vf, &vf, err);

	snprintf(text, size, "%s", on_off(vf.trust));
	return ret;
}

static int
set_vf_trust(const struct target *t, const char *text, struct ps_err *err)
{
	struct ps_vf vf;
	bool on;
	int ret = parse_on_off(text, &on, err);

	if (ret == 0)
		ret = ps_vf_get(t->ifname, t->vf, &vf, err);
	return ret < 0 || vf.trust == on ? ret : ps_vf_set_trust(t->ifname, t->vf, on, err);
}

/* -- the table -- */

static const struct setting {
	const char *key; /* the whole, or up to the dot before the rest */
	get_fn *get;
	set_fn *set;
} settings[] = {
	{"mtu", get_mtu, set_mtu},
	{"up", get_up, set_up},
	{"mac", get_mac, set_mac},
	{"channels", get_channels, set_channels},
	{"rings", get_rings, set_rings},
	{"coalesce", get_coalesce, set_coalesce},
	{"rss", get_rss, set_rss},
	{"context.", get_context, set_context},
	{"flow-hash-udp4", get_flowhash, set_flowhash},
	{"udp4.", get_rule, set_rule},
	{"feature.", get_feature, set_feature},
	{"vf.mac", get_vf_mac, set_vf_mac},
	{"vf.spoofchk", get_vf_spoofchk, set_vf_spoofchk},
	{"vf.trust", get_vf_trust, set_vf_trust},
};

static const struct setting *
find(const char *key, struct target *t, struct ps_err *err)
{
	const char *dot = strchr(key, '.');
	char plain[32];
	unsigned int vf;
	int at = 0;

	/* vf.N.mac is looked up as vf.mac. */
	if (sscanf(key, "vf.%u.%n", &vf, &at) == 1 && at > 0) {
		t->vf = vf;
		snprintf(plain, sizeof(plain), "vf.%.24s", key + at);
	} else if (dot != NULL && dot[1] != 0) {
		t->what = dot + 1;
		snprintf(plain, sizeof(plain), "%.*s", (int)(t->what - key), key);
	} else {
		snprintf(plain, sizeof(plain), "%s", dot != NULL ? "" : key);
	}
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (strcmp(settings[i].key, plain) == 0)
			return &settings[i];
	fail_text(key, "a setting of an interface", err);
	return NULL;
}

int
ps_setting_get(const char *ifname, const char *key, char *text, size_t size, struct ps_err *err)
{
	struct target t = {.ifname = ifname};
	const struct setting *s = find(key, &t, err);

	return s == NULL ? -EINVAL : s->get(&t, text, size, err);
}

/* For channels and the like the text may be a part: their setters read back by themselves. */
static bool
is_whole(const struct setting *s)
{
	return s->set != set_channels && s->set != set_rings && s->set != set_coalesce &&
	       s->set != set_rss && s->set != set_feature && s->set != set_flowhash;
}

int
ps_setting_set(const char *ifname, const char *key, const char *text, struct ps_err *err)
{
	struct target t = {.ifname = ifname};
	const struct setting *s = find(key, &t, err);
	char now[64];
	int ret;

	if (s == NULL)
		return -EINVAL;
	ret = s->set(&t, text, err);
	if (ret < 0 || !is_whole(s))
		return ret;
	ret = s->get(&t, now, sizeof(now), err);
	if (ret == 0 && strcasecmp(now, text) != 0)
		return ps_fail(err, EIO, "%s: %s is %s, not %s as was set: see ip -d link show %s",
			ifname, key, now, text, ifname);
	return ret;
}
