// SPDX-License-Identifier: GPL-2.0
// Copyright (c) 2026 The Penstock authors

/* A kernel module for the test machine alone, and as such under the kernel's licence, unlike the
 * rest of the project. A network port whose receive rules act, which no emulated one has.
 *
 * labwire: the cable's other end.
 *
 * labpf: the port as the kernel has it, with queues, ntuple rules (ethtool -N) for UDP over IPv4
 * and for Ethernet, which send to a queue or drop, and with rss=1 an indirection table and RSS
 * contexts (ethtool -X). Without rss=1, what no rule takes goes to queue 0.
 *
 * labvf: the port's virtual function 0, which left the kernel: packet sockets get its frames, and
 * the kernel's stack does not. Once it has the port's address (ip link set labpf vf 0 mac), frames
 * to that come in by both, whatever the rules say.
 *
 * As with i40e, rules are lost when ntuple is turned off. A new address resets the port, and they
 * are lost with it. Written for Linux 6.12.
 *
 * In one file although it is long: it is built in the machine's kernel tree as a module of one
 * source, and rules, frames and ethtool all work on the one struct port below. */

#include <linux/device.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <net/ip.h>

#define QUEUES 8
#define SLOTS  16
#define TABLE  128
#define TABLES 4 /* the port's own, and contexts for rules */
/* Of a rule's masks: what i40e writes when the rules' common fields have the destination address,
 * and when they have the source address. IPv6 addresses lie over the IPv4 fields there. */
#define OVERLAY_DST 1
#define OVERLAY_SRC 2
#define V6_BYTES    16

enum end { WIRE, PF, VF, ENDS };

struct port {
	spinlock_t lock; /* of rules and tables */
	bool used[SLOTS];
	struct ethtool_rx_flow_spec rule[SLOTS];
	u32 context[SLOTS]; /* of a rule with FLOW_RSS */
	u32 queues;
	bool made[TABLES];
	u8 table[TABLES][TABLE];
	atomic64_t received[QUEUES];
};

static char *driver = "labnic";
module_param(driver, charp, 0444);
MODULE_PARM_DESC(driver, "the driver's name as it is reported");

static int overlay;
module_param(overlay, int, 0644);
MODULE_PARM_DESC(overlay, "masks in readback: 1 ones over destination, 2 and over source");

static int rss;
module_param(rss, int, 0444);
MODULE_PARM_DESC(rss, "1: an indirection table and RSS contexts");

static int inert;
module_param(inert, int, 0644);
MODULE_PARM_DESC(inert, "1: rules are there and do not act");

static const char *const names[ENDS] = {"labwire", "labpf", "labvf"};
static struct net_device *ends[ENDS];
static struct device *lab_device;

static struct port *
port_of(struct net_device *dev)
{
	return netdev_priv(dev);
}

/* -- rules -- */

#define DIFFERS(a, spec, mask, field) (((a) ^ (spec)->field) & (mask)->field)

static bool
matches_udp(const struct ethtool_rx_flow_spec *rule, const struct sk_buff *skb)
{
	const struct ethtool_tcpip4_spec *h = &rule->h_u.udp_ip4_spec;
	const struct ethtool_tcpip4_spec *m = &rule->m_u.udp_ip4_spec;
	const struct udphdr *udp;
	const struct iphdr *ip;
	struct udphdr udp_room;
	struct iphdr ip_room;

	ip = skb_header_pointer(skb, ETH_HLEN, sizeof(ip_room), &ip_room);
	if (eth_hdr(skb)->h_proto != htons(ETH_P_IP) || !ip || ip->protocol != IPPROTO_UDP ||
		ip_is_fragment(ip))
		return false;
	udp = skb_header_pointer(skb, ETH_HLEN + ip->ihl * 4, sizeof(udp_room), &udp_room);
	return udp && !DIFFERS(ip->saddr, h, m, ip4src) && !DIFFERS(ip->daddr, h, m, ip4dst) &&
	       !DIFFERS(udp->source, h, m, psrc) && !DIFFERS(udp->dest, h, m, pdst) &&
	       !DIFFERS(ip->tos, h, m, tos);
}

static bool
matches_ether(const struct ethtool_rx_flow_spec *rule, const struct sk_buff *skb)
{
	const struct ethhdr *h = &rule->h_u.ether_spec, *m = &rule->m_u.ether_spec;
	const struct ethhdr *eth = eth_hdr(skb);

	for (int i = 0; i < ETH_ALEN; i++)
		if (DIFFERS(eth->h_dest[i], h, m, h_dest[i]) ||
			DIFFERS(eth->h_source[i], h, m, h_source[i]))
			return false;
	return !DIFFERS(eth->h_proto, h, m, h_proto);
}

static bool
matches(const struct ethtool_rx_flow_spec *rule, const struct sk_buff *skb)
{
	return rule->flow_type == ETHER_FLOW ? matches_ether(rule, skb) : matches_udp(rule, skb);
}

/* A queue, or RX_CLS_FLOW_DISC. */
static u64
fate_of(struct port *p, struct sk_buff *skb)
{
	const u32 entry = skb_get_hash(skb) % TABLE;
	u64 fate;

	spin_lock(&p->lock);
	fate = p->table[0][entry];
	for (int i = 0; i < SLOTS; i++)
		if (!READ_ONCE(inert) && p->used[i] && matches(&p->rule[i], skb)) {
			fate = p->rule[i].ring_cookie;
			if (p->rule[i].flow_type & FLOW_RSS)
				fate = p->table[p->context[i]][entry];
			break;
		}
	spin_unlock(&p->lock);
	return fate;
}

static void
lose_rules(struct port *p)
{
	spin_lock_bh(&p->lock);
	memset(p->used, 0, sizeof(p->used));
	spin_unlock_bh(&p->lock);
}

/* -- frames -- */

static void
receive(struct net_device *dev, struct sk_buff *skb, u16 queue, bool in_kernel)
{
	const unsigned int len = skb->len;

	if (!netif_running(dev)) {
		kfree_skb(skb);
		return;
	}
	skb_scrub_packet(skb, true);
	skb->protocol = eth_type_trans(skb, dev);
	if (!in_kernel)
		skb->pkt_type = PACKET_OTHERHOST;
	skb_record_rx_queue(skb, queue);
	atomic64_inc(&port_of(dev)->received[queue]);
	dev_sw_netstats_rx_add(dev, len);
	netif_rx(skb);
}

static void
receive_at_port(struct sk_buff *skb)
{
	struct net_device *pf = ends[PF], *vf = ends[VF];
	struct sk_buff *copy;
	u64 fate;

	if (ether_addr_equal(eth_hdr(skb)->h_dest, vf->dev_addr)) {
		copy = skb_copy(skb, GFP_ATOMIC);
		if (copy)
			receive(vf, copy, 0, false);
	}
	fate = fate_of(port_of(pf), skb);
	if (fate == RX_CLS_FLOW_DISC)
		kfree_skb(skb);
	else
		receive(pf, skb, (u16)fate, true);
}

static netdev_tx_t
lab_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_sw_netstats_tx_add(dev, 1, skb->len);
	skb_reset_mac_header(skb);
	if (dev == ends[WIRE])
		receive_at_port(skb);
	else
		receive(ends[WIRE], skb, 0, true);
	return NETDEV_TX_OK;
}

/* -- the interface -- */

static int
lab_open(struct net_device *dev)
{
	netif_tx_start_all_queues(dev);
	netif_carrier_on(dev);
	return 0;
}

static int
lab_stop(struct net_device *dev)
{
	netif_tx_stop_all_queues(dev);
	netif_carrier_off(dev);
	return 0;
}

static int
lab_set_features(struct net_device *dev, netdev_features_t features)
{
	if (!(features & NETIF_F_NTUPLE))
		lose_rules(port_of(dev));
	return 0;
}

static int
lab_set_mac(struct net_device *dev, void *addr)
{
	int ret = eth_mac_addr(dev, addr);

	if (ret == 0)
		lose_rules(port_of(dev));
	return ret;
}

static int
lab_get_vf_config(struct net_device *dev, int vf, struct ifla_vf_info *info)
{
	if (vf != 0 || dev != ends[PF])
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	ether_addr_copy(info->mac, ends[VF]->dev_addr);
	info->spoofchk = 1;
	return 0;
}

static int
lab_set_vf_mac(struct net_device *dev, int vf, u8 *mac)
{
	if (vf != 0 || dev != ends[PF] || !is_valid_ether_addr(mac))
		return -EINVAL;
	eth_hw_addr_set(ends[VF], mac);
	return 0;
}

static const struct net_device_ops lab_ops = {
	.ndo_open = lab_open,
	.ndo_stop = lab_stop,
	.ndo_start_xmit = lab_xmit,
	.ndo_set_features = lab_set_features,
	.ndo_set_mac_address = lab_set_mac,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_get_vf_config = lab_get_vf_config,
	.ndo_set_vf_mac = lab_set_vf_mac,
};

/* -- ethtool -- */

static void
lab_get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, driver, sizeof(info->driver));
}

static void
lab_get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	channels->max_combined = QUEUES;
	channels->combined_count = port_of(dev)->queues;
}

/* What the kernel gives where nobody set anything else. */
static void
spread(struct port *p)
{
	for (u32 i = 0; i < TABLE; i++)
		p->table[0][i] = rss ? ethtool_rxfh_indir_default(i, p->queues) : 0;
}

static int
lab_set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	const u32 n = channels->combined_count;
	struct port *p = port_of(dev);

	spin_lock_bh(&p->lock);
	p->queues = n;
	if (!netif_is_rxfh_configured(dev))
		spread(p);
	spin_unlock_bh(&p->lock);
	return netif_set_real_num_queues(dev, n, n);
}

static u32
lab_get_table_size(struct net_device *dev)
{
	return TABLE;
}

static int
lab_get_table(struct net_device *dev, struct ethtool_rxfh_param *param)
{
	const struct port *p = port_of(dev);

	if (param->rss_context >= TABLES || !p->made[param->rss_context])
		return -ENOENT;
	param->hfunc = ETH_RSS_HASH_TOP;
	for (u32 i = 0; param->indir && i < TABLE; i++)
		param->indir[i] = p->table[param->rss_context][i];
	return 0;
}

static int
set_table(struct port *p, u32 context, const struct ethtool_rxfh_param *param)
{
	if (context >= TABLES || param->key ||
		(param->hfunc != ETH_RSS_HASH_NO_CHANGE && param->hfunc != ETH_RSS_HASH_TOP))
		return -EOPNOTSUPP;
	spin_lock_bh(&p->lock);
	p->made[context] = true;
	for (u32 i = 0; param->indir && i < TABLE; i++)
		p->table[context][i] = param->indir[i];
	spin_unlock_bh(&p->lock);
	return 0;
}

static int
lab_set_table(
	struct net_device *dev, struct ethtool_rxfh_param *param, struct netlink_ext_ack *extack)
{
	return set_table(port_of(dev), param->rss_context, param);
}

static int
lab_make_context(struct net_device *dev, struct ethtool_rxfh_context *context,
	const struct ethtool_rxfh_param *param, struct netlink_ext_ack *extack)
{
	if (!param->indir)
		return -EOPNOTSUPP;
	return set_table(port_of(dev), param->rss_context, param);
}

static int
lab_remove_context(struct net_device *dev, struct ethtool_rxfh_context *context, u32 id,
	struct netlink_ext_ack *extack)
{
	struct port *p = port_of(dev);

	for (int i = 0; i < SLOTS; i++)
		if (p->used[i] && (p->rule[i].flow_type & FLOW_RSS) && p->context[i] == id)
			return -EBUSY;
	p->made[id] = false;
	return 0;
}

static int
lab_get_sset_count(struct net_device *dev, int set)
{
	return set == ETH_SS_STATS ? QUEUES : -EOPNOTSUPP;
}

static void
lab_get_strings(struct net_device *dev, u32 set, u8 *text)
{
	for (int i = 0; i < QUEUES; i++)
		ethtool_sprintf(&text, "rx_queue_%d_packets", i);
}

static void
lab_get_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *value)
{
	for (int i = 0; i < QUEUES; i++)
		value[i] = atomic64_read(&port_of(dev)->received[i]);
}

static bool
has_rule(const struct port *p, u32 location)
{
	return location < SLOTS && p->used[location];
}

static int
read_rule(const struct port *p, struct ethtool_rxnfc *nfc)
{
	struct ethtool_rx_flow_spec *fs = &nfc->fs;

	if (!has_rule(p, fs->location))
		return -ENOENT;
	if (p->rule[fs->location].flow_type & FLOW_RSS)
		nfc->rss_context = p->context[fs->location];
	*fs = p->rule[fs->location];
	if (overlay >= OVERLAY_DST)
		memset(fs->m_u.hdata + V6_BYTES, 0xff, V6_BYTES);
	if (overlay >= OVERLAY_SRC)
		memset(fs->m_u.hdata, 0xff, V6_BYTES);
	return 0;
}

static int
list_rules(const struct port *p, struct ethtool_rxnfc *nfc, u32 *locations)
{
	u32 n = 0;

	for (u32 i = 0; i < SLOTS; i++) {
		if (!p->used[i])
			continue;
		if (locations && n == nfc->rule_cnt)
			return -EMSGSIZE;
		if (locations)
			locations[n] = i;
		n++;
	}
	nfc->rule_cnt = n;
	nfc->data = SLOTS;
	return 0;
}

static int
lab_get_rxnfc(struct net_device *dev, struct ethtool_rxnfc *nfc, u32 *locations)
{
	const struct port *p = port_of(dev);

	switch (nfc->cmd) {
	case ETHTOOL_GRXRINGS:
		nfc->data = p->queues;
		return 0;
	case ETHTOOL_GRXCLSRLCNT:
		return list_rules(p, nfc, NULL);
	case ETHTOOL_GRXCLSRLALL:
		return list_rules(p, nfc, locations);
	case ETHTOOL_GRXCLSRULE:
		return read_rule(p, nfc);
	}
	return -EOPNOTSUPP;
}

static int
insert_rule(struct net_device *dev, const struct ethtool_rxnfc *nfc)
{
	const struct ethtool_rx_flow_spec *fs = &nfc->fs;
	const bool by_context = fs->flow_type & FLOW_RSS;
	struct port *p = port_of(dev);

	if (!(dev->features & NETIF_F_NTUPLE) ||
		((fs->flow_type & ~FLOW_RSS) != UDP_V4_FLOW && fs->flow_type != ETHER_FLOW))
		return -EOPNOTSUPP;
	if (fs->location >= SLOTS ||
		(fs->ring_cookie != RX_CLS_FLOW_DISC && fs->ring_cookie >= p->queues))
		return -EINVAL;
	if (by_context && (nfc->rss_context >= TABLES || !p->made[nfc->rss_context]))
		return -EINVAL;
	spin_lock_bh(&p->lock);
	p->rule[fs->location] = *fs;
	p->context[fs->location] = by_context ? nfc->rss_context : 0;
	p->used[fs->location] = true;
	spin_unlock_bh(&p->lock);
	return 0;
}

static int
delete_rule(struct port *p, u32 location)
{
	if (!has_rule(p, location))
		return -ENOENT;
	spin_lock_bh(&p->lock);
	p->used[location] = false;
	spin_unlock_bh(&p->lock);
	return 0;
}

static int
lab_set_rxnfc(struct net_device *dev, struct ethtool_rxnfc *nfc)
{
	switch (nfc->cmd) {
	case ETHTOOL_SRXCLSRLINS:
		return insert_rule(dev, nfc);
	case ETHTOOL_SRXCLSRLDEL:
		return delete_rule(port_of(dev), nfc->fs.location);
	}
	return -EOPNOTSUPP;
}

static const struct ethtool_ops plain_ethtool_ops = {
	.get_link = ethtool_op_get_link,
};

#define PF_ETHTOOL_OPS                                                                             \
	.get_link = ethtool_op_get_link, .get_drvinfo = lab_get_drvinfo,                           \
	.get_channels = lab_get_channels, .set_channels = lab_set_channels,                        \
	.get_sset_count = lab_get_sset_count, .get_strings = lab_get_strings,                      \
	.get_ethtool_stats = lab_get_stats, .get_rxnfc = lab_get_rxnfc, .set_rxnfc = lab_set_rxnfc

static const struct ethtool_ops pf_ethtool_ops = {PF_ETHTOOL_OPS};

static const struct ethtool_ops rss_ethtool_ops = {
	PF_ETHTOOL_OPS,
	.rxfh_max_num_contexts = TABLES,
	.get_rxfh_indir_size = lab_get_table_size,
	.get_rxfh = lab_get_table,
	.set_rxfh = lab_set_table,
	.create_rxfh_context = lab_make_context,
	.remove_rxfh_context = lab_remove_context,
};

/* -- the device of labpf, as far as its virtual function makes it be asked for -- */

static int
count_vfs(struct device *device)
{
	return 1;
}

static const struct bus_type lab_bus = {
	.name = "labnic",
	.num_vf = count_vfs,
};

static ssize_t
sriov_numvfs_show(struct device *device, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "%d\n", count_vfs(device));
}
static DEVICE_ATTR_RO(sriov_numvfs);

static struct attribute *lab_attrs[] = {&dev_attr_sriov_numvfs.attr, NULL};
ATTRIBUTE_GROUPS(lab);

static void
release_device(struct device *device)
{
	kfree(device);
}

static struct device *
make_device(void)
{
	struct device *device = kzalloc(sizeof(*device), GFP_KERNEL);
	int ret;

	if (!device)
		return ERR_PTR(-ENOMEM);
	device->bus = &lab_bus;
	device->groups = lab_groups;
	device->release = release_device;
	dev_set_name(device, "labnic");
	ret = device_register(device);
	if (ret == 0)
		return device;
	put_device(device);
	return ERR_PTR(ret);
}

/* -- coming and going -- */

static struct net_device *
make_end(enum end end)
{
	struct net_device *dev = alloc_etherdev_mqs(sizeof(struct port), QUEUES, QUEUES);

	if (!dev)
		return NULL;
	spin_lock_init(&port_of(dev)->lock);
	port_of(dev)->queues = QUEUES;
	port_of(dev)->made[0] = true;
	spread(port_of(dev));
	strscpy(dev->name, names[end], IFNAMSIZ);
	dev->netdev_ops = &lab_ops;
	dev->ethtool_ops = end != PF ? &plain_ethtool_ops
			   : rss     ? &rss_ethtool_ops
				     : &pf_ethtool_ops;
	dev->hw_features = end == PF ? NETIF_F_NTUPLE : 0;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	if (end == PF)
		SET_NETDEV_DEV(dev, lab_device);
	eth_hw_addr_random(dev);
	netif_carrier_off(dev);
	return dev;
}

/* Each may still send to another until all are down. */
static void
remove_ends(unsigned int registered)
{
	while (registered > 0)
		unregister_netdev(ends[--registered]);
	for (int i = 0; i < ENDS; i++)
		if (ends[i])
			free_netdev(ends[i]);
}

static int
make_ends(void)
{
	unsigned int n = 0;
	int ret = 0;

	for (int i = 0; ret == 0 && i < ENDS; i++) {
		ends[i] = make_end(i);
		if (!ends[i])
			ret = -ENOMEM;
	}
	while (ret == 0 && n < ENDS) {
		ret = register_netdev(ends[n]);
		n += ret == 0;
	}
	if (ret)
		remove_ends(n);
	return ret;
}

static int __init
lab_init(void)
{
	int ret = bus_register(&lab_bus);

	if (ret)
		return ret;
	lab_device = make_device();
	ret = PTR_ERR_OR_ZERO(lab_device);
	if (ret)
		goto no_device;
	ret = make_ends();
	if (ret == 0)
		return 0;
	device_unregister(lab_device);
no_device:
	bus_unregister(&lab_bus);
	return ret;
}

static void __exit
lab_exit(void)
{
	remove_ends(ENDS);
	device_unregister(lab_device);
	bus_unregister(&lab_bus);
}

module_init(lab_init);
module_exit(lab_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A network port whose receive rules act, for tests of Penstock");
