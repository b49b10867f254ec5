/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "conf.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cfgfile.h>
#include <rte_log.h>

#define VALUE_MAX (CFG_VALUE_LEN - 1)

/* Where an option was found, for messages, and where its value goes. */
struct place {
	const char *file; /* or "-o" */
	const char *section, *key;
	void *base;
};

static int
bad(const struct place *p, struct ps_err *e, const char *cause, const char *value,
	const char *remedy)
{
	return ps_fail(e, EINVAL, "%s: [%s] %s: %s '%s'; %s", p->file, p->section, p->key, cause,
		value, remedy);
}

static bool
parse_number(const char *text, unsigned long max, unsigned long *out)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*out = strtoul(text, &end, 10);
	return errno == 0 && *end == '\0' && *out <= max;
}

bool
ps_conf_list(const char *text, unsigned int max, cpu_set_t *set)
{
	const char *p = text;

	CPU_ZERO(set);
	do {
		unsigned long first, last;
		char *end;

		if (!isdigit((unsigned char)*p))
			return false;
		first = last = strtoul(p, &end, 10);
		if (*end == '-') {
			p = end + 1;
			if (!isdigit((unsigned char)*p))
				return false;
			last = strtoul(p, &end, 10);
		}
		if (last < first || last >= max)
			return false;
		for (; first <= last; first++)
			CPU_SET(first, set);
		p = end;
	} while (*p++ == ',');
	return p[-1] == '\0';
}

static int
set_number(const struct ps_option *o, const struct place *p, const char *value, struct ps_err *e)
{
	char remedy[96];
	unsigned long v;

	snprintf(remedy, sizeof(remedy), "give a number from %u to %u%s", o->min, o->max,
		o->power_of_two ? " that is a power of two" : "");
	if (!parse_number(value, o->max, &v) || v < o->min ||
		(o->power_of_two && (v & (v - 1)) != 0))
		return bad(p, e, "wrong value", value, remedy);
	*(uint32_t *)((char *)p->base + o->offset) = (uint32_t)v;
	return 0;
}

static int
set_choice(const struct ps_option *o, const struct place *p, const char *value, struct ps_err *e)
{
	char remedy[96] = "give one of:";

	for (uint32_t i = 0; o->choices[i] != NULL; i++) {
		if (strcmp(value, o->choices[i]) == 0) {
			*(uint32_t *)((char *)p->base + o->offset) = i;
			return 0;
		}
		strncat(remedy, " ", sizeof(remedy) - strlen(remedy) - 1);
		strncat(remedy, o->choices[i], sizeof(remedy) - strlen(remedy) - 1);
	}
	return bad(p, e, "unknown value", value, remedy);
}

static int
add_address(struct ps_conf_service *s, const struct place *p, const char *text, struct ps_err *e)
{
	static const char remedy[] = "give IPv4 addresses separated by commas, or any";
	struct in_addr a;

	if (strcmp(text, "any") == 0) {
		s->any = true;
		return 0;
	}
	if (inet_pton(AF_INET, text, &a) != 1 || a.s_addr == INADDR_ANY)
		return bad(p, e, "not an address:", text, remedy);
	for (uint32_t i = 0; i < s->n_addrs; i++)
		if (s->addr_be[i] == a.s_addr)
			return bad(p, e, "listed twice:", text, "remove one of them");
	if (s->n_addrs == PS_CONF_ADDRS)
		return bad(p, e, "too many addresses at", text,
			"split the service in two, each of at most 256 addresses");
	s->addr_be[s->n_addrs++] = a.s_addr;
	return 0;
}

static int
set_addresses(const struct place *p, const char *value, struct ps_err *e)
{
	char copy[CFG_VALUE_LEN], *rest = copy, *word;
	int rc = 0;

	snprintf(copy, sizeof(copy), "%s", value);
	while (rc == 0 && (word = strsep(&rest, ",")) != NULL) {
		word += strspn(word, " \t");
		word[strcspn(word, " \t")] = '\0';
		rc = add_address(p->base, p, word, e);
	}
	return rc;
}

static int
set_workers(const struct place *p, const char *value, struct ps_err *e)
{
	struct ps_conf_service *s = p->base;

	s->all_workers = strcmp(value, "all") == 0;
	if (!s->all_workers && !ps_conf_list(value, PS_WORKERS_MAX, &s->workers))
		return bad(p, e, "wrong list", value,
			"give all, or numbers of workers from 0 to 63 such as 0,2-3");
	return 0;
}

static int
set_option(const struct ps_option *o, const struct place *p, const char *value, struct ps_err *e)
{
	switch (o->type) {
	case PS_OPT_NUMBER:
		return set_number(o, p, value, e);
	case PS_OPT_CHOICE:
		return set_choice(o, p, value, e);
	case PS_OPT_ADDRS:
		return set_addresses(p, value, e);
	case PS_OPT_WORKERS:
		return set_workers(p, value, e);
	case PS_OPT_STRING:
		break;
	}
	if (strlen(value) >= (strcmp(o->key, "name") == 0 ? PS_CONF_NAME : PS_CONF_STRING))
		return bad(p, e, "too long:", value, "give a shorter one");
	strcpy((char *)p->base + o->offset, value);
	return 0;
}

/* The defaults of one section; base is what its offsets count from. */
static void
set_defaults(const char *section, void *base)
{
	for (unsigned int i = 0; i < ps_n_options; i++) {
		const struct ps_option *o = &ps_options[i];
		const struct place p = {"default", section, o->key, base};

		if (strcmp(o->section, section) == 0 && o->def != NULL &&
			(o->def[0] != '\0' || o->type == PS_OPT_STRING))
			set_option(o, &p, o->def, NULL);
	}
}

/* A numbered key ("address2") matches the option it continues. */
static const struct ps_option *
find_option(const char *section, const char *key)
{
	for (unsigned int i = 0; i < ps_n_options; i++) {
		const struct ps_option *o = &ps_options[i];
		size_t len = strlen(o->key);

		if (strcmp(o->section, section) != 0 || strncmp(o->key, key, len) != 0)
			continue;
		if (key[len] == '\0')
			return o;
		if (o->type == PS_OPT_ADDRS && key[len] != '0' &&
			key[len + strspn(key + len, "0123456789")] == '\0')
			return o;
	}
	return NULL;
}

static bool
name_ok(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return len > 0 && len < PS_CONF_NAME && name[len] == '\0';
}

static void *
find_port(struct ps_conf *c, const char *name)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (strcmp(c->port[i].name, name) == 0)
			return &c->port[i];
	return NULL;
}

static void *
find_service(struct ps_conf *c, const char *name)
{
	for (unsigned int i = 0; i < c->n_services; i++)
		if (strcmp(c->service[i].name, name) == 0)
			return &c->service[i];
	return NULL;
}

static void *
add_port(struct ps_conf *c, const char *name)
{
	struct ps_conf_port *p;

	if (c->n_ports == PS_CONF_PORTS)
		return NULL;
	p = &c->port[c->n_ports++];
	strcpy(p->name, name);
	set_defaults("port", p);
	return p;
}

static void *
add_service(struct ps_conf *c, const char *name)
{
	struct ps_conf_service *s;

	if (c->n_services == PS_CONF_SERVICES)
		return NULL;
	s = &c->service[c->n_services++];
	strcpy(s->name, name);
	s->kind = UINT32_MAX; /* not given */
	set_defaults("service", s);
	return s;
}

/* Finds or adds the section "KIND" or "KIND NAME". kind: cut out of p->section by the caller. */
static int
open_section(struct ps_conf *c, struct place *p, const char *kind, const char *name, bool fresh,
	struct ps_err *e)
{
	bool known = false, port = strcmp(kind, "port") == 0;

	for (unsigned int i = 0; i < ps_n_options; i++)
		known |= strcmp(ps_options[i].section, kind) == 0;
	if (!known)
		return ps_fail(e, EINVAL,
			"%s: unknown section [%s]; penstock help config lists all sections",
			p->file, p->section);
	p->base = c;
	if (!ps_section_named(kind)) {
		if (name != NULL)
			return ps_fail(e, EINVAL, "%s: section [%s] takes no name; write [%s]",
				p->file, p->section, kind);
		return 0;
	}
	if (name == NULL || !name_ok(name))
		return ps_fail(e, EINVAL,
			"%s: [%s] needs a name of at most %d letters, digits and _; write "
			"[%s NAME]",
			p->file, p->section, PS_CONF_NAME - 1, kind);
	p->base = port ? find_port(c, name) : find_service(c, name);
	if (p->base != NULL && fresh)
		return ps_fail(e, EINVAL, "%s: [%s] stands there twice; join the two", p->file,
			p->section);
	if (p->base == NULL)
		p->base = port ? add_port(c, name) : add_service(c, name);
	if (p->base == NULL)
		return ps_fail(e, EINVAL, "%s: [%s] is one too many; at most %d of its kind",
			p->file, p->section, port ? PS_CONF_PORTS : PS_CONF_SERVICES);
	return 0;
}

static int
set_key(const struct place *p, const char *kind, const char *value, struct ps_err *e)
{
	const struct ps_option *o = find_option(kind, p->key);

	if (o == NULL)
		return ps_fail(e, EINVAL,
			"%s: [%s] unknown key '%s'; penstock help config lists all keys", p->file,
			p->section, p->key);
	return set_option(o, p, value, e);
}

static int
load_section(struct ps_conf *c, struct rte_cfgfile *f, const char *file, int index, char *section,
	struct ps_err *e)
{
	struct place p = {.file = file, .section = section};
	struct rte_cfgfile_entry entry[PS_CONF_ADDRS];
	char kind[CFG_NAME_LEN], *name;
	int n, rc;

	snprintf(kind, sizeof(kind), "%s", section);
	name = strpbrk(kind, " \t");
	if (name != NULL) {
		*name++ = '\0';
		name += strspn(name, " \t");
	}
	rc = open_section(c, &p, kind, name, true, e);
	if (rc < 0)
		return rc;
	n = rte_cfgfile_section_num_entries_by_index(f, section, index);
	if (n > PS_CONF_ADDRS)
		return ps_fail(e, EINVAL, "%s: [%s] has more than %d keys; shorten it", file,
			section, PS_CONF_ADDRS);
	n = rte_cfgfile_section_entries_by_index(f, index, section, entry, n);
	for (int i = 0; i < n; i++) {
		p.key = entry[i].name;
		for (int j = 0; j < i; j++)
			if (strcmp(entry[j].name, p.key) == 0)
				return ps_fail(e, EINVAL,
					"%s: [%s] %s stands there twice; remove one of them", file,
					section, p.key);
		rc = set_key(&p, kind, entry[i].value, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* rte_cfgfile skips lines it does not understand and cuts long values without a word. */
static int
check_syntax(const char *file, struct ps_err *e)
{
	FILE *f = fopen(file, "re");
	const char *what = NULL;
	bool in_section = false;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int at = 0, rc = 0;

	if (f == NULL)
		return ps_fail(e, errno, "cannot read %s: %s; give the configuration with -c FILE",
			file, strerror(errno));
	while (what == NULL && (errno = 0, len = getline(&line, &cap, f)) >= 0) {
		char *text = line + strspn(line, " \t\r\n"), *value;

		at++;
		if (strlen(line) != (size_t)len) {
			what = "holds a zero byte; this is not a configuration file";
			break;
		}
		text[strcspn(text, ";\r\n")] = '\0';
		value = strchr(text, '=');
		if (text[0] == '\0')
			continue;
		if (len > VALUE_MAX)
			what = "is longer than 255 bytes; continue an address list in address1, "
			       "address2, ...";
		else if (text[0] == '[')
			what = strchr(text, ']') == NULL ? "lacks the closing ]" : NULL;
		else if (value == NULL || value == text)
			what = "is neither [section] nor key = value; a semicolon starts a comment";
		else if (value[1 + strspn(value + 1, " \t")] == '\0')
			what = "gives no value; remove the line to use the default";
		else if (!in_section)
			what = "stands before the first [section]; move it into one";
		in_section |= text[0] == '[';
	}
	if (what != NULL)
		rc = ps_fail(e, EINVAL, "%s: line %d %s", file, at, what);
	else if (errno != 0)
		rc = ps_fail(e, errno, "cannot read %s: %s; give the configuration with -c FILE",
			file, strerror(errno));
	free(line);
	fclose(f);
	return rc;
}

static int
load_file(struct ps_conf *c, const char *file, struct ps_err *e)
{
	struct rte_cfgfile_parameters params = {.comment_character = ';'};
	char section[CFG_NAME_LEN];
	struct rte_cfgfile *f;
	int rc, n;

	rc = check_syntax(file, e);
	if (rc < 0)
		return rc;
	rte_log_set_global_level(RTE_LOG_EMERG);
	f = rte_cfgfile_load_with_params(file, 0, &params);
	if (f == NULL)
		return ps_fail(e, EINVAL, "%s is not an INI file; see penstock help config", file);
	n = rte_cfgfile_num_sections(f, "", 0);
	for (int i = 0; rc == 0 && i < n; i++) {
		rte_cfgfile_section_num_entries_by_index(f, section, i);
		rc = load_section(c, f, file, i, section, e);
	}
	rte_cfgfile_close(f);
	return rc;
}

/* "section.key=value", or "section.NAME.key=value" for sections with a name. */
static int
override(struct ps_conf *c, const char *text, struct ps_err *e)
{
	char copy[512], section[CFG_NAME_LEN], *value, *key, *name = NULL;
	struct place p = {.file = "-o", .section = section};
	int rc;

	if (strlen(text) >= sizeof(copy))
		return ps_fail(e, EINVAL, "-o: '%.32s...' is too long; use a file", text);
	strcpy(copy, text);
	value = strchr(copy, '=');
	if (value != NULL)
		*value++ = '\0';
	key = strrchr(copy, '.');
	if (value == NULL || key == NULL || *value == '\0' || strlen(value) > VALUE_MAX)
		return ps_fail(e, EINVAL,
			"-o %s: cannot be read; write section.key=value or section.NAME.key=value",
			text);
	*key++ = '\0';
	p.key = key;
	name = strchr(copy, '.');
	if (name != NULL)
		*name++ = '\0';
	snprintf(section, sizeof(section), "%s%s%s", copy, name ? " " : "", name ? name : "");
	rc = open_section(c, &p, copy, name, false, e);
	if (rc < 0)
		return rc;
	if (strcmp(copy, "service") == 0 && strcmp(key, "address") == 0) {
		((struct ps_conf_service *)p.base)->n_addrs = 0;
		((struct ps_conf_service *)p.base)->any = false;
	}
	return set_key(&p, copy, value, e);
}

int
ps_conf_load(struct ps_conf *c, const char *file, const char *const overrides[], unsigned int n,
	struct ps_err *e)
{
	int rc = 0;

	memset(c, 0, sizeof(*c));
	for (unsigned int i = 0; i < ps_n_options; i++)
		if (!ps_section_named(ps_options[i].section))
			set_defaults(ps_options[i].section, c);
	if (file != NULL)
		rc = load_file(c, file, e);
	for (unsigned int i = 0; rc == 0 && i < n; i++)
		if (override(c, overrides[i], e) < 0)
			rc = -EDOM;
	return rc;
}

int
ps_conf_select_ports(struct ps_conf *c, const char *const ports[], unsigned int n, struct ps_err *e)
{
	struct ps_conf_port chosen[PS_CONF_PORTS];

	if (n == 0)
		return 0;
	if (n > PS_CONF_PORTS)
		return ps_fail(e, EINVAL, "--port: at most %d ports", PS_CONF_PORTS);
	for (unsigned int i = 0; i < n; i++) {
		const struct ps_conf_port *p = find_port(c, ports[i]);

		if (p != NULL) {
			chosen[i] = *p;
			continue;
		}
		if (strlen(ports[i]) >= PS_CONF_STRING)
			return ps_fail(e, EINVAL, "--port: name too long");
		memset(&chosen[i], 0, sizeof(chosen[i]));
		snprintf(
			chosen[i].name, sizeof(chosen[i].name), "%.*s", PS_CONF_NAME - 1, ports[i]);
		set_defaults("port", &chosen[i]);
		strcpy(chosen[i].device, ports[i]);
	}
	memcpy(c->port, chosen, n * sizeof(chosen[0]));
	c->n_ports = n;
	return 0;
}
