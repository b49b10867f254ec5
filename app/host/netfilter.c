/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "netfilter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* clang-format off: the first defines what the others use */
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
/* clang-format on */

#include "nl.h"

struct chains {
	struct ps_filter_chain *out;
	int n;
};

struct chain_id {
	uint8_t family;
	char table[64], chain[64];
	uint32_t rules;
};

static void
request(struct ps_nl *nl, uint16_t message, uint8_t family)
{
	struct nfgenmsg *g =
		ps_nl_route(nl, (NFNL_SUBSYS_NFTABLES << 8) | message, NLM_F_DUMP, sizeof(*g));

	g->nfgen_family = family;
	g->version = NFNETLINK_V0;
	nl->bus = NETLINK_NETFILTER;
}

static const char *
family_name(uint8_t family)
{
	switch (family) {
	case NFPROTO_INET:
		return "inet";
	case NFPROTO_IPV4:
		return "ip";
	case NFPROTO_NETDEV:
		return "netdev";
	default:
		return NULL;
	}
}

static const char *
hook_name(uint8_t family, uint32_t hook)
{
	static const char *const name[] = {
		"prerouting", "input", "forward", "output", "postrouting", "ingress"};

	if (family == NFPROTO_NETDEV)
		return hook == NF_NETDEV_INGRESS ? "ingress" : "egress";
	return hook < sizeof(name) / sizeof(name[0]) ? name[hook] : "?";
}

static void
text_of(const struct nlattr *a, char *text, size_t cap)
{
	snprintf(text, cap, "%s",
		a != NULL && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) == 0 ? mnl_attr_get_str(a)
									    : "?");
}

/* Only chains that hang on a hook which packets to or from this host pass. */
static int
take_chain(const struct nlmsghdr *answer, void *arg)
{
	const struct nlattr *tb[NFTA_CHAIN_MAX + 1], *hook[NFTA_HOOK_MAX + 1];
	const struct nfgenmsg *g = mnl_nlmsg_get_payload(answer);
	struct chains *c = arg;
	struct ps_filter_chain *f;
	char table[64], chain[64];
	uint32_t number;

	if ((answer->nlmsg_type & 0xff) != NFT_MSG_NEWCHAIN ||
		mnl_nlmsg_get_payload_len(answer) < sizeof(*g) ||
		family_name(g->nfgen_family) == NULL)
		return 0;
	ps_nl_attrs(answer, sizeof(*g), tb, NFTA_CHAIN_MAX);
	if (tb[NFTA_CHAIN_HOOK] == NULL)
		return 0;
	ps_nl_nest(tb[NFTA_CHAIN_HOOK], hook, NFTA_HOOK_MAX);
	number = ntohl(ps_nl_u32(hook[NFTA_HOOK_HOOKNUM]));
	if (g->nfgen_family != NFPROTO_NETDEV && number == NF_INET_FORWARD)
		return 0;
	if (c->n++ >= PS_FILTER_CHAINS)
		return 0;
	f = &c->out[c->n - 1];
	text_of(tb[NFTA_CHAIN_TABLE], table, sizeof(table));
	text_of(tb[NFTA_CHAIN_NAME], chain, sizeof(chain));
	snprintf(f->name, sizeof(f->name), "%s %s %s", family_name(g->nfgen_family), table, chain);
	snprintf(f->command, sizeof(f->command), "nft list chain %s", f->name);
	f->hook = hook_name(g->nfgen_family, number);
	f->drops =
		ntohl(ps_nl_u32(tb[NFTA_CHAIN_POLICY])) == NF_DROP && tb[NFTA_CHAIN_POLICY] != NULL;
	f->rules = 0;
	return 0;
}

static int
count_rule(const struct nlmsghdr *answer, void *arg)
{
	const struct nlattr *tb[NFTA_RULE_MAX + 1];
	const struct nfgenmsg *g = mnl_nlmsg_get_payload(answer);
	struct chains *c = arg;
	char table[64], chain[64], name[160];

	if ((answer->nlmsg_type & 0xff) != NFT_MSG_NEWRULE ||
		mnl_nlmsg_get_payload_len(answer) < sizeof(*g) ||
		family_name(g->nfgen_family) == NULL)
		return 0;
	ps_nl_attrs(answer, sizeof(*g), tb, NFTA_RULE_MAX);
	text_of(tb[NFTA_RULE_TABLE], table, sizeof(table));
	text_of(tb[NFTA_RULE_CHAIN], chain, sizeof(chain));
	snprintf(name, sizeof(name), "%s %s %s", family_name(g->nfgen_family), table, chain);
	for (int i = 0; i < c->n && i < PS_FILTER_CHAINS; i++)
		c->out[i].rules += strcmp(c->out[i].name, name) == 0;
	return 0;
}

int
ps_filter_nft(struct ps_filter_chain *out, struct ps_err *e)
{
	struct chains c = {.out = out};
	struct ps_nl nl;
	int rc;

	request(&nl, NFT_MSG_GETCHAIN, NFPROTO_UNSPEC);
	rc = ps_nl_talk(&nl, take_chain, &c, "nftables", e);
	if (rc < 0 || c.n == 0)
		return rc;
	request(&nl, NFT_MSG_GETRULE, NFPROTO_UNSPEC);
	rc = ps_nl_talk(&nl, count_rule, &c, "nftables", e);
	return rc < 0 ? rc : c.n;
}

/* A table without rules has one entry per hook, its policy, and one at the end. */
static int
rules_of(int fd, const char *table)
{
	struct ipt_getinfo info = {0};
	socklen_t len = sizeof(info);

	snprintf(info.name, sizeof(info.name), "%s", table);
	if (getsockopt(fd, IPPROTO_IP, IPT_SO_GET_INFO, &info, &len) != 0)
		return 0;
	return (int)info.num_entries - __builtin_popcount(info.valid_hooks) - 1;
}

int
ps_filter_iptables(struct ps_filter_chain *out, struct ps_err *e)
{
	FILE *f = fopen("/proc/net/ip_tables_names", "re");
	int fd, n = 0, rules;
	char table[32];

	if (f == NULL)
		return errno == ENOENT
			       ? 0
			       : ps_fail(e, errno, "iptables: cannot be read: %s; run as root",
					 strerror(errno));
	fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	if (fd < 0) {
		fclose(f);
		return ps_fail(
			e, errno, "iptables: no raw socket: %s; run as root", strerror(errno));
	}
	while (fscanf(f, "%31s", table) == 1 && n < PS_FILTER_CHAINS) {
		rules = rules_of(fd, table);
		if (rules <= 0)
			continue;
		snprintf(out[n].name, sizeof(out[n].name), "iptables %s", table);
		snprintf(out[n].command, sizeof(out[n].command), "iptables-legacy -t %s -S", table);
		out[n].hook = "its hooks";
		out[n].drops = false;
		out[n].rules = (uint32_t)rules;
		n++;
	}
	close(fd);
	fclose(f);
	return n;
}
