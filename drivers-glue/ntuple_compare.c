/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include <stddef.h>
#include <string.h>

#include "ntuple.h"

#define FLAGS (FLOW_EXT | FLOW_MAC_EXT | FLOW_RSS)
/* Of the union, what i40e's report of the IPv6 source address covers. */
#define V6_SRC_BYTES 16

static const char *const reasons[PS_NTUPLE_VERDICTS] = {
	[PS_NTUPLE_EQUAL] = "the rule is as asked for",
	[PS_NTUPLE_UNKNOWN] = "the driver does not report this rule's own masks",
	[PS_NTUPLE_FLOW_TYPE] = "flow type differs",
	[PS_NTUPLE_VALUE_SRC_IP] = "source address differs",
	[PS_NTUPLE_VALUE_DST_IP] = "destination address differs",
	[PS_NTUPLE_VALUE_SRC_PORT] = "source port differs",
	[PS_NTUPLE_VALUE_DST_PORT] = "destination port differs",
	[PS_NTUPLE_VALUE_TOS] = "TOS differs",
	[PS_NTUPLE_MASK_SRC_IP] = "mask of the source address differs",
	[PS_NTUPLE_MASK_DST_IP] = "mask of the destination address differs",
	[PS_NTUPLE_MASK_SRC_PORT] = "mask of the source port differs",
	[PS_NTUPLE_MASK_DST_PORT] = "mask of the destination port differs",
	[PS_NTUPLE_MASK_TOS] = "mask of TOS differs",
	[PS_NTUPLE_MASK_VLAN] = "matches a VLAN tag too",
	[PS_NTUPLE_MASK_USER_DATA] = "matches user-defined bytes too",
	[PS_NTUPLE_MASK_DST_MAC] = "matches a destination MAC too",
	[PS_NTUPLE_FATE] = "drops where a queue was asked for, or the other way round",
	[PS_NTUPLE_QUEUE] = "queue differs",
	[PS_NTUPLE_VF] = "virtual function differs",
	[PS_NTUPLE_LOCATION] = "location differs",
};

/* The live fields of a UDP over IPv4 flow: 13 bytes. What else is in the union means nothing. */
static const struct field {
	size_t at, size;
	enum ps_ntuple_verdict value, mask;
} fields[] = {
	{offsetof(struct ethtool_tcpip4_spec, ip4src), 4, PS_NTUPLE_VALUE_SRC_IP,
		PS_NTUPLE_MASK_SRC_IP},
	{offsetof(struct ethtool_tcpip4_spec, ip4dst), 4, PS_NTUPLE_VALUE_DST_IP,
		PS_NTUPLE_MASK_DST_IP},
	{offsetof(struct ethtool_tcpip4_spec, psrc), 2, PS_NTUPLE_VALUE_SRC_PORT,
		PS_NTUPLE_MASK_SRC_PORT},
	{offsetof(struct ethtool_tcpip4_spec, pdst), 2, PS_NTUPLE_VALUE_DST_PORT,
		PS_NTUPLE_MASK_DST_PORT},
	{offsetof(struct ethtool_tcpip4_spec, tos), 1, PS_NTUPLE_VALUE_TOS, PS_NTUPLE_MASK_TOS},
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

const char *
ps_ntuple_reason(enum ps_ntuple_verdict v)
{
	return v < PS_NTUPLE_VERDICTS ? reasons[v] : "unknown";
}

enum ps_ntuple_quirk
ps_ntuple_quirk_of(const char *driver)
{
	return strcmp(driver, "i40e") == 0 ? PS_NTUPLE_I40E : PS_NTUPLE_EXACT;
}

void
ps_ntuple_spec(const struct ps_ntuple_rule *rule, struct ethtool_rx_flow_spec *fs)
{
	memset(fs, 0, sizeof(*fs));
	fs->flow_type = UDP_V4_FLOW;
	fs->h_u.udp_ip4_spec.ip4dst = rule->daddr_be;
	fs->m_u.udp_ip4_spec.ip4dst = rule->daddr_be != 0 ? UINT32_MAX : 0;
	fs->h_u.udp_ip4_spec.pdst = rule->dport_be;
	fs->m_u.udp_ip4_spec.pdst = UINT16_MAX;
	fs->ring_cookie = rule->queue;
	if (rule->to_vf)
		fs->ring_cookie |= ((uint64_t)rule->vf + 1) << ETHTOOL_RX_FLOW_SPEC_RING_VF_OFF;
	if (rule->drop)
		fs->ring_cookie = RX_CLS_FLOW_DISC;
	if (rule->context != 0) {
		/* The context's table gives the queue; the cookie would be added to it. */
		fs->flow_type |= FLOW_RSS;
		fs->ring_cookie = 0;
	}
	fs->location = rule->location;
}

static bool
all(const uint8_t *p, size_t n, uint8_t byte)
{
	while (n > 0 && p[n - 1] == byte)
		n--;
	return n == 0;
}

static enum ps_ntuple_verdict
compare_values(const struct ethtool_rx_flow_spec *want, const struct ethtool_rx_flow_spec *got)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		const struct field *f = &fields[i];

		for (size_t b = f->at; b < f->at + f->size; b++)
			if ((want->h_u.hdata[b] ^ got->h_u.hdata[b]) & want->m_u.hdata[b])
				return f->value;
	}
	return PS_NTUPLE_EQUAL;
}

static enum ps_ntuple_verdict
compare_masks(const struct ethtool_rx_flow_spec *want, const struct ethtool_rx_flow_spec *got,
	enum ps_ntuple_quirk quirk)
{
	/* With a source address in the field set, i40e writes the whole IPv6 source over all the
	 * IPv4 fields: only then are all these bytes ones. The values are the rule's own: one that
	 * was not asked for is another rule's. */
	bool overlaid = quirk == PS_NTUPLE_I40E && all(got->m_u.hdata, V6_SRC_BYTES, UINT8_MAX);
	enum ps_ntuple_verdict v = PS_NTUPLE_EQUAL;

	for (size_t i = 0; i < N_FIELDS; i++) {
		const struct field *f = &fields[i];
		const uint8_t *m = want->m_u.hdata + f->at;

		if (memcmp(m, got->m_u.hdata + f->at, f->size) == 0)
			continue;
		if (!overlaid || !all(m, f->size, 0))
			return f->mask;
		if (!all(got->h_u.hdata + f->at, f->size, 0))
			return f->value;
		v = PS_NTUPLE_UNKNOWN;
	}
	return v;
}

/* Extensions may be flagged (ixgbe always does) as long as they match nothing. */
static enum ps_ntuple_verdict
compare_extensions(const struct ethtool_rx_flow_spec *got)
{
	const struct ethtool_flow_ext *m = &got->m_ext;

	if (got->flow_type & FLOW_EXT) {
		if (m->vlan_etype != 0 || m->vlan_tci != 0)
			return PS_NTUPLE_MASK_VLAN;
		if (m->data[0] != 0 || m->data[1] != 0)
			return PS_NTUPLE_MASK_USER_DATA;
	}
	if ((got->flow_type & FLOW_MAC_EXT) && !all(m->h_dest, sizeof(m->h_dest), 0))
		return PS_NTUPLE_MASK_DST_MAC;
	return PS_NTUPLE_EQUAL;
}

static enum ps_ntuple_verdict
compare_fate(const struct ethtool_rx_flow_spec *want, const struct ethtool_rx_flow_spec *got)
{
	uint64_t w = want->ring_cookie, g = got->ring_cookie;

	/* With an RSS context the cookie is only an offset: not the queue that was asked for. */
	if ((got->flow_type ^ want->flow_type) & FLOW_RSS)
		return PS_NTUPLE_FATE;
	if ((w == RX_CLS_FLOW_DISC) != (g == RX_CLS_FLOW_DISC))
		return PS_NTUPLE_FATE;
	if (ethtool_get_flow_spec_ring_vf(w) != ethtool_get_flow_spec_ring_vf(g))
		return PS_NTUPLE_VF;
	if (ethtool_get_flow_spec_ring(w) != ethtool_get_flow_spec_ring(g))
		return PS_NTUPLE_QUEUE;
	/* The bits that are neither. */
	return w == g ? PS_NTUPLE_EQUAL : PS_NTUPLE_FATE;
}

enum ps_ntuple_verdict
ps_ntuple_compare(const struct ethtool_rx_flow_spec *want, const struct ethtool_rx_flow_spec *got,
	enum ps_ntuple_quirk quirk)
{
	enum ps_ntuple_verdict v;

	if ((want->flow_type & ~FLOW_RSS) != UDP_V4_FLOW ||
		(got->flow_type & ~FLAGS) != UDP_V4_FLOW)
		return PS_NTUPLE_FLOW_TYPE;
	v = compare_values(want, got);
	if (v == PS_NTUPLE_EQUAL)
		v = compare_extensions(got);
	if (v == PS_NTUPLE_EQUAL)
		v = compare_fate(want, got);
	if (v == PS_NTUPLE_EQUAL && !(want->location & RX_CLS_LOC_SPECIAL) &&
		want->location != got->location)
		v = PS_NTUPLE_LOCATION;
	/* Last, because its UNKNOWN may only stand where nothing else differs. */
	return v == PS_NTUPLE_EQUAL ? compare_masks(want, got, quirk) : v;
}
