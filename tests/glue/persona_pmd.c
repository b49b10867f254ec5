/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "persona_pmd.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ethdev_driver.h>
#include <rte_errno.h>

#include "persona_dev.h"

#define QUEUES 64

struct rte_flow {
	struct rte_flow *next;
	struct persona_rule *rule; /* NULL: success was told, but the NIC has no such rule */
};

static struct persona *personas[RTE_MAX_ETHPORTS];

struct persona *
persona_of(uint16_t port)
{
	return personas[port];
}

void
persona_attach(uint16_t port, struct persona *p)
{
	personas[port] = p;
}

unsigned int
persona_rules(const struct persona *p)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < PERSONA_RULES; i++)
		n += p->rule[i].used;
	return n;
}

/* -- what a driver makes of pattern and actions -- */

static int
refuse(struct rte_flow_error *error, int errnum, enum rte_flow_error_type type, const char *message)
{
	return rte_flow_error_set(error, errnum, type, NULL, message);
}

static int
parse_ipv4(struct persona *p, const struct rte_flow_item *item, struct persona_rule *r,
	struct rte_flow_error *error)
{
	const struct rte_flow_item_ipv4 *spec = item->spec, *mask = item->mask;

	if (spec == NULL)
		return 0;
	if (mask == NULL)
		mask = &rte_flow_item_ipv4_mask;
	r->addr = spec->hdr.dst_addr;
	r->addr_mask = mask->hdr.dst_addr;
	if (p->kind == PERSONA_BNXT) {
		if (mask->hdr.next_proto_id != 0)
			return refuse(
				error, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, "Invalid IPv4 mask.");
		r->proto = spec->hdr.next_proto_id;
	} else if (mask->hdr.next_proto_id != 0 && p->kind != PERSONA_MLX5) {
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, "Invalid input set");
	}
	return 0;
}

static int
parse_pattern(struct persona *p, const struct rte_flow_item *item, struct persona_rule *r,
	struct rte_flow_error *error)
{
	int rc = 0;

	for (; rc == 0 && item->type != RTE_FLOW_ITEM_TYPE_END; item++) {
		const struct rte_flow_item_udp *udp = item->spec, *mask = item->mask;

		if (item->last != NULL)
			return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_LAST, "No ranges.");
		if (item->type == RTE_FLOW_ITEM_TYPE_IPV4) {
			rc = parse_ipv4(p, item, r, error);
		} else if (item->type == RTE_FLOW_ITEM_TYPE_UDP && udp != NULL) {
			r->port = udp->hdr.dst_port;
			r->port_mask = mask->hdr.dst_port;
			if (p->kind != PERSONA_BNXT)
				r->proto = IPPROTO_UDP;
		} else if (item->type != RTE_FLOW_ITEM_TYPE_ETH || item->spec != NULL) {
			return refuse(
				error, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, "Unsupported pattern");
		}
	}
	return rc;
}

static int
parse_rss(struct persona *p, const struct rte_flow_action_rss *rss, struct persona_rule *r,
	struct rte_flow_error *error)
{
	bool region = p->kind == PERSONA_ICE || p->kind == PERSONA_IAVF_ICE;

	if (p->kind == PERSONA_I40E)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, "Invalid action.");
	if (region && (rss->queue_num < 2 || (rss->queue_num & (rss->queue_num - 1)) != 0))
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, "Not a power of two.");
	for (uint32_t i = 0; i < rss->queue_num; i++) {
		if (region && rss->queue[i] != rss->queue[0] + i)
			return refuse(
				error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, "Discontinuous queues.");
		r->queues |= UINT64_C(1) << rss->queue[i];
	}
	return 0;
}

static int
check_queues(struct persona *p, const struct persona_rule *r, struct rte_flow_error *error)
{
	if (p->kind == PERSONA_BNXT && (r->queues & 1) != 0)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, "Queue 0 not allowed.");
	if (p->n_queues < QUEUES && r->queues >> p->n_queues != 0)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, "Invalid queue ID.");
	return 0;
}

/* i40e takes one fate first, and MARK only behind it: MARK first means "pass through". */
static bool
wrong_order(struct persona *p, const struct rte_flow_action *actions)
{
	if (p->kind != PERSONA_I40E)
		return false;
	if (actions[0].type == RTE_FLOW_ACTION_TYPE_MARK)
		return actions[1].type != RTE_FLOW_ACTION_TYPE_END;
	return actions[1].type != RTE_FLOW_ACTION_TYPE_END &&
	       actions[1].type != RTE_FLOW_ACTION_TYPE_MARK;
}

static int
parse_actions(struct persona *p, const struct rte_flow_action *actions, struct persona_rule *r,
	struct rte_flow_error *error)
{
	bool counts = p->kind == PERSONA_ICE || p->kind == PERSONA_MLX5;
	int rc = 0;

	if (wrong_order(p, actions))
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, "Invalid action.");
	for (const struct rte_flow_action *a = actions; a->type != RTE_FLOW_ACTION_TYPE_END; a++) {
		if (a->type == RTE_FLOW_ACTION_TYPE_DROP) {
			r->drop = true;
		} else if (a->type == RTE_FLOW_ACTION_TYPE_QUEUE) {
			const struct rte_flow_action_queue *q = a->conf;

			r->queues = UINT64_C(1) << q->index;
		} else if (a->type == RTE_FLOW_ACTION_TYPE_RSS) {
			rc = parse_rss(p, a->conf, r, error);
		} else if (a->type == RTE_FLOW_ACTION_TYPE_MARK) {
			const struct rte_flow_action_mark *m = a->conf;

			r->has_mark = true;
			r->mark = m->id;
		} else if (a->type == RTE_FLOW_ACTION_TYPE_COUNT && counts) {
			r->has_count = true;
		} else {
			return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION, "Invalid action.");
		}
		if (rc < 0)
			return rc;
	}
	r->no_counters = p->kind == PERSONA_ICE && !r->has_mark && !r->has_count;
	return check_queues(p, r, error);
}

/* What each driver makes of a mask that is neither full nor zero. */
static int
settle_masks(struct persona *p, struct persona_rule *r, struct rte_flow_error *error)
{
	bool partial = (r->addr_mask != 0 && r->addr_mask != UINT32_MAX) ||
		       (r->port_mask != 0 && r->port_mask != UINT16_MAX);

	if (!partial)
		return 0;
	switch (p->kind) {
	case PERSONA_I40E: /* the field is left out, in silence */
		if (r->addr_mask != UINT32_MAX)
			r->addr_mask = 0;
		if (r->port_mask != UINT16_MAX)
			r->port_mask = 0;
		return 0;
	case PERSONA_IAVF_ICE: /* undefined */
		p->violations++;
		return 0;
	case PERSONA_ICE:
		if (!r->no_counters)
			return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ITEM, "Invalid input set");
		return 0;
	default:
		return 0;
	}
}

static int
parse(struct rte_eth_dev *dev, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct persona_rule *r, struct rte_flow_error *error)
{
	struct persona *p = dev->data->dev_private;
	int rc;

	memset(r, 0, sizeof(*r));
	if (p->kind == PERSONA_IAVF_I40E)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_HANDLE,
			"Failed to create parser engine.");
	if (!attr->ingress || attr->egress || attr->transfer || attr->group || attr->priority)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ATTR, "Not support.");
	rc = parse_pattern(p, pattern, r, error);
	if (rc == 0)
		rc = parse_actions(p, actions, r, error);
	return rc < 0 ? rc : settle_masks(p, r, error);
}

/* Parses, and knows nothing of what is installed already: the lie of i40e, ice and iavf. */
static int
flow_validate(struct rte_eth_dev *dev, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct rte_flow_error *error)
{
	struct persona_rule r;

	return parse(dev, attr, pattern, actions, &r, error);
}

/* -- what is installed -- */

static bool
same_match(const struct persona_rule *a, const struct persona_rule *b)
{
	return a->addr == b->addr && a->addr_mask == b->addr_mask && a->port == b->port &&
	       a->port_mask == b->port_mask;
}

static bool
same_fields(const struct persona_rule *a, const struct persona_rule *b)
{
	return (a->addr_mask != 0) == (b->addr_mask != 0) &&
	       (a->port_mask != 0) == (b->port_mask != 0);
}

static bool
one_input_set(enum persona_kind kind)
{
	return kind == PERSONA_I40E || kind == PERSONA_ICE || kind == PERSONA_IAVF_ICE;
}

/* iavf cannot say why the PF refused: EPERM for everything. */
static int
refuse_at_create(struct persona *p, struct rte_flow_error *error, int errnum, const char *message)
{
	return refuse(error, p->kind == PERSONA_IAVF_ICE ? EPERM : errnum,
		RTE_FLOW_ERROR_TYPE_HANDLE, message);
}

/* Against the rules that are there; 1: another rule was changed instead. */
static int
compare(struct persona *p, const struct persona_rule *r, struct rte_flow_error *error)
{
	for (unsigned int i = 0; i < PERSONA_RULES; i++) {
		struct persona_rule *old = &p->rule[i];

		if (!old->used)
			continue;
		if (same_match(old, r)) {
			if (p->kind != PERSONA_BNXT || old->queues == r->queues)
				return refuse_at_create(p, error, EEXIST, "Rule already exists!");
			old->queues = r->queues;
			error->type = RTE_FLOW_ERROR_TYPE_NONE;
			error->message = "Flow with pattern exists, updating destination queue";
			return 1;
		}
		if (one_input_set(p->kind) && !r->no_counters && !same_fields(old, r))
			return refuse_at_create(p, error, EINVAL, "Failed to create flow.");
	}
	if (persona_rules(p) >= p->max_rules)
		return refuse_at_create(p, error, ENOBUFS, "Fdir space full");
	return 0;
}

static int
check_state(struct persona *p, struct rte_flow_error *error)
{
	if (!p->started && p->kind == PERSONA_MLX5)
		return refuse(error, ENODEV, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, "port not started");
	if (!p->started && p->kind == PERSONA_BNXT)
		return refuse(error, EPERM, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, "Device not started");
	if (p->untrusted)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
			"Flow creation failed: VF is not trusted");
	return 0;
}

static struct persona_rule *
place(struct persona *p, const struct persona_rule *r)
{
	/* No programming buffer free: i40e rolls its table back and says success. */
	if (p->kind == PERSONA_I40E && p->in_flight >= 64)
		return NULL;
	p->in_flight++;
	for (unsigned int i = 0; i < PERSONA_RULES; i++)
		if (!p->rule[i].used) {
			p->rule[i] = *r;
			p->rule[i].used = true;
			return &p->rule[i];
		}
	return NULL;
}

static struct rte_flow *
flow_create(struct rte_eth_dev *dev, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct rte_flow_error *error)
{
	struct persona *p = dev->data->dev_private;
	struct rte_flow *flow;
	struct persona_rule r;

	p->creates++;
	if (check_state(p, error) < 0 || parse(dev, attr, pattern, actions, &r, error) < 0 ||
		compare(p, &r, error) != 0)
		return NULL;
	flow = calloc(1, sizeof(*flow));
	if (flow == NULL)
		abort();
	flow->rule = place(p, &r);
	flow->next = p->flows;
	p->flows = flow;
	p->n_flows++;
	return flow;
}

static struct rte_flow **
find(struct persona *p, struct rte_flow *flow)
{
	for (struct rte_flow **at = &p->flows; *at != NULL; at = &(*at)->next)
		if (*at == flow)
			return at;
	p->violations++;
	return NULL;
}

static void
release(struct persona *p, struct rte_flow **at)
{
	struct rte_flow *flow = *at;

	*at = flow->next;
	if (flow->rule != NULL)
		flow->rule->used = false;
	free(flow);
	p->n_flows--;
}

static int
flow_destroy(struct rte_eth_dev *dev, struct rte_flow *flow, struct rte_flow_error *error)
{
	struct persona *p = dev->data->dev_private;
	struct rte_flow **at = find(p, flow);

	if (at == NULL)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_HANDLE, "dead handle");
	release(p, at);
	return 0;
}

void
persona_forget(struct persona *p)
{
	while (p->flows != NULL)
		release(p, &p->flows);
}

void
persona_orphan(struct persona *p)
{
	for (struct rte_flow *flow = p->flows; flow != NULL; flow = flow->next)
		flow->rule = NULL;
	persona_forget(p);
}

static int
flow_flush(struct rte_eth_dev *dev, struct rte_flow_error *error)
{
	(void)error;
	persona_forget(dev->data->dev_private);
	return 0;
}

static int
flow_query(struct rte_eth_dev *dev, struct rte_flow *flow, const struct rte_flow_action *actions,
	void *data, struct rte_flow_error *error)
{
	struct persona *p = dev->data->dev_private;
	struct rte_flow_query_count *c = data;
	struct rte_flow **at = find(p, flow);

	if (at == NULL || actions->type != RTE_FLOW_ACTION_TYPE_COUNT)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_HANDLE, "Invalid flow query");
	if (p->kind == PERSONA_BNXT)
		return 0; /* and no data */
	if (p->kind == PERSONA_I40E)
		return refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, "action not supported");
	if (p->kind == PERSONA_IAVF_ICE)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_HANDLE, "Invalid flow query");
	if (flow->rule == NULL || !flow->rule->used || flow->rule->no_counters)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION,
			"count action not supported by switch filter");
	c->hits = p->kind == PERSONA_MLX5 ? flow->rule->hits_shown : flow->rule->hits;
	c->hits_set = flow->rule->has_count;
	return 0;
}

static int
flow_isolate(struct rte_eth_dev *dev, int set, struct rte_flow_error *error)
{
	struct persona *p = dev->data->dev_private;

	if (p->kind != PERSONA_MLX5)
		return refuse(error, ENOSYS, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, "Not supported");
	if (p->started)
		return refuse(error, EBUSY, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
			"port must be stopped first");
	p->isolated = set != 0;
	return 0;
}

static int
flow_dump(struct rte_eth_dev *dev, struct rte_flow *flow, FILE *file, struct rte_flow_error *error)
{
	struct persona *p = dev->data->dev_private;
	struct rte_flow **at;

	if (p->kind != PERSONA_MLX5)
		return refuse(error, ENOSYS, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, "Not supported");
	at = find(p, flow);
	if (at == NULL)
		return refuse(error, EINVAL, RTE_FLOW_ERROR_TYPE_HANDLE, "dead handle");
	if (flow->rule != NULL && flow->rule->used)
		fprintf(file, "rule %08x:%04x\n", flow->rule->addr, flow->rule->port);
	return 0;
}

const struct rte_flow_ops persona_flow_ops = {
	.validate = flow_validate,
	.create = flow_create,
	.destroy = flow_destroy,
	.flush = flow_flush,
	.query = flow_query,
	.isolate = flow_isolate,
	.dev_dump = flow_dump,
};

/* -- the NIC -- */

struct persona_fate
persona_packet(struct persona *p, uint8_t proto, uint32_t daddr_be, uint16_t dport_be)
{
	struct persona_fate fate = {.kernel = p->isolated};

	fate.queue = (uint16_t)__builtin_ctzll(p->reta);
	for (unsigned int i = 0; i < PERSONA_RULES; i++) {
		struct persona_rule *r = &p->rule[i];

		if (!r->used || (r->proto != 0 && r->proto != proto) ||
			((r->addr ^ daddr_be) & r->addr_mask) != 0 ||
			((r->port ^ dport_be) & r->port_mask) != 0)
			continue;
		r->hits++;
		p->sb_match++;
		fate.kernel = false;
		fate.dropped = r->drop;
		if (!r->drop)
			fate.queue = (uint16_t)__builtin_ctzll(r->queues);
		fate.marked = r->has_mark && !r->no_counters;
		fate.mark = r->mark;
		break;
	}
	return fate;
}

void
persona_drain(struct persona *p)
{
	p->in_flight = 0;
}

void
persona_refresh(struct persona *p)
{
	for (unsigned int i = 0; i < PERSONA_RULES; i++)
		p->rule[i].hits_shown = p->rule[i].hits;
}

void
persona_lose(uint16_t port, bool all, int event)
{
	struct persona *p = personas[port];

	for (unsigned int i = 0; i < PERSONA_RULES; i++)
		p->rule[i].used = false;
	if (all)
		persona_forget(p);
	if (event >= 0)
		rte_eth_dev_callback_process(&rte_eth_devices[port], event, NULL);
}
