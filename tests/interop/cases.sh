# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Penstock authors
#
# The cases that every client goes through. Sourced by the script of each client; what each obtained
# is in $BUILD/interop.tsv (client, case, result, reason), which table.sh shows.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ROWS=$BUILD/interop.tsv
NAME=
CONNECTION_COUNTS="1 4"
# Cases that a client's interface cannot do, and why.
NOT_POSSIBLE=
WHY_NOT=

row() { printf '%s\t%s\t%s\t%s\n' "$NAME" "$@" >>"$ROWS"; }

# make_cert NAME KEY...: $TMP/NAME.crt and $TMP/NAME.key; further arguments as for openssl req.
make_cert() {
	local name=$1
	shift
	openssl req -x509 -noenc -subj "/CN=$name" -days 2 -keyout "$TMP/$name.key" -out "$TMP/$name.crt" -newkey "$@" \
		2>"$TMP/openssl.log" || fail "openssl makes no certificate $name"
}

# certificate KIND: the option that makes the client present it. The one on GnuTLS makes its own, the
# others read a PEM file: the certificate or certificates, then the key.
certificate() {
	local kind=$1
	case $NAME$kind in
	ngtcp2*)
		echo "--cert $kind"
		return
		;;
	*rsa) make_cert rsa rsa:2048 ;;
	*ecdsa) make_cert ecdsa ec -pkeyopt ec_paramgen_curve:P-256 ;;
	*chain2)
		make_cert issuer ed25519
		make_cert chain2 ed25519 -CA "$TMP/issuer.crt" -CAkey "$TMP/issuer.key"
		cat "$TMP/issuer.crt" >>"$TMP/chain2.crt"
		;;
	esac
	cat "$TMP/$kind.crt" "$TMP/$kind.key" >"$TMP/$kind.pem"
	echo "--cert $TMP/$kind.pem"
}

# arrive COUNT KEYS "TRANSACTIONS" [CLIENT OPTIONS...]: exactly these are in the feed, that many with
# the client's key.
arrive() {
	local count=$1 keys=$2 which=$3 seen
	shift 3
	# shellcheck disable=SC2086
	start_check "$count" $which
	# shellcheck disable=SC2046,SC2086
	client_sends_all "$PROGRAM" --count "$count" $(sources "$NAME" "$count" $which) "$@"
	end_check
	seen=$(field keys "$TMP/check.out")
	[ "$seen" -eq "$keys" ] || fail "$seen records with a key, should be $keys"
}

refused() { # CODE [CLIENT OPTIONS...]
	local code=$1
	shift
	# shellcheck disable=SC2046
	client "$PROGRAM" --count 1 $(sources "$NAME" 1 --seed 5) "$@"
	client_closed transport "$code"
	still_serves
}

case_ed25519() { arrive 50 50 "--seed 4"; }
case_10000() {
	local connections
	for connections in $CONNECTION_COUNTS; do
		arrive 10000 10000 "--seed $connections" --connections "$connections"
	done
}
case_4096() {
	local sizes
	for sizes in 1233-4096 4096-4096; do
		arrive 1000 1000 "--large --sizes $sizes"
	done
}
# shellcheck disable=SC2046
case_rsa() { arrive 50 0 "--seed 6" $(certificate rsa); }
# shellcheck disable=SC2046
case_ecdsa() { arrive 50 0 "--seed 7" $(certificate ecdsa); }
# Which of two certificates is the peer's is not for us to say.
# shellcheck disable=SC2046
case_chain2() { arrive 50 0 "--seed 8" $(certificate chain2); }
case_no_certificate() { refused $((0x174)) --cert none; }
case_alpn() { refused $((0x178)) --alpn h3; }
case_empty() {
	client "$PROGRAM" --empty --count 0
	client_closed application 5
	still_serves
}

# Nobody reads the feed: more than it holds is sent, so that the client still waits when we stop.
case_stop() {
	local options before now=
	options=$(sources "$NAME" 20000 --seed 9)
	before=$(top_value transactions)
	# shellcheck disable=SC2086
	(client "$PROGRAM" --count 20000 $options) &
	wait_for 30 more_than "$before" || fail "nothing arrives"
	until [ "$now" = "$before" ]; do
		before=$now
		sleep 0.5
		now=$(top_value transactions)
	done
	all_progress
	stop "$PENSTOCK_PID"
	wait
	client_closed application 1
}
more_than() { [ "$(top_value transactions)" -gt "$1" ]; }

# one_case CASE: in a process of its own, so that the next case goes on after a failure.
one_case() {
	(
		CHECK_PID=
		trap '[ -z "$CHECK_PID" ] || kill "$CHECK_PID"' EXIT
		"case_$1"
		[ "$1" = stop ] || all_progress
	) >"$TMP/case" 2>&1
}

# all_cases CLIENT
all_cases() {
	local case why failed=
	NAME=$1
	why=$( (need_bed && need_ngtcp2 && "need_$NAME") 2>&1)
	case $? in
	0) ;;
	77)
		row all skipped "${why##*skip: }"
		echo "$why"
		exit 77
		;;
	*) fail "$why" ;;
	esac
	program_of "$NAME"
	start_tpu
	for case in ed25519 10000 4096 rsa ecdsa chain2 no_certificate alpn empty stop; do
		if [[ " $NOT_POSSIBLE " = *" $case "* ]]; then
			row "$case" n/a "$WHY_NOT"
		elif one_case "$case"; then
			row "$case" ok ""
		else
			row "$case" FAILED "$(tail -n 1 "$TMP/case")"
			cat "$TMP/case"
			failed="$failed $case"
		fi
	done
	[ -z "$failed" ] || fail "$NAME:$failed"
	pass "$NAME: every case, with no connection closed for want of progress"
}
