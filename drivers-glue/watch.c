/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Penstock authors */

#include "watch.h"

#include "linkmon.h"
#include "ps_time.h"

void
ps_watch_init(struct ps_watch *w, uint64_t period_ns, uint16_t patience_ms,
	enum ps_on_rule_loss on_loss, uint64_t now_ns)
{
	if (period_ns < patience_ms * PS_MS_NS)
		period_ns = patience_ms * PS_MS_NS;
	*w = (struct ps_watch){
		.period_ns = period_ns, .due_ns = now_ns + period_ns, .on_loss = on_loss};
}

void
ps_watch_post(struct ps_watch *w, enum ps_watch_event event)
{
	atomic_fetch_or(&w->posted, 1u << event);
}

void
ps_watch_link(struct ps_watch *w, int changes)
{
	const int settings = PS_LINK_MTU | PS_LINK_MASTER | PS_LINK_XDP | PS_LINK_NTUPLE_OFF |
			     PS_LINK_NTUPLE_ON | PS_LINK_FEATURES | PS_LINK_RINGS |
			     PS_LINK_CHANNELS | PS_LINK_SETTINGS | PS_LINK_MISSED;

	if ((changes & PS_LINK_GONE) != 0)
		ps_watch_post(w, PS_WATCH_REMOVED);
	if ((changes & PS_LINK_MAC) != 0)
		ps_watch_post(w, PS_WATCH_MAC);
	if ((changes & (PS_LINK_DOWN | PS_LINK_UP)) != 0)
		ps_watch_post(w, PS_WATCH_LINK);
	if ((changes & settings) != 0)
		ps_watch_post(w, PS_WATCH_SETTINGS);
}

static struct ps_watch_verdict
say(const struct ps_watch *w, enum ps_watch_do action, const char *cause)
{
	return (struct ps_watch_verdict){.action = action, .alarm = w->alarm, .cause = cause};
}

static void
alarm_for(struct ps_watch *w, const char *cause)
{
	w->alarm = true;
	w->cause = cause;
}

static struct ps_watch_verdict
stop(struct ps_watch *w, const char *cause)
{
	alarm_for(w, cause);
	w->stopped = true;
	return say(w, PS_WATCH_STOP, cause);
}

static struct ps_watch_verdict
ask(struct ps_watch *w, enum ps_watch_do action, const char *cause)
{
	if (w->attempts >= PS_WATCH_ATTEMPTS)
		return stop(w, "rules do not last: re-installed too often");
	w->attempts++;
	w->reinstalls++;
	w->busy = true;
	w->again = PS_WATCH_NOTHING;
	return say(w, action, cause);
}

static struct ps_watch_verdict
lost(struct ps_watch *w, enum ps_watch_do action, const char *cause)
{
	w->losses++;
	alarm_for(w, cause);
	w->healthy = 0;
	if (w->on_loss == PS_LOSS_STOP)
		return stop(w, cause);
	return ask(w, action, cause);
}

static bool
has(uint32_t bits, enum ps_watch_event event)
{
	return (bits >> event & 1) != 0;
}

static struct ps_watch_verdict
recovery_began(struct ps_watch *w, uint64_t now_ns)
{
	static const char cause[] = "the device recovers from an error, its rules are lost";

	w->losses++;
	alarm_for(w, cause);
	w->recovering = true;
	w->healthy = 0;
	w->act_ns = now_ns + PS_WATCH_RECOVERY_NS;
	if (w->on_loss == PS_LOSS_STOP)
		return stop(w, cause);
	return say(w, PS_WATCH_NOTHING, cause);
}

/* The gravest first: what a lesser one asks for would come to nothing. */
static struct ps_watch_verdict
on_events(struct ps_watch *w, uint32_t bits, uint64_t now_ns)
{
	if (has(bits, PS_WATCH_REMOVED))
		return stop(w, "the device was removed");
	if (has(bits, PS_WATCH_RECOVERY_FAILED))
		return stop(w, "the device did not recover");
	if (has(bits, PS_WATCH_RESET)) {
		w->recovering = false;
		return lost(w, PS_WATCH_RESET_PORT, "the device was reset, its rules are lost");
	}
	if (has(bits, PS_WATCH_RECOVERED)) {
		w->recovering = false;
		return lost(w, PS_WATCH_REINSTALL, "the device has recovered without its rules");
	}
	if (has(bits, PS_WATCH_RECOVERING))
		return recovery_began(w, now_ns);
	if (has(bits, PS_WATCH_MAC))
		return lost(w, PS_WATCH_REINSTALL, "the link has another MAC address");
	/* These may have cost rules: look now. */
	if (has(bits, PS_WATCH_LINK) || has(bits, PS_WATCH_SETTINGS))
		w->due_ns = now_ns;
	return say(w, PS_WATCH_NOTHING, NULL);
}

struct ps_watch_verdict
ps_watch_step(struct ps_watch *w, uint64_t now_ns)
{
	uint32_t bits;

	/* What comes while the caller is busy waits for the outcome. */
	if (w->stopped || w->busy)
		return say(w, PS_WATCH_NOTHING, NULL);
	bits = atomic_exchange(&w->posted, 0);
	if (bits != 0)
		return on_events(w, bits, now_ns);
	if (w->recovering && now_ns >= w->act_ns)
		return stop(w, "the device has not recovered in time");
	if (w->again != PS_WATCH_NOTHING && now_ns >= w->act_ns)
		return ask(w, w->again, "installing again after a failure");
	return say(w, PS_WATCH_NOTHING, NULL);
}

bool
ps_watch_due(const struct ps_watch *w, uint64_t now_ns)
{
	return !w->stopped && !w->busy && !w->recovering && w->again == PS_WATCH_NOTHING &&
	       now_ns >= w->due_ns;
}

static struct ps_watch_verdict
well(struct ps_watch *w)
{
	bool was = w->alarm;

	w->alarm = false;
	w->cause = NULL;
	if (w->healthy < PS_WATCH_HEALTHY && ++w->healthy == PS_WATCH_HEALTHY)
		w->attempts = 0;
	return say(w, PS_WATCH_NOTHING, was ? "rules are in place again" : NULL);
}

struct ps_watch_verdict
ps_watch_observe(struct ps_watch *w, const struct ps_watch_sample *s, uint64_t now_ns)
{
	const bool still = w->has_last && s->steered == w->steered && s->elsewhere > w->elsewhere;
	const bool leaks = w->has_last && s->leaked > w->leaked;

	w->due_ns = now_ns + w->period_ns;
	w->has_last = true;
	w->steered = s->steered;
	w->elsewhere = s->elsewhere;
	w->leaked = s->leaked;
	if (w->stopped)
		return say(w, PS_WATCH_NOTHING, NULL);
	if (s->lost > 0)
		return lost(w, PS_WATCH_REINSTALL, "rules are lost");
	if (s->kernel_differs)
		return lost(w, PS_WATCH_REINSTALL, "the kernel has other rules or settings");
	if (still)
		return lost(w, PS_WATCH_REINSTALL,
			"packets arrive by another way while the rules take none");
	if (leaks)
		return lost(w, PS_WATCH_REINSTALL,
			"the kernel gets packets that rules should take or drop");
	if (!s->readback_failed) {
		w->blind = 0;
		return well(w);
	}
	w->healthy = 0;
	if (w->blind < UINT8_MAX)
		w->blind++;
	if (w->blind < 2)
		return say(w, PS_WATCH_NOTHING, NULL);
	alarm_for(w, "rules cannot be read back");
	return say(w, PS_WATCH_NOTHING, w->blind == 2 ? w->cause : NULL);
}

struct ps_watch_verdict
ps_watch_done(struct ps_watch *w, enum ps_watch_do action, int rc, uint64_t now_ns)
{
	w->busy = false;
	w->has_last = false;
	w->due_ns = now_ns + w->period_ns;
	if (rc == 0)
		return say(w, PS_WATCH_NOTHING, "rules were installed again, not yet proven");
	if (w->attempts >= PS_WATCH_ATTEMPTS)
		return stop(w, "rules cannot be installed again");
	w->again = action;
	w->act_ns = w->due_ns;
	return say(w, PS_WATCH_NOTHING, NULL);
}
