/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "baseline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings.h"

/* A text for people; those of indirection tables are not. */
#define SHORT 48

const struct ps_setting_ops ps_setting_ops_kernel = {.get = ps_setting_get, .set = ps_setting_set};

/* In the order in which they are set: the later depend on the earlier. */
static const struct {
	const char *key, *what, *show;
} settings[PS_BASELINE_SETTINGS] = {
	{"channels", "channels were", "ethtool -l"},
	{"rings", "rings were", "ethtool -g"},
	{"rss", "indirection table or hash key was", "ethtool -x"},
	{"flow-hash-udp4", "hashed fields of UDP were", "ethtool -u"},
};

static bool
is_lack(int rc)
{
	return rc == -EOPNOTSUPP || rc == -ENOENT;
}

int
ps_baseline_take(struct ps_baseline *b, const char *ifname, const struct ps_setting_ops *ops,
	struct ps_err *err)
{
	static char text[PS_SETTING_BYTES];
	int rc = 0;

	*b = (struct ps_baseline){.ops = ops};
	snprintf(b->ifname, sizeof(b->ifname), "%s", ifname);
	for (unsigned int i = 0; rc == 0 && i < PS_BASELINE_SETTINGS; i++) {
		rc = ops->get(ifname, settings[i].key, text, sizeof(text), err);
		if (rc == 0 && text[0] != '\0') {
			b->text[i] = strdup(text);
			rc = b->text[i] != NULL ? 0 : ps_fail(err, ENOMEM, "out of memory");
		}
		if (is_lack(rc))
			rc = 0;
	}
	if (rc < 0)
		ps_baseline_free(b);
	return rc;
}

int
ps_baseline_verify(const struct ps_baseline *b, struct ps_err *err)
{
	static char now[PS_SETTING_BYTES];

	for (unsigned int i = 0; i < PS_BASELINE_SETTINGS; i++) {
		const bool brief = b->text[i] != NULL && strlen(b->text[i]) < SHORT;
		int rc;

		if (b->text[i] == NULL)
			continue;
		rc = b->ops->get(b->ifname, settings[i].key, now, sizeof(now), err);
		if (rc < 0)
			return rc;
		if (strcmp(now, b->text[i]) == 0)
			continue;
		return ps_fail(err, ESTALE,
			"interface %s: its %s changed by somebody%s%s%s%s; `%s %s` shows them",
			b->ifname, settings[i].what, brief ? ": " : "", brief ? b->text[i] : "",
			brief && strlen(now) < SHORT ? " -> " : "",
			brief && strlen(now) < SHORT ? now : "", settings[i].show, b->ifname);
	}
	return 0;
}

int
ps_baseline_restore(const struct ps_baseline *b, struct ps_err *err)
{
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < PS_BASELINE_SETTINGS; i++)
		if (b->text[i] != NULL)
			rc = b->ops->set(b->ifname, settings[i].key, b->text[i], err);
	return rc;
}

void
ps_baseline_free(struct ps_baseline *b)
{
	for (unsigned int i = 0; i < PS_BASELINE_SETTINGS; i++) {
		free(b->text[i]);
		b->text[i] = NULL;
	}
}
