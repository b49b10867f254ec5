/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

/* Random TLS 1.3 clients, all from one seed: a ClientHello as any of the clients in the wild might
 * send it, kept in parts so that a test may spoil one of them, and a second flight with any kind of
 * certificate. Keys of certificates other than Ed25519 are made anew in each run; nothing that a
 * verdict depends on comes from them. */
#ifndef PS_TEST_TLS_DIFF_H
#define PS_TEST_TLS_DIFF_H

#include "tls_craft.h"
#include "tls_raw.h"

#define DIFF_EXT_MAX  20
#define DIFF_BODY_MAX 400

struct diff_rng {
	uint64_t state;
};

static inline uint32_t
diff_below(struct diff_rng *r, uint32_t n)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) >> 16) % n;
}

static inline bool
diff_chance(struct diff_rng *r, uint32_t percent)
{
	return diff_below(r, 100) < percent;
}

static inline void
diff_fill(struct diff_rng *r, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)diff_below(r, 256);
}

struct diff_ext {
	uint16_t type, len;
	uint8_t body[DIFF_BODY_MAX];
};

struct diff_hello {
	uint16_t version;
	uint8_t random[32];
	uint8_t session_id[33], ciphers[40], compression[4]; /* behind their lengths */
	uint8_t n_session_id, n_ciphers, n_compression;
	unsigned int n_ext;
	struct diff_ext ext[DIFF_EXT_MAX];
	bool share; /* one of X25519 is in it */
};

static inline struct diff_ext *
diff_find(struct diff_hello *h, uint16_t type)
{
	for (unsigned int i = 0; i < h->n_ext; i++)
		if (h->ext[i].type == type)
			return &h->ext[i];
	return NULL;
}

static inline struct diff_ext *
diff_add(struct diff_hello *h, uint16_t type, const void *body, size_t len)
{
	struct diff_ext *e = &h->ext[h->n_ext++];

	e->type = type;
	e->len = (uint16_t)len;
	if (len > 0)
		memcpy(e->body, body, len);
	return e;
}

static inline uint16_t
diff_grease(struct diff_rng *r)
{
	return (uint16_t)(0x0a0a + 0x1010 * diff_below(r, 16));
}

/* A list of 16-bit values in random order with GREASE at times, behind a length of n bytes. */
static inline void
diff_add_values(struct diff_rng *r, struct diff_hello *h, uint16_t type, unsigned int n,
	const uint16_t *values, unsigned int count)
{
	uint16_t v[16];
	unsigned int used = 0;
	uint8_t body[40];

	if (diff_chance(r, 40))
		v[used++] = diff_grease(r);
	/* the first is the one that has to be there */
	for (unsigned int i = 0; i < count; i++)
		if (i == 0 || diff_chance(r, 50))
			v[used++] = values[i];
	for (unsigned int i = used; i > 1; i--) {
		unsigned int j = diff_below(r, i);
		uint16_t t = v[i - 1];

		v[i - 1] = v[j];
		v[j] = t;
	}
	memset(body, 0, 2);
	body[n - 1] = (uint8_t)(2 * used);
	for (unsigned int i = 0; i < used; i++)
		ps_be16_store(body + n + 2 * i, v[i]);
	diff_add(h, type, body, n + 2 * used);
}

static inline void
diff_add_alpn(struct diff_rng *r, struct diff_hello *h)
{
	static const char *const names[] = {"h3", "h2", "solana-tpu2", "x"};
	uint8_t body[64], *p = body + 2;
	bool ours_first = diff_chance(r, 50);

	if (ours_first)
		p = put_bytes(p, bytes("\x0asolana-tpu"));
	for (unsigned int i = 0; i < 4; i++)
		if (diff_chance(r, 20)) {
			*p++ = (uint8_t)strlen(names[i]);
			p = put_bytes(p, (struct bytes){names[i], strlen(names[i])});
		}
	if (!ours_first)
		p = put_bytes(p, bytes("\x0asolana-tpu"));
	ps_be16_store(body, (uint16_t)(p - body - 2));
	diff_add(h, TLS_EXT_ALPN, body, (size_t)(p - body));
}

/* The share of X25519, others beside it, or none. */
static inline void
diff_add_share(struct diff_rng *r, struct diff_hello *h, const uint8_t public[32], bool again)
{
	uint8_t body[200], *p = body + 2;

	h->share = again || diff_chance(r, 85);
	if (!again && diff_chance(r, 20)) {
		p = put_bytes(p, bytes("\x00\x17\x00\x41\x04"));
		diff_fill(r, p, 64);
		p += 64;
	}
	if (h->share) {
		p = put_bytes(p, bytes("\x00\x1d\x00\x20"));
		p = put_bytes(p, (struct bytes){public, 32});
	}
	ps_be16_store(body, (uint16_t)(p - body - 2));
	diff_add(h, TLS_EXT_KEY_SHARE, body, (size_t)(p - body));
}

/* What some clients send and servers pass over. */
static inline void
diff_add_rest(struct diff_rng *r, struct diff_hello *h)
{
	static const struct {
		uint16_t type;
		struct bytes body;
	} rest[] = {
		{0, BYTES("\x00\x11\x00\x00\x0e"
			  "1.2.3.4.80.sol")},
		{5, BYTES("\x01\x00\x00\x00\x00")},
		{18, BYTES("")},
		{21, BYTES("\x00\x00\x00\x00\x00")},
		{23, BYTES("")},
		{27, BYTES("\x02\x00\x02")},
		{35, BYTES("")},
		{45, BYTES("\x01\x01")},
		{0x7777, BYTES("anything")},
		{0xff01, BYTES("\x00")},
	};

	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
		if (diff_chance(r, 15))
			diff_add(h, rest[i].type, rest[i].body.p, rest[i].body.len);
	if (diff_chance(r, 30))
		diff_add(h, diff_grease(r), "x", diff_below(r, 2));
}

static inline void
diff_shuffle(struct diff_rng *r, struct diff_hello *h)
{
	for (unsigned int i = h->n_ext; i > 1; i--) {
		unsigned int j = diff_below(r, i);
		struct diff_ext t = h->ext[i - 1];

		h->ext[i - 1] = h->ext[j];
		h->ext[j] = t;
	}
}

/* Resumption and early data, which nobody here takes; to be the last. */
static inline void
diff_add_psk(struct diff_hello *h)
{
	if (diff_find(h, TLS_EXT_PSK_KEY_EXCHANGE_MODES) == NULL)
		diff_add(h, TLS_EXT_PSK_KEY_EXCHANGE_MODES, "\x01\x01", 2);
	diff_add(h, 42, NULL, 0);
	diff_add(h, TLS_EXT_PRE_SHARED_KEY,
		"\x00\x08\x00\x02xx\0\0\0\0\x00\x21\x20"
		"01234567890123456789012345678901",
		45);
}

static inline void
diff_make_hello(struct diff_rng *r, struct diff_hello *h, const uint8_t public[32])
{
	static const uint16_t groups[] = {29, 23, 24, 0x11ec, 30};
	static const uint16_t schemes[] = {0x0807, 0x0403, 0x0503, 0x0804, 0x0401, 0x0808};
	static const uint16_t versions[] = {0x0304, 0x0303, 0x0302};
	static const uint16_t suites[] = {0x1301, 0x1302, 0x1303, 0x1304, 0xc02b, 0x00ff};
	uint8_t tp[80];

	memset(h, 0, sizeof(*h));
	h->version = TLS_VERSION_1_2;
	diff_fill(r, h->random, sizeof(h->random));
	h->n_compression = 2;
	h->compression[0] = 1;
	diff_add_values(r, h, 0, 2, suites, 6); /* as an extension, then moved */
	if (diff_chance(r, 40))                 /* without the first: others of TLS 1.3 */
		ps_be16_store(h->ext[0].body + 2, 0x1302 + diff_below(r, 2));
	memcpy(h->ciphers, h->ext[0].body, h->n_ciphers = (uint8_t)h->ext[0].len);
	h->n_ext = 0;
	diff_add_values(r, h, TLS_EXT_SUPPORTED_GROUPS, 2, groups, 5);
	diff_add_values(r, h, TLS_EXT_SIGNATURE_ALGORITHMS, 2, schemes, 6);
	diff_add_values(r, h, TLS_EXT_SUPPORTED_VERSIONS, 1, versions, 3);
	diff_add_alpn(r, h);
	diff_add_share(r, h, public, false);
	diff_fill(r, tp, sizeof(tp));
	diff_add(h, TLS_EXT_QUIC_TRANSPORT_PARAMETERS, tp, 1 + diff_below(r, sizeof(tp)));
	diff_add_rest(r, h);
	diff_shuffle(r, h);
	if (diff_chance(r, 15))
		diff_add_psk(h);
}

/* The second one after a HelloRetryRequest: the same, with the share and without early data. */
static inline void
diff_second_hello(struct diff_rng *r, struct diff_hello *h, const uint8_t public[32])
{
	static struct diff_hello old;

	old = *h;
	h->n_ext = 0;
	for (unsigned int i = 0; i < old.n_ext; i++)
		if (old.ext[i].type == TLS_EXT_KEY_SHARE)
			diff_add_share(r, h, public, true);
		else if (old.ext[i].type != 42)
			h->ext[h->n_ext++] = old.ext[i];
}

static inline uint16_t
diff_put_hello(const struct diff_hello *h, uint8_t *out)
{
	uint8_t *p = out + 4, *list;

	ps_be16_store(p, h->version);
	p = put_bytes(p + 2, (struct bytes){h->random, 32});
	*p++ = h->n_session_id;
	p = put_bytes(p, (struct bytes){h->session_id, h->n_session_id});
	p = put_bytes(p, (struct bytes){h->ciphers, h->n_ciphers});
	p = put_bytes(p, (struct bytes){h->compression, h->n_compression});
	list = p;
	p += 2;
	for (unsigned int i = 0; i < h->n_ext; i++) {
		ps_be16_store(p, h->ext[i].type);
		ps_be16_store(p + 2, h->ext[i].len);
		p = put_bytes(p + 4, (struct bytes){h->ext[i].body, h->ext[i].len});
	}
	ps_be16_store(list, (uint16_t)(p - list - 2));
	ps_be32_store(out, (uint32_t)(p - out) - 4);
	*out = TLS_CLIENT_HELLO;
	return (uint16_t)(p - out);
}

/* -- identities -- */

struct diff_identity {
	const char *name;
	gnutls_pk_algorithm_t pk;
	unsigned int bits, chain; /* certificates */
	uint16_t scheme;
	gnutls_sign_algorithm_t sign;
	gnutls_x509_privkey_t x509_key;
	gnutls_privkey_t key;
	struct bytes der[2];
	uint8_t buf[2][2048];
};

#define DIFF_IDENTITIES 8
#define CURVE(name)     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_##name)

static struct diff_identity diff_identities[DIFF_IDENTITIES] = {
	{.name = "Ed25519",
		.pk = GNUTLS_PK_EDDSA_ED25519,
		.chain = 1,
		.scheme = 0x0807,
		.sign = GNUTLS_SIGN_EDDSA_ED25519},
	{.name = "Ed25519, chain of two",
		.pk = GNUTLS_PK_EDDSA_ED25519,
		.chain = 2,
		.scheme = 0x0807,
		.sign = GNUTLS_SIGN_EDDSA_ED25519},
	{.name = "P-256",
		.pk = GNUTLS_PK_ECDSA,
		.bits = CURVE(SECP256R1),
		.chain = 1,
		.scheme = 0x0403,
		.sign = GNUTLS_SIGN_ECDSA_SECP256R1_SHA256},
	{.name = "P-384",
		.pk = GNUTLS_PK_ECDSA,
		.bits = CURVE(SECP384R1),
		.chain = 1,
		.scheme = 0x0503,
		.sign = GNUTLS_SIGN_ECDSA_SECP384R1_SHA384},
	{.name = "P-521, chain of two",
		.pk = GNUTLS_PK_ECDSA,
		.bits = CURVE(SECP521R1),
		.chain = 2,
		.scheme = 0x0603,
		.sign = GNUTLS_SIGN_ECDSA_SECP521R1_SHA512},
	{.name = "RSA",
		.pk = GNUTLS_PK_RSA,
		.bits = 2048,
		.chain = 1,
		.scheme = 0x0804,
		.sign = GNUTLS_SIGN_RSA_PSS_RSAE_SHA256},
	{.name = "RSA with SHA-512, chain of two",
		.pk = GNUTLS_PK_RSA,
		.bits = 2048,
		.chain = 2,
		.scheme = 0x0806,
		.sign = GNUTLS_SIGN_RSA_PSS_RSAE_SHA512},
	{.name = "RSA-PSS",
		.pk = GNUTLS_PK_RSA_PSS,
		.bits = 2048,
		.chain = 1,
		.scheme = 0x0809,
		.sign = GNUTLS_SIGN_RSA_PSS_SHA256},
};

static inline void
diff_certify(struct diff_identity *d)
{
	gnutls_x509_privkey_t root_key;
	gnutls_x509_crt_t root, crt;
	size_t len;

	gnutls_x509_privkey_init(&root_key);
	CU_ASSERT_EQUAL_FATAL(
		gnutls_x509_privkey_generate(root_key, GNUTLS_PK_EDDSA_ED25519, 0, 0), 0);
	root = certify(root_key, "CN=root", NULL, root_key);
	for (unsigned int i = 0; i < d->chain; i++) {
		bool issued = d->chain == 2 && i == 0;

		crt = i == 1 ? root
			     : certify(d->x509_key, "CN=leaf", issued ? root : NULL,
				       issued ? root_key : d->x509_key);
		len = sizeof(d->buf[i]);
		CU_ASSERT_EQUAL_FATAL(
			gnutls_x509_crt_export(crt, GNUTLS_X509_FMT_DER, d->buf[i], &len), 0);
		d->der[i] = (struct bytes){d->buf[i], len};
		if (i == 0)
			gnutls_x509_crt_deinit(crt);
	}
	gnutls_x509_crt_deinit(root);
	gnutls_x509_privkey_deinit(root_key);
}

/* The first one is always the same, so that spoiling it means the same in each run. */
static inline void
diff_make_identities(void)
{
	uint8_t pkcs8[48] = "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
	const gnutls_datum_t fixed = {pkcs8, sizeof(pkcs8)};

	memset(pkcs8 + 16, SEED_CLIENT, 32);
	for (unsigned int i = 0; i < DIFF_IDENTITIES; i++) {
		struct diff_identity *d = &diff_identities[i];

		gnutls_x509_privkey_init(&d->x509_key);
		gnutls_privkey_init(&d->key);
		if (i == 0)
			CU_ASSERT_EQUAL_FATAL(gnutls_x509_privkey_import_pkcs8(d->x509_key, &fixed,
						      GNUTLS_X509_FMT_DER, NULL, GNUTLS_PKCS_PLAIN),
				0)
		else
			CU_ASSERT_EQUAL_FATAL(
				gnutls_x509_privkey_generate(d->x509_key, d->pk, d->bits, 0), 0)
		CU_ASSERT_EQUAL_FATAL(gnutls_privkey_import_x509(d->key, d->x509_key, 0), 0);
		diff_certify(d);
	}
}

static inline void
diff_free_identities(void)
{
	for (unsigned int i = 0; i < DIFF_IDENTITIES; i++) {
		gnutls_privkey_deinit(diff_identities[i].key);
		gnutls_x509_privkey_deinit(diff_identities[i].x509_key);
	}
}

/* A CertificateVerify by this key, under the name of this scheme. */
static inline void
diff_add_verify(struct craft *c, const struct diff_identity *signer, uint16_t scheme)
{
	uint8_t content[PS_TLS_SIGNED_MAX], body[4 + 1024];
	gnutls_datum_t in = {content, 0}, sig;

	in.size = (unsigned int)ps_tls_signed_content(content, false, &c->transcript);
	CU_ASSERT_EQUAL_FATAL(
		gnutls_privkey_sign_data2(signer->key, signer->sign, 0, &in, &sig), 0);
	ps_be16_store(body, scheme);
	ps_be16_store(body + 2, (uint16_t)sig.size);
	memcpy(body + 4, sig.data, sig.size);
	add_message(c, TLS_CERTIFICATE_VERIFY, (struct bytes){body, 4 + sig.size});
	gnutls_free(sig.data);
}

#endif
