/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "ethtool.h"

#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nl.h"

/* -- numbers -- */

/* A number with the attribute type of its message. */
struct param {
	const char *name;
	uint8_t attr;
	bool is_u8;
	bool read_only;
};

#define MAX_PARAMS 32

static const struct param channels[] = {
	{"rx", ETHTOOL_A_CHANNELS_RX_COUNT, false, false},
	{"tx", ETHTOOL_A_CHANNELS_TX_COUNT, false, false},
	{"other", ETHTOOL_A_CHANNELS_OTHER_COUNT, false, false},
	{"combined", ETHTOOL_A_CHANNELS_COMBINED_COUNT, false, false},
	{"rx-max", ETHTOOL_A_CHANNELS_RX_MAX, false, true},
	{"tx-max", ETHTOOL_A_CHANNELS_TX_MAX, false, true},
	{"other-max", ETHTOOL_A_CHANNELS_OTHER_MAX, false, true},
	{"combined-max", ETHTOOL_A_CHANNELS_COMBINED_MAX, false, true},
	{NULL, 0, false, false},
};

static const struct param rings[] = {
	{"rx", ETHTOOL_A_RINGS_RX, false, false},
	{"rx-mini", ETHTOOL_A_RINGS_RX_MINI, false, false},
	{"rx-jumbo", ETHTOOL_A_RINGS_RX_JUMBO, false, false},
	{"tx", ETHTOOL_A_RINGS_TX, false, false},
	{"rx-max", ETHTOOL_A_RINGS_RX_MAX, false, true},
	{"tx-max", ETHTOOL_A_RINGS_TX_MAX, false, true},
	{NULL, 0, false, false},
};

static const struct param coalesce[] = {
	{"adaptive-rx", ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, true, false},
	{"adaptive-tx", ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, true, false},
	{"rx-usecs", ETHTOOL_A_COALESCE_RX_USECS, false, false},
	{"rx-frames", ETHTOOL_A_COALESCE_RX_MAX_FRAMES, false, false},
	{"rx-usecs-irq", ETHTOOL_A_COALESCE_RX_USECS_IRQ, false, false},
	{"rx-frames-irq", ETHTOOL_A_COALESCE_RX_MAX_FRAMES_IRQ, false, false},
	{"tx-usecs", ETHTOOL_A_COALESCE_TX_USECS, false, false},
	{"tx-frames", ETHTOOL_A_COALESCE_TX_MAX_FRAMES, false, false},
	{"tx-usecs-irq", ETHTOOL_A_COALESCE_TX_USECS_IRQ, false, false},
	{"tx-frames-irq", ETHTOOL_A_COALESCE_TX_MAX_FRAMES_IRQ, false, false},
	{NULL, 0, false, false},
};

static const struct param linkmodes[] = {
	{"speed", ETHTOOL_A_LINKMODES_SPEED, false, true},
	{NULL, 0, false, false},
};

/* The header attribute is the first one in each of these messages. */
static const struct group {
	const char *name, *flag; /* for people: ethtool FLAG IF */
	uint8_t get, set, header;
	const struct param *params;
} groups[] = {
	[PS_CHANNELS] = {"channels", "-l", ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_MSG_CHANNELS_SET,
		ETHTOOL_A_CHANNELS_HEADER, channels},
	[PS_RINGS] = {"rings", "-g", ETHTOOL_MSG_RINGS_GET, ETHTOOL_MSG_RINGS_SET,
		ETHTOOL_A_RINGS_HEADER, rings},
	[PS_COALESCE] = {"coalescing", "-c", ETHTOOL_MSG_COALESCE_GET, ETHTOOL_MSG_COALESCE_SET,
		ETHTOOL_A_COALESCE_HEADER, coalesce},
	[PS_LINKMODES] = {"link modes", "", ETHTOOL_MSG_LINKMODES_GET, ETHTOOL_MSG_LINKMODES_SET,
		ETHTOOL_A_LINKMODES_HEADER, linkmodes},
};

/* Of one group, in the order of its table. */
struct values {
	const struct param *params;
	bool has[MAX_PARAMS];
	uint32_t value[MAX_PARAMS];
};

static int
read_values(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *tb[UINT8_MAX + 1];
	struct values *v = arg;

	ps_nl_attrs(h, sizeof(struct genlmsghdr), tb, UINT8_MAX);
	for (unsigned int i = 0; v->params[i].name != NULL; i++) {
		const struct nlattr *a = tb[v->params[i].attr];

		v->has[i] = a != NULL;
		v->value[i] = v->params[i].is_u8 ? ps_nl_u8(a) : ps_nl_u32(a);
	}
	return 0;
}

static int
get_values(const char *ifname, const struct group *g, struct values *v, struct ps_err *err)
{
	char what[64];
	struct ps_nl nl;
	int ret = ps_nl_ethtool(&nl, g->get, g->header, ifname, err);

	memset(v, 0, sizeof(*v));
	v->params = g->params;
	snprintf(what, sizeof(what), "%s: reading %s", ifname, g->name);
	return ret < 0 ? ret : ps_nl_talk(&nl, read_values, v, what, err);
}

int
ps_params_get(const char *ifname, enum ps_params group, const char *name, uint32_t *value,
	struct ps_err *err)
{
	struct values v;
	int ret = get_values(ifname, &groups[group], &v, err);

	if (ret < 0)
		return ret;
	for (unsigned int i = 0; v.params[i].name != NULL; i++)
		if (strcmp(v.params[i].name, name) == 0 && v.has[i] &&
			v.value[i] != UINT32_MAX) { /* speed unknown */
			*value = v.value[i];
			return 0;
		}
	return ps_fail(err, ENOENT, "%s: the device has no \"%s\" in its %s: see ethtool %s %s",
		ifname, name, groups[group].name, groups[group].flag, ifname);
}

int
ps_params_text(
	const char *ifname, enum ps_params group, char *text, size_t size, struct ps_err *err)
{
	struct values v;
	size_t at = 0;
	int ret = get_values(ifname, &groups[group], &v, err);

	if (size > 0)
		text[0] = 0;
	for (unsigned int i = 0; ret == 0 && v.params[i].name != NULL; i++) {
		if (!v.has[i] || v.params[i].read_only)
			continue;
		at += (size_t)snprintf(text + at, size - at, "%s%s=%u", at ? " " : "",
			v.params[i].name, v.value[i]);
		if (at >= size)
			return ps_fail(err, ENOSPC, "%s: %s do not fit in %zu bytes", ifname,
				groups[group].name, size);
	}
	return ret;
}

/* One "name=number" of the text; *rest moves behind it. 0 at the end, 1 for a number. */
static int
parse_param(const struct group *g, const char **rest, unsigned int *index, uint32_t *value,
	struct ps_err *err)
{
	const char *s = *rest + strspn(*rest, " ");
	size_t len = strcspn(s, " ");
	size_t name = strcspn(s, "= ");
	char *end;
	unsigned long n;

	if (len == 0)
		return 0;
	for (unsigned int i = 0; g->params[i].name != NULL; i++) {
		if (strlen(g->params[i].name) != name || strncmp(g->params[i].name, s, name) != 0 ||
			g->params[i].read_only)
			continue;
		errno = 0;
		if (s[name] != '=' || s[name + 1] < '0' || s[name + 1] > '9')
			break;
		n = strtoul(s + name + 1, &end, 10);
		if (errno != 0 || n > UINT32_MAX || end != s + len)
			break;
		*index = i;
		*value = (uint32_t)n;
		*rest = end;
		return 1;
	}
	return ps_fail(err, EINVAL, "\"%.*s\" is not a setting of %s", (int)len, s, g->name);
}

/* Puts into the request what differs from now; wanted gets the whole wish. */
static int
put_params(struct ps_nl *nl, const struct group *g, const char *text, const struct values *now,
	struct values *wanted, struct ps_err *err)
{
	unsigned int i = 0, n = 0;
	uint32_t value = 0;
	int ret;

	while ((ret = parse_param(g, &text, &i, &value, err)) > 0) {
		wanted->has[i] = true;
		wanted->value[i] = value;
		if (now->has[i] && now->value[i] == value)
			continue;
		if (g->params[i].is_u8)
			mnl_attr_put_u8(nl->head, g->params[i].attr, (uint8_t)value);
		else
			mnl_attr_put_u32(nl->head, g->params[i].attr, value);
		n++;
	}
	return ret < 0 ? ret : (int)n;
}

int
ps_params_set(const char *ifname, enum ps_params group, const char *text, struct ps_err *err)
{
	const struct group *g = &groups[group];
	struct values now, wanted = {0};
	char what[128];
	struct ps_nl nl;
	int ret = get_values(ifname, g, &now, err);

	if (ret == 0)
		ret = ps_nl_ethtool(&nl, g->set, g->header, ifname, err);
	if (ret == 0)
		ret = put_params(&nl, g, text, &now, &wanted, err);
	if (ret <= 0)
		return ret;
	snprintf(what, sizeof(what), "%s: setting %s to %.64s", ifname, g->name, text);
	ret = ps_nl_talk(&nl, NULL, NULL, what, err);
	if (ret == 0)
		ret = get_values(ifname, g, &now, err);
	for (unsigned int i = 0; ret == 0 && g->params[i].name != NULL; i++)
		if (wanted.has[i] && (!now.has[i] || now.value[i] != wanted.value[i]))
			return ps_fail(err, EIO,
				"%s: %s of %s is %u, not %u as was set: see ethtool %s %s", ifname,
				g->params[i].name, g->name, now.value[i], wanted.value[i], g->flag,
				ifname);
	return ret;
}

/* -- features -- */

/* ethtool -k shows these in place of the kernel's names. */
static const struct {
	const char *shown, *kernel;
} aliases[] = {
	{"ntuple-filters", "rx-ntuple-filter"},
	{"generic-receive-offload", "rx-gro"},
	{"large-receive-offload", "rx-lro"},
	{"receive-hashing", "rx-hashing"},
	{"rx-vlan-offload", "rx-vlan-hw-parse"},
	{"tx-vlan-offload", "tx-vlan-hw-insert"},
	{"generic-segmentation-offload", "tx-generic-segmentation"},
	{"scatter-gather", "tx-scatter-gather"},
	{"rx-checksumming", "rx-checksum"},
	{"ntuple", "rx-ntuple-filter"},
	{"gro", "rx-gro"},
	{"lro", "rx-lro"},
};

static const char *
kernel_name(const char *name)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (strcmp(aliases[i].shown, name) == 0)
			return aliases[i].kernel;
	return name;
}

struct lookup {
	const char *name;
	struct ps_feature *f;
	bool found;
};

/* Is the bit of this name listed, and with a value? A list without mask holds set bits only. */
static bool
find_bit(const struct nlattr *bitset, const char *name, uint32_t *index, bool *value)
{
	const struct nlattr *set[ETHTOOL_A_BITSET_MAX + 1], *a;

	ps_nl_nest(bitset, set, ETHTOOL_A_BITSET_MAX);
	if (set[ETHTOOL_A_BITSET_BITS] == NULL)
		return false;
	mnl_attr_for_each_nested(a, set[ETHTOOL_A_BITSET_BITS])
	{
		const struct nlattr *bit[ETHTOOL_A_BITSET_BIT_MAX + 1];

		ps_nl_nest(a, bit, ETHTOOL_A_BITSET_BIT_MAX);
		if (bit[ETHTOOL_A_BITSET_BIT_NAME] == NULL ||
			strcmp(mnl_attr_get_str(bit[ETHTOOL_A_BITSET_BIT_NAME]), name) != 0)
			continue;
		*index = ps_nl_u32(bit[ETHTOOL_A_BITSET_BIT_INDEX]);
		*value = bit[ETHTOOL_A_BITSET_BIT_VALUE] != NULL;
		return true;
	}
	return false;
}

static int
read_feature(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *tb[ETHTOOL_A_FEATURES_MAX + 1];
	struct lookup *l = arg;
	uint32_t index;
	bool value;

	ps_nl_attrs(h, sizeof(struct genlmsghdr), tb, ETHTOOL_A_FEATURES_MAX);
	l->found = find_bit(tb[ETHTOOL_A_FEATURES_HW], l->name, &l->f->index, &l->f->changeable);
	l->f->wanted = find_bit(tb[ETHTOOL_A_FEATURES_WANTED], l->name, &index, &value);
	l->f->active = find_bit(tb[ETHTOOL_A_FEATURES_ACTIVE], l->name, &index, &value);
	if (find_bit(tb[ETHTOOL_A_FEATURES_NOCHANGE], l->name, &index, &value))
		l->f->changeable = false;
	return 0;
}

int
ps_feature_get(const char *ifname, const char *name, struct ps_feature *f, struct ps_err *err)
{
	struct lookup l = {.name = kernel_name(name), .f = f};
	char what[64];
	struct ps_nl nl;
	int ret = ps_nl_ethtool(
		&nl, ETHTOOL_MSG_FEATURES_GET, ETHTOOL_A_FEATURES_HEADER, ifname, err);

	memset(f, 0, sizeof(*f));
	snprintf(what, sizeof(what), "%s: reading features", ifname);
	if (ret == 0)
		ret = ps_nl_talk(&nl, read_feature, &l, what, err);
	if (ret == 0 && !l.found)
		return ps_fail(err, ENOENT, "%s: this kernel has no feature %s: see ethtool -k %s",
			ifname, name, ifname);
	return ret;
}

static int
request_feature(const char *ifname, const char *name, bool on, struct ps_err *err)
{
	struct nlattr *set, *bits, *bit;
	char what[128];
	struct ps_nl nl;
	int ret = ps_nl_ethtool(
		&nl, ETHTOOL_MSG_FEATURES_SET, ETHTOOL_A_FEATURES_HEADER, ifname, err);

	if (ret < 0)
		return ret;
	set = mnl_attr_nest_start(nl.head, ETHTOOL_A_FEATURES_WANTED);
	bits = mnl_attr_nest_start(nl.head, ETHTOOL_A_BITSET_BITS);
	bit = mnl_attr_nest_start(nl.head, ETHTOOL_A_BITSET_BITS_BIT);
	mnl_attr_put_strz(nl.head, ETHTOOL_A_BITSET_BIT_NAME, kernel_name(name));
	if (on)
		mnl_attr_put(nl.head, ETHTOOL_A_BITSET_BIT_VALUE, 0, NULL);
	mnl_attr_nest_end(nl.head, bit);
	mnl_attr_nest_end(nl.head, bits);
	mnl_attr_nest_end(nl.head, set);
	snprintf(what, sizeof(what), "%s: turning %s %s", ifname, name, on ? "on" : "off");
	return ps_nl_talk(&nl, NULL, NULL, what, err);
}

int
ps_feature_set(const char *ifname, const char *name, bool on, struct ps_err *err)
{
	struct ps_feature before, now;
	int ret = ps_feature_get(ifname, name, &before, err);

	if (ret < 0 || (before.active == on && before.wanted == on) ||
		(before.active == on && !before.changeable))
		return ret;
	if (!before.changeable)
		return ps_fail(err, EOPNOTSUPP, "%s: %s is fixed %s on this device", ifname, name,
			before.active ? "on" : "off");
	ret = request_feature(ifname, name, on, err);
	if (ret == 0)
		ret = ps_feature_get(ifname, name, &now, err);
	if (ret < 0 || now.active == on)
		return ret;
	request_feature(ifname, name, before.wanted, NULL);
	return ps_fail(err, EOPNOTSUPP,
		"%s: %s stays %s although it can be set: another setting of the device forbids it, "
		"see ethtool -k %s",
		ifname, name, on ? "off" : "on", ifname);
}

const char *
ps_feature_text(const struct ps_feature *f)
{
	if (!f->changeable)
		return f->active ? "on [fixed]" : "off [fixed]";
	if (f->wanted != f->active)
		return f->active ? "on [requested off]" : "off [requested on]";
	return f->active ? "on" : "off";
}

int
ps_feature_restore(const char *ifname, const char *name, const char *text, struct ps_err *err)
{
	static const struct ps_feature states[] = {
		{.changeable = true},
		{.changeable = true, .active = true, .wanted = true},
		{.changeable = true, .wanted = true},
		{.changeable = true, .active = true},
		{.active = false},
		{.active = true},
	};
	const struct ps_feature *want = NULL;
	struct ps_feature now;
	int ret = ps_feature_get(ifname, name, &now, err);

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(text, ps_feature_text(&states[i])) == 0)
			want = &states[i];
	if (want == NULL)
		return ps_fail(err, EINVAL, "\"%s\" is not a state of feature %s", text, name);
	if (ret == 0 && want->changeable && now.changeable && now.wanted != want->wanted) {
		ret = request_feature(ifname, name, want->wanted, err);
		if (ret == 0)
			ret = ps_feature_get(ifname, name, &now, err);
	}
	if (ret == 0 && now.active != want->active)
		return ps_fail(err, EIO, "%s: %s is \"%s\", it was \"%s\": see ethtool -k %s",
			ifname, name, ps_feature_text(&now), text, ifname);
	return ret;
}
