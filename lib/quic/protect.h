/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Packet protection (RFC 9001 section 5), connection ids and Retry tokens: everything that needs a
 * cipher. protect.c names intel-ipsec-mb and hkdf.c nettle; no other file does, but the bench that
 * measures the bare library.
 *
 * A connection keeps raw keys (80 bytes a direction). Expanded keys of AES (1 KB) live in
 * a bounded cache of the ps_protect that all connections of one thread share: they are made once
 * and reused until another connection needs the place. ChaCha20 has none. One thread per
 * ps_protect; no allocation. */
#ifndef PS_QUIC_PROTECT_H
#define PS_QUIC_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ps_datagram.h"
#include "suite.h"
#include "wire.h"

/* One direction of one level. What AES-128 needs is in the first 64 bytes. */
struct ps_pkt_key {
	uint8_t key[32]; /* ps_suite_key_bytes() of them, the rest 0; so is hp */
	uint8_t iv[12];
	uint32_t suite : 2;   /* enum ps_suite */
	uint32_t cached : 30; /* hint: the cache line that holds the expanded key, checked on use; 0
			       * is always right to start with */
	uint8_t hp[32];
};

struct ps_protect;

/* cache_keys: expanded keys held, a power of two. */
size_t ps_protect_footprint(uint32_t cache_keys);
/* mem: footprint bytes, 64-byte aligned. NULL when the processor lacks AES, PCLMUL or SSSE3, or the
 * library fails its own test. Creation enters the kernel and allocates for a moment. */
struct ps_protect *ps_protect_new(void *mem, uint32_t cache_keys);
/* Keys expanded because the cache did not hold them, since creation. */
uint64_t ps_protect_expansions(const struct ps_protect *p);
/* Zeroes every key held, raw and expanded, and ends the use of p. */
void ps_protect_wipe(struct ps_protect *p);

/* -- keys, RFC 9001 section 5.1 and 5.2 -- */

/* Key, IV and header-protection key from a traffic secret, as long as the suite's hash. */
void ps_pkt_key_derive(struct ps_pkt_key *k, enum ps_suite suite, const uint8_t *secret);
/* The next secret of a key update, section 6.1. */
void ps_secret_update(enum ps_suite suite, uint8_t *secret);
/* Both directions of the Initial level from the client's first destination connection id. */
void ps_initial_keys(
	struct ps_pkt_key *client, struct ps_pkt_key *server, const uint8_t *dcid, size_t dcid_len);
/* Zeroes k. Its expanded form, if any, stays in the cache until another key takes its place or
 * ps_protect_wipe(). */
void ps_pkt_key_wipe(struct ps_pkt_key *k);

/* -- packets, sections 5.3 and 5.4 -- */

/* Header-protection masks for n packets of any suites, one block of AES or ChaCha20 each (sections
 * 5.4.3 and 5.4.4); no library. Round keys are made on the way, which takes less than to bring
 * them from memory. */
void ps_hp_masks(const struct ps_protect *p, const struct ps_pkt_key *const keys[],
	const uint8_t *const samples[], uint8_t masks[][5], unsigned int n);

/* Opens in place: aad_len header bytes at pkt, then clear_len bytes of text, then the tag. Compares
 * the tag in constant time. False when it does not verify; the text is then garbage. */
bool ps_open(struct ps_protect *p, struct ps_pkt_key *k, uint64_t pn, uint8_t *pkt, size_t aad_len,
	size_t clear_len);
/* Seals in place and applies header protection: hdr_len header bytes whose last pn_len are the
 * packet number, then text_len bytes of text; 16 bytes are written behind the text. pn_len +
 * text_len >= 4, or there is nothing to sample (section 5.4.2): pad. */
void ps_seal(struct ps_protect *p, struct ps_pkt_key *k, uint64_t pn, uint8_t *pkt, size_t hdr_len,
	unsigned int pn_len, size_t text_len);
/* A packet to be sealed with others. Behind its header there is room for text and tag, and for
 * PS_SMALL_ROOM bytes, which are read and written whatever text_len is. */
struct ps_small_packet {
	struct ps_pkt_key *key;
	uint64_t pn;
	uint8_t *pkt;
	uint16_t hdr_len, text_len;
	uint8_t pn_len;
};

#define PS_SMALL_ROOM  48
#define PS_SMALL_BURST 64

/* ps_seal() of up to PS_SMALL_BURST packets of little text, such as acknowledgements. Under AES-128
 * no expanded key is used or made: a connection that is only acknowledged takes no room in the
 * cache. */
void ps_seal_small(struct ps_protect *p, const struct ps_small_packet s[], unsigned int n);
/* Brings closer what ps_open reads of an expanded key for so much text; call a few packets ahead.
 */
void ps_key_prefetch(const struct ps_protect *p, const struct ps_pkt_key *k, size_t text_len);

/* Section 5.8: tag over the Retry pseudo-packet. retry: the packet without its tag, len <=
 * PS_UDP_PAYLOAD_MAX. */
void ps_retry_tag(struct ps_protect *p, const struct ps_cid *odcid, const uint8_t *retry,
	size_t len, uint8_t tag[PS_AEAD_TAG]);

/* -- connection ids: one AES block -- */

#define PS_OUR_CID_LEN 16

struct ps_cid_parts {
	uint8_t worker;
	uint32_t slot;       /* below 2^24 */
	uint32_t generation; /* of the slot */
	uint32_t nonce;      /* distinguishes ids of one connection */
};

/* Shared by all workers of a process, so that any of them can tell whose a packet is. */
struct ps_static_keys {
	uint8_t cid_key[16];
	uint8_t token_key[16];
	uint8_t reset_key[16];
};

/* Sets the keys that ids and tokens are made with; call once before the functions below. */
void ps_protect_static_keys(struct ps_protect *p, const struct ps_static_keys *keys);
void ps_cid_make(
	const struct ps_protect *p, const struct ps_cid_parts *parts, uint8_t cid[PS_OUR_CID_LEN]);
/* False for an id that we never made (the block's 32 zero bits do not come out). */
bool ps_cid_read(
	const struct ps_protect *p, const uint8_t cid[PS_OUR_CID_LEN], struct ps_cid_parts *parts);

/* The stateless reset token of one of our ids, RFC 9000 section 10.3.2. */
void ps_reset_token(
	const struct ps_protect *p, const uint8_t cid[PS_OUR_CID_LEN], uint8_t token[16]);

/* -- address tokens (RFC 9000 section 8.1): stateless, bound to address and time -- */

enum ps_token_kind {
	PS_TOKEN_RETRY = 1, /* also bound to ports, to the client's first id and the Retry's */
	PS_TOKEN_NEW = 2,   /* of a NEW_TOKEN frame: for the address's next connections */
};

/* kind, nonce, time, ODCID, tag */
#define PS_TOKEN_BYTES       (1 + 12 + 8 + 1 + PS_CID_MAX + PS_AEAD_TAG)
#define PS_TOKEN_LIFE_NS     (UINT64_C(15) * 1000000000)
#define PS_TOKEN_NEW_LIFE_NS (UINT64_C(86400) * 1000000000)

/* nonce: 12 random bytes. odcid and retry_scid (the id the client must answer to; bound, not
 * stored) are NULL for PS_TOKEN_NEW. */
void ps_token_make(struct ps_protect *p, enum ps_token_kind kind, uint8_t token[PS_TOKEN_BYTES],
	const uint8_t nonce[12], const struct ps_flow4 *client, const struct ps_cid *odcid,
	const struct ps_cid *retry_scid, uint64_t now_ns);
/* The kind a token claims to be of; 0 for one that we never made. */
enum ps_token_kind ps_token_claims(const uint8_t *token, size_t len);
/* True when we made it, for this flow and (Retry) id, and its life has not ended; fills odcid. */
bool ps_token_check(struct ps_protect *p, const uint8_t *token, size_t len,
	const struct ps_flow4 *client, const struct ps_cid *retry_scid, uint64_t now_ns,
	struct ps_cid *odcid);

/* Cryptographic random bytes. Start-up and handshakes only: it enters the kernel. */
void ps_random(void *p, size_t len);
/* A stream of unpredictable bytes for ids and nonces without system calls: AES in counter mode
 * under a key drawn at creation. */
void ps_protect_random(struct ps_protect *p, void *out, size_t len);
/* In constant time. */
bool ps_equal(const void *a, const void *b, size_t len);
/* A memset the compiler may not remove. */
void ps_wipe(void *p, size_t len);

#endif
